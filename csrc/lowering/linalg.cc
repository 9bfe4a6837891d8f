// Linear algebra that XLA has operations for.
#include <c10/util/Exception.h>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/matrices.h"

namespace torch_tpu::lowering {
namespace {

// Lower factor of Hermitian positive definite matrices, and LAPACK's info: 0, or the order of the
// first leading minor that is not positive (whose factor XLA fills with NaN).
std::pair<Value, Value> CholeskyWithInfo(Builder& b, Value x) {
  const Dims batch = BatchOf(x);
  const int64_t n = x.dim(-1), rank = x.rank();
  if (x.numel() == 0) return {x, b.Constant(DType::Int, 0, batch)};
  const Value lower = b.Cholesky(x, true);
  const Value factor = Triangle(b, lower, true);
  const Dims row_dims = Dims(x.dims().begin(), x.dims().end() - 1);
  const Value bad_row =
      b.Reduce("or", IsNaN(b, factor), b.Constant(DType::Bool, false), {rank - 1});
  const Value order = b.Iota(DType::Int, row_dims, rank - 2);
  const Value limit = b.Constant(DType::Int, n, row_dims);
  const Value first = MinOver(b, b.Select(bad_row, order, limit), {rank - 2});
  const Value none = b.Eq(first, b.Constant(DType::Int, n, batch));
  const Value one = b.Constant(DType::Int, 1, batch);
  return {factor, b.Select(none, b.Constant(DType::Int, 0, batch), first + one)};
}

// aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False)
//     -> (Tensor L, Tensor info)
Values CholeskyEx(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckMatrices(call, self, true);
  const bool upper = call.Bool(1);
  // The triangle named by `upper` is the one that is read.
  const Value source = upper ? Adjoint(b, self) : self;
  const auto [lower, info] = CholeskyWithInfo(b, source);
  if (call.Bool(2)) {
    call.Require(All(b, b.Eq(info, b.ConstantLike(info, 0))),
                 "expected positive definite matrices");
  }
  return {upper ? Adjoint(b, lower) : lower, info};
}

// aten::cholesky(Tensor self, bool upper=False) -> Tensor
Value Cholesky(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckMatrices(call, self, true);
  const bool upper = call.Bool(1);
  const auto [lower, info] = CholeskyWithInfo(b, upper ? Adjoint(b, self) : self);
  call.Require(All(b, b.Eq(info, b.ConstantLike(info, 0))), "expected positive definite matrices");
  return upper ? Adjoint(b, lower) : lower;
}

// aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True,
//     bool unitriangular=False) -> Tensor
Value LinalgSolveTriangular(Builder& b, const OpCall& call) {
  const Value a = call.Tensor(0), x = call.Tensor(1);
  const bool left = call.Bool(3);
  CheckSystem(call, a, x, left);
  return SolveTriangular(b, BroadcastPair(b, call, a, x), left, !call.Bool(2), call.Bool(4),
                         "NO_TRANSPOSE");
}

// aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False,
//     bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)
Values TriangularSolve(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), a = call.Tensor(1);
  CheckSystem(call, a, x, true);
  const Pair p = BroadcastPair(b, call, a, x);
  const Value solution = SolveTriangular(b, p, true, !call.Bool(2), call.Bool(4),
                                         call.Bool(3) ? "TRANSPOSE" : "NO_TRANSPOSE");
  return {solution, p.a};
}

// Solves (L L^H) X = B, or (U^H U) X = B.
Value SolveWithFactor(Builder& b, Pair p, bool upper) {
  const std::string_view first = upper ? "ADJOINT" : "NO_TRANSPOSE";
  const std::string_view second = upper ? "NO_TRANSPOSE" : "ADJOINT";
  const Value half = SolveTriangular(b, p, true, !upper, false, first);
  return SolveTriangular(b, {p.a, half}, true, !upper, false, second);
}

// aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor
// aten::_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor
Value CholeskySolve(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), factor = call.Tensor(1);
  CheckSystem(call, factor, x, true);
  return SolveWithFactor(b, BroadcastPair(b, call, factor, x), call.Bool(2));
}

// aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor
Value CholeskyInverse(Builder& b, const OpCall& call) {
  const Value factor = call.Tensor(0);
  CheckMatrices(call, factor, true);
  return SolveWithFactor(b, {factor, Identity(b, factor.dtype(), factor.dims())}, call.Bool(1));
}

// aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor
Value Cross(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), other = call.Tensor(1);
  TORCH_CHECK(self.rank() == other.rank(), call.name(),
              ": expected operands of the same number of dimensions, got ", self.rank(), " and ",
              other.rank());
  const int64_t dim = call.Dim(2, self.rank());
  TORCH_CHECK(self.rank() > 0 && self.dim(dim) == 3 && other.dim(dim) == 3, call.name(),
              ": expected 3 elements along dimension ", dim, ", got shapes ", ToString(self.dims()),
              " and ", ToString(other.dims()));
  const DType type = call.ResultType({0, 1}), compute = AccumulateType(type);
  const Dims dims = BroadcastDims(self.dims(), other.dims(), call.name());
  const Value x = b.Broadcast(b.Convert(self, compute), dims);
  const Value y = b.Broadcast(b.Convert(other, compute), dims);
  // x rotated by one and by two along `dim`.
  const auto rotate = [&](Value v, int64_t by) {
    return b.Concatenate({b.SliceDim(v, dim, by, 3), b.SliceDim(v, dim, 0, by)}, dim);
  };
  return b.Convert(rotate(x, 1) * rotate(y, 2) - rotate(x, 2) * rotate(y, 1), type);
}

// A value whose dimension i is dimension labels[i] of a larger index space.
struct Labelled {
  Value value;
  Dims labels;
  bool Has(int64_t label) const {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }
  int64_t At(int64_t label) const {
    return std::find(labels.begin(), labels.end(), label) - labels.begin();
  }
};

// The product of two values, summed over the labels in `sum`.
Labelled Contract(Builder& b, Labelled x, Labelled y, const Dims& sum) {
  hlo::DotDims dot;
  Dims labels;
  const auto reduce_alone = [&](Labelled& one, const Labelled& other) {
    Dims alone;
    for (int64_t label : sum) {
      if (one.Has(label) && !other.Has(label)) alone.push_back(one.At(label));
    }
    std::sort(alone.begin(), alone.end());
    if (alone.empty()) return;
    one.value = Sum(b, one.value, alone);
    for (size_t i = alone.size(); i-- > 0;) one.labels.erase(one.labels.begin() + alone[i]);
  };
  reduce_alone(x, y);
  reduce_alone(y, x);
  const auto summed = [&](int64_t label) {
    return std::find(sum.begin(), sum.end(), label) != sum.end();
  };
  for (int64_t label : x.labels) {
    if (!y.Has(label)) continue;
    (summed(label) ? dot.lhs_contract : dot.lhs_batch).push_back(x.At(label));
    (summed(label) ? dot.rhs_contract : dot.rhs_batch).push_back(y.At(label));
    if (!summed(label)) labels.push_back(label);
  }
  for (int64_t label : x.labels) {
    if (!y.Has(label)) labels.push_back(label);
  }
  for (int64_t label : y.labels) {
    if (!x.Has(label)) labels.push_back(label);
  }
  const DType type = AccumulateType(x.value.dtype());
  return {b.DotGeneral(b.Convert(x.value, type), b.Convert(y.value, type), dot, type), labels};
}

// aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3,
//     int[] sumdim, int unroll_dim=1) -> Tensor
Value Trilinear(Builder& b, const OpCall& call) {
  const int64_t rank = call.Tensor(0).rank() + static_cast<int64_t>(call.Ints(3).size());
  const auto labelled = [&](int i) {
    const Dims missing = call.Ints(i + 3);
    Labelled out = {call.Tensor(i), {}};
    for (int64_t d = 0; d < rank; ++d) {
      if (std::find(missing.begin(), missing.end(), d) == missing.end()) out.labels.push_back(d);
    }
    TORCH_CHECK(static_cast<int64_t>(out.labels.size()) == out.value.rank(), call.name(),
                ": expected operands that expand to ", rank, " dimensions, got shape ",
                ToString(out.value.dims()));
    return out;
  };
  const Labelled x = labelled(0), y = labelled(1), z = labelled(2);
  for (const auto& [one, two] : {std::pair(x, y), std::pair(x, z), std::pair(y, z)}) {
    for (int64_t label : one.labels) {
      if (!two.Has(label)) continue;
      const int64_t m = one.value.dim(one.At(label)), n = two.value.dim(two.At(label));
      TORCH_CHECK(m == n, call.name(), ": expected equal sizes of dimension ", label, ", got ", m,
                  " and ", n);
    }
  }
  const Dims sum = call.Ints(6);
  Dims first, second;
  for (int64_t label : sum) (z.Has(label) ? second : first).push_back(label);
  const Labelled out = Contract(b, Contract(b, x, y, first), z, second);
  Dims order;
  for (int64_t d = 0; d < rank; ++d) {
    if (out.Has(d)) order.push_back(out.At(d));
  }
  return b.Convert(b.Transpose(out.value, order), call.Tensor(0).dtype());
}

}  // namespace

OpRows LinalgRows() {
  return {
      {"aten::linalg_cholesky_ex", CholeskyEx},
      {"aten::cholesky", Cholesky},
      {"aten::cholesky_solve", CholeskySolve},
      {"aten::_cholesky_solve_helper", CholeskySolve},
      {"aten::cholesky_inverse", CholeskyInverse},
      {"aten::linalg_solve_triangular", LinalgSolveTriangular},
      {"aten::triangular_solve", TriangularSolve},
      {"aten::linalg_cross", Cross},
      {"aten::_trilinear", Trilinear},
  };
}

}  // namespace torch_tpu::lowering
