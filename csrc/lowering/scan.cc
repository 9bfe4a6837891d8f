// Running sums, products, extrema and log-sum-exps.
#include <c10/util/Exception.h>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// Combines what lies before (left) with what comes after (right); associative.
using Combine = std::function<Values(Builder&, const Values& left, const Values& right)>;

// Inclusive scan along `dim` in log2(size) steps: each step combines every element with the one
// `step` places before it. `identities` are 0-d and fill in before the first element.
Values Scan(Builder& b, Values xs, const Values& identities, int64_t dim, const Combine& combine) {
  const int64_t size = xs[0].dim(dim);
  for (int64_t step = 1; step < size; step *= 2) {
    Values before;
    for (size_t i = 0; i < xs.size(); ++i) {
      Dims low(xs[i].rank(), 0), high(xs[i].rank(), 0);
      low[dim] = step;
      const Value kept = b.SliceDim(xs[i], dim, 0, size - step);
      before.push_back(b.Pad(kept, identities[i], low, high));
    }
    // A barrier between steps: fused together they would compute everything `size` times.
    xs = b.OptimizationBarrier(combine(b, before, xs));
  }
  return xs;
}

// Arguments (Tensor self, int dim, *, ScalarType? dtype=None).
Value Cumulate(Builder& b, const OpCall& call, const char* op, int identity) {
  const Value self = call.Tensor(0);
  const bool integral = c10::isIntegralType(self.dtype(), true);
  const DType type = call.DtypeOr(2, integral ? DType::Long : self.dtype());
  const int64_t dim = call.Dim(1, self.rank());
  const Value x = b.Convert(self, AccumulateType(type));
  if (x.rank() == 0 || x.numel() == 0) return b.Convert(x, type);
  const Values scanned = Scan(b, {x}, {b.Constant(x.dtype(), identity)}, dim,
                              [&](Builder& b, const Values& left, const Values& right) -> Values {
                                return {b.Binary(op, left[0], right[0])};
                              });
  return b.Convert(scanned[0], type);
}

// aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
Value CumSum(Builder& b, const OpCall& call) { return Cumulate(b, call, "add", 0); }

// aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
Value CumProd(Builder& b, const OpCall& call) { return Cumulate(b, call, "multiply", 1); }

// aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)
template <bool largest>
Values CumExtremum(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckDtype(call.name(), x.dtype(), Accept::kReal);
  const int64_t dim = call.Dim(1, x.rank());
  if (x.rank() == 0 || x.numel() == 0) return {x, b.Constant(DType::Long, 0, x.dims())};
  const Value index = b.Iota(DType::Long, x.dims(), dim);
  const Value identity = largest ? b.LowestOf(x.dtype()) : b.HighestOf(x.dtype());
  // The index of what stands before the first element is below all others, so it never wins a tie.
  return Scan(b, {x, index}, {identity, b.Constant(DType::Long, -1)}, dim,
              [](Builder& b, const Values& left, const Values& right) -> Values {
                // The later one wins a tie; NaN wins over numbers and a later NaN over an earlier.
                Value take = b.Compare(largest ? "GE" : "LE", right[0], left[0]);
                if (IsFloat(right[0].dtype())) take = b.Or(take, b.Ne(right[0], right[0]));
                return {b.Select(take, right[0], left[0]), b.Select(take, right[1], left[1])};
              });
}

// log(exp(x) + exp(y)); -inf is the identity.
Value LogAdd(Builder& b, Value x, Value y) {
  if (IsComplex(x.dtype())) {
    const Value larger = b.Ge(b.Real(x), b.Real(y));
    const Value max = b.Select(larger, x, y), min = b.Select(larger, y, x);
    const Value nothing = b.Eq(b.Real(min), b.Infinity(RealType(x.dtype()), true, x.dims()));
    return b.Select(nothing, max, max + b.Log1p(b.Exp(min - max)));
  }
  const Value max = b.Max(x, y),
              infinite = b.Eq(b.Abs(max), b.Infinity(x.dtype(), false, x.dims()));
  return b.Select(infinite, max, max + b.Log1p(b.Exp(-b.Abs(x - y))));
}

// aten::logcumsumexp(Tensor self, int dim) -> Tensor
Value LogCumSumExp(Builder& b, const OpCall& call) {
  const DType type = call.Tensor(0).dtype();
  CheckDtype(call.name(), type, Accept::kFloatOrComplex);
  const int64_t dim = call.Dim(1, call.Tensor(0).rank());
  const Value x = b.Convert(call.Tensor(0), AccumulateType(type));
  if (x.rank() == 0 || x.numel() == 0) return b.Convert(x, type);
  const Value nothing = b.Convert(b.Infinity(RealType(x.dtype()), true), x.dtype());
  const Values scanned = Scan(b, {x}, {nothing}, dim,
                              [](Builder& b, const Values& left, const Values& right) -> Values {
                                return {LogAdd(b, left[0], right[0])};
                              });
  return b.Convert(scanned[0], type);
}

}  // namespace

OpRows ScanRows() {
  return {
      {"aten::cumsum", CumSum},
      {"aten::cumprod", CumProd},
      {"aten::cummax", CumExtremum<true>},
      {"aten::cummin", CumExtremum<false>},
      {"aten::logcumsumexp", LogCumSumExp, {.exact_out = true}},
      {"aten::_logcumsumexp", LogCumSumExp},
  };
}

}  // namespace torch_tpu::lowering
