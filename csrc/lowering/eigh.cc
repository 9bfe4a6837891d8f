// Eigenvalues and eigenvectors of Hermitian matrices.
#include "lowering/eigh.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <limits>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/jacobi.h"
#include "lowering/sorting.h"

namespace torch_tpu::lowering {

namespace {

// conj(x_i) . (A x_i) for the rows x_i of `rows`, given the rows A x_i: [..., n], real.
Value Quotients(Builder& b, Value rows, Value images) {
  const Value product = Sum(b, Conjugate(b, rows) * images, {rows.rank() - 1});
  return IsComplex(rows.dtype()) ? b.Real(product) : product;
}

// Identity less the products conj(x_i) . x_j of the rows.
Value Excess(Builder& b, Value rows) {
  return Identity(b, rows.dtype(), rows.dims()) -
         MatrixProduct(b, Conjugate(b, rows), rows, Side::kPlain, Side::kTransposed);
}

// One step of Ogita and Aishima's refinement of eigenvectors of `x`, in rows: what is left of their
// products with each other and with their images tells by how much they are off.
Value Refined(Builder& b, Value x, Value rows) {
  const auto wide = [&](Value v) { return b.Convert(v, x.dtype()); };
  const Value images = MatrixProduct(b, rows, SwapLast(b, x));
  const Value values = Quotients(b, rows, images) / Quotients(b, rows, rows);
  // Entry (i, j): conj(x_i) . x_j, and conj(x_i) . A x_j.
  const Value excess = Excess(b, rows);
  const Value cross = MatrixProduct(b, Conjugate(b, rows), images, Side::kPlain, Side::kTransposed);
  const Value own = OverColumns(b, values, x.dims());
  const Value gap = own - OverRows(b, values, x.dims());
  const Value error = cross + wide(own) * excess;
  // Steps so small that the last line below makes up for their squares; close pairs are left.
  const double most = std::pow(x.dtype() == DType::Double || x.dtype() == DType::ComplexDouble
                                   ? std::numeric_limits<double>::epsilon()
                                   : std::numeric_limits<float>::epsilon(),
                               0.25);
  const Value apart = b.Gt(b.Abs(gap) * most, b.Abs(error));
  const Value safe = b.Select(apart, gap, b.ConstantLike(gap, 1));
  const Value step = b.Select(apart, error / wide(safe), excess * 0.5);
  const Value refined = rows + MatrixProduct(b, step, rows, Side::kTransposed);
  return refined + MatrixProduct(b, Excess(b, refined) * 0.5, refined, Side::kTransposed);
}

}  // namespace

Eigh EighOf(Builder& b, Value x) {
  const int64_t n = x.dim(-1), rank = x.rank();
  if (x.numel() == 0) return {Zeros(b, RealType(x.dtype()), With(BatchOf(x), n)), x};
  const auto all = [&](Value v) { return b.Broadcast(b.Convert(v, x.dtype()), x.dims()); };
  const Value scale = ScaleOver(b, x, {rank - 2, rank - 1}), scaled = x / all(scale);
  // Shifted by more than its norm the matrix is well conditioned: its Cholesky factor's left
  // singular vectors are the eigenvectors, and no singular value is near zero.
  const Value bound = MaxOver(b, Sum(b, b.Abs(scaled), {rank - 1}, true), {rank - 2}, true);
  const Value shift = all((bound + 0.125) * 1.5) * Identity(b, x.dtype(), x.dims());
  const Value factor = Triangle(b, b.Cholesky(scaled + shift, true), true);
  const Value rotated = OrthogonalRows(b, SwapLast(b, factor));
  const Value unit = rotated / b.Convert(OverRows(b, RowNorms(b, rotated), x.dims()), x.dtype());
  const Value vectors = n == 1 ? unit : Refined(b, scaled, unit);
  const Value values = Quotients(b, vectors, MatrixProduct(b, vectors, SwapLast(b, scaled)));
  const Sorted sorted = SortAlong(b, values, values.rank() - 1, false);
  return {sorted.values * b.Broadcast(DropDims(b, scale, {rank - 1}), sorted.values.dims()),
          SwapLast(b, TakeRows(b, vectors, sorted.indices))};
}

namespace {

// The Hermitian matrices of which one triangle is given; what lies in the other is not read.
Value HermitianFrom(Builder& b, Value x, bool lower) {
  const Value strict = Triangle(b, x, lower, lower ? -1 : 1);
  const Value on = b.Eq(RowIota(b, x.dims()), ColumnIota(b, x.dims()));
  Value diagonal = x;
  if (IsComplex(x.dtype())) {
    diagonal = b.Complex(b.Real(x), b.ConstantLike(b.Real(x), 0));
  }
  return b.Select(on, diagonal, strict + Adjoint(b, strict));
}

// aten::_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True)
//     -> (Tensor eigenvalues, Tensor eigenvectors)
Values LinalgEigh(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckMatrices(call, x, true);
  const std::string_view uplo = call.String(1);
  const bool lower = uplo == "L" || uplo == "l";
  TORCH_CHECK(lower || uplo == "U" || uplo == "u", call.name(), ": expected UPLO 'L' or 'U', got '",
              uplo, "'");
  const Value hermitian = HermitianFrom(b, x, lower);
  call.Require(AllFinite(b, hermitian), "expected finite matrices");
  const Eigh eigh = EighOf(b, hermitian);
  return {eigh.values, call.Bool(2) ? eigh.vectors : Zeros(b, x.dtype(), {0})};
}

}  // namespace

OpRows EighRows() { return {{"aten::_linalg_eigh", LinalgEigh}}; }

}  // namespace torch_tpu::lowering
