// Singular value decomposition.
#include "lowering/svd.h"

#include <c10/util/Exception.h>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/jacobi.h"
#include "lowering/qr.h"
#include "lowering/sorting.h"

namespace torch_tpu::lowering {
namespace {

// The square matrices' columns in a given order.
Value TakeColumns(Builder& b, Value x, Value index) {
  return SwapLast(b, TakeRows(b, SwapLast(b, x), index));
}

// Columns of `x` times numbers of modulus 1, the phases of `diagonal` (1 where that is 0).
Value TurnColumns(Builder& b, Value x, Value diagonal) {
  const Value zero = b.Eq(diagonal, b.ConstantLike(diagonal, 0));
  const Value phase = b.Select(zero, b.ConstantLike(diagonal, 1), b.Sign(diagonal));
  return x * OverColumns(b, phase, x.dims());
}

// Square R = U diag(values) V^H, all of it n by n.
Svd SquareSvd(Builder& b, Value r, bool vectors) {
  // R^H W has orthogonal columns for a unitary W: R^H W = V S.
  const Value rows = OrthogonalRows(b, Conjugate(b, r));
  const Value norms = RowNorms(b, rows);
  const Sorted order = SortAlong(b, norms, norms.rank() - 1, true);
  if (!vectors) return {Value(), order.values, Value()};
  // Householder reflections normalize the columns and fill in for those that are zero.
  const Value v = QrOf(b, SwapLast(b, TakeRows(b, rows, order.indices)), true).q;
  const Qr left = QrOf(b, MatrixProduct(b, r, v), true);
  const Value diagonal = Diagonal(b, left.r);
  const Sorted final = SortAlong(b, b.Abs(diagonal), diagonal.rank() - 1, true);
  return {TakeColumns(b, TurnColumns(b, left.q, diagonal), final.indices), final.values,
          Adjoint(b, TakeColumns(b, v, final.indices))};
}

// [[x, 0], [0, 1]] of size n.
Value BorderedByIdentity(Builder& b, Value x, int64_t n) {
  if (x.dim(-1) == n) return x;
  const Value padded = PadTo(b, x, n, n);
  const Value on = b.Eq(RowIota(b, padded.dims()), ColumnIota(b, padded.dims()));
  const Value outside =
      b.Ge(RowIota(b, padded.dims()), b.Constant(DType::Int, x.dim(-1), padded.dims()));
  return b.Select(b.And(on, outside), b.ConstantLike(padded, 1), padded);
}

// No fewer rows than columns.
Svd TallSvd(Builder& b, Value x, bool full, bool vectors) {
  const int64_t m = x.dim(-2), n = x.dim(-1);
  if (m == n) return SquareSvd(b, x, vectors);
  const Qr qr = QrOf(b, x, full && vectors);
  Svd svd = SquareSvd(b, Corner(b, qr.r, n, n), vectors);
  if (vectors) svd.u = MatrixProduct(b, qr.q, full ? BorderedByIdentity(b, svd.u, m) : svd.u);
  return svd;
}

}  // namespace

Svd SvdOf(Builder& b, Value x, bool full, bool vectors) {
  const int64_t m = x.dim(-2), n = x.dim(-1), k = std::min(m, n);
  const Dims batch = BatchOf(x);
  if (x.numel() == 0) {
    const int64_t left = full ? m : k, right = full ? n : k;
    return {Identity(b, x.dtype(), With(batch, m, left)),
            Zeros(b, RealType(x.dtype()), With(batch, k)),
            Identity(b, x.dtype(), With(batch, right, n))};
  }
  const Value scale = ScaleOver(b, x, {x.rank() - 2, x.rank() - 1});
  const Value scaled = x / b.Broadcast(b.Convert(scale, x.dtype()), x.dims());
  Svd svd;
  if (m >= n) {
    svd = TallSvd(b, scaled, full, vectors);
  } else {
    svd = TallSvd(b, Adjoint(b, scaled), full, vectors);
    if (vectors) svd = {Adjoint(b, svd.vh), svd.values, Adjoint(b, svd.u)};
  }
  const Value factor = DropDims(b, scale, {scale.rank() - 1});
  svd.values = svd.values * b.Broadcast(factor, svd.values.dims());
  return svd;
}

namespace {

// aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *,
//     str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)
Values LinalgSvd(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckMatrices(call, x);
  TORCH_CHECK(call.IsNone(3), call.name(), ": expected no driver, got '", call.String(3),
              "'. Drivers are cuSOLVER's");
  call.Require(AllFinite(b, x), "expected finite matrices");
  const bool vectors = call.Bool(2);
  const Svd svd = SvdOf(b, x, call.Bool(1), vectors);
  if (vectors) return {svd.u, svd.values, svd.vh};
  const Value none = Zeros(b, x.dtype(), {0});
  return {none, svd.values, none};
}

}  // namespace

OpRows SvdRows() { return {{"aten::_linalg_svd", LinalgSvd}}; }

}  // namespace torch_tpu::lowering
