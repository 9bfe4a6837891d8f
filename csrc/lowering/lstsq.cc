// Least squares.
#include <c10/util/Exception.h>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/qr.h"
#include "lowering/svd.h"

namespace torch_tpu::lowering {
namespace {

// Of full rank: through the triangle of a QR decomposition of A or, for the shortest of many
// solutions, of A^H.
Value SolveByQr(Builder& b, const OpCall& call, Pair p) {
  const bool tall = p.a.dim(-2) >= p.a.dim(-1);
  const Qr qr = QrOf(b, tall ? p.a : Adjoint(b, p.a), /*complete=*/false);
  const Value diagonal = Diagonal(b, qr.r);
  call.Require(All(b, b.Ne(diagonal, b.ConstantLike(diagonal, 0))),
               "expected matrices of full rank for driver 'gels'");
  if (tall) {
    const Value image = MatrixProduct(b, Adjoint(b, qr.q), p.x);
    return SolveTriangular(b, {qr.r, image}, true, false, false, "NO_TRANSPOSE");
  }
  return MatrixProduct(b, qr.q, SolveTriangular(b, {qr.r, p.x}, true, false, false, "ADJOINT"));
}

struct ByRank {
  Value solution, rank, values;
};

// The shortest solution, singular values at or below `rcond` times the largest counting as zero.
ByRank SolveBySvd(Builder& b, Pair p, Value rcond) {
  const Svd svd = SvdOf(b, p.a, false, true);
  const int64_t last = svd.values.rank() - 1, k = svd.values.dim(last);
  if (k == 0 || svd.values.numel() == 0) {
    const Dims dims = With(BatchOf(p.a), p.a.dim(-1), p.x.dim(-1));
    return {Zeros(b, p.x.dtype(), dims), Zeros(b, DType::Long, BatchOf(p.a)), svd.values};
  }
  const Value largest = b.Broadcast(b.SliceDim(svd.values, last, 0, 1), svd.values.dims());
  const Value kept = b.Gt(svd.values, largest * b.Broadcast(rcond, svd.values.dims()));
  const Value zero = b.ConstantLike(svd.values, 0), one = b.ConstantLike(svd.values, 1);
  const Value inverse = b.Select(kept, one / b.Select(kept, svd.values, one), zero);
  const Value image = MatrixProduct(b, Adjoint(b, svd.u), p.x);
  const Value scaled = image * b.Convert(OverRows(b, inverse, image.dims()), image.dtype());
  return {MatrixProduct(b, Adjoint(b, svd.vh), scaled),
          Sum(b, b.Convert(kept, DType::Long), {last}), svd.values};
}

// tpu::lstsq(Tensor A, Tensor B, bool full_rank, Scalar rcond)
//     -> (Tensor solution, Tensor residuals, Tensor? rank, Tensor? singular_values)
Values LstsqRow(Builder& b, const OpCall& call) {
  const Value a = call.Tensor(0), x = call.Tensor(1);
  CheckMatrices(call, a);
  const bool vector = IsVectorSide(a, x);
  const Value sides = vector ? b.Reshape(x, With(x.dims(), 1)) : x;
  TORCH_CHECK(sides.rank() >= 2 && sides.dim(-2) == a.dim(-2), call.name(),
              ": expected as many rows on both sides, got shapes ", ToString(a.dims()), " and ",
              ToString(x.dims()));
  const Pair p = BroadcastPair(b, call, a, sides);
  ByRank result;
  if (call.Bool(2)) {
    result.solution = SolveByQr(b, call, p);
  } else {
    result = SolveBySvd(b, p, call.Number(b, 3, RealType(a.dtype())));
  }
  const Value rest = b.Abs(p.x - MatrixProduct(b, p.a, result.solution));
  const Value residuals = Sum(b, rest * rest, {rest.rank() - 2});
  if (vector) result.solution = DropDims(b, result.solution, {result.solution.rank() - 1});
  return {result.solution, residuals, result.rank, result.values};
}

}  // namespace

OpRows LstsqRows() { return {{"tpu::lstsq", LstsqRow}}; }

}  // namespace torch_tpu::lowering
