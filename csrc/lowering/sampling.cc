// Drawing from a finite set: permutations and multinomial samples.
#include <c10/util/Exception.h>

#include <limits>

#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/random_stream.h"
#include "lowering/sorting.h"

namespace torch_tpu::lowering {
namespace {

// aten::randperm(SymInt n, *, ScalarType? dtype=4, ...) -> Tensor
// aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, ...) -> Tensor
template <int dtype_arg>
Value RandPerm(Builder& b, const OpCall& call) {
  const int64_t n = call.Int(0);
  const DType dtype = call.DtypeOr(dtype_arg, DType::Long);
  TORCH_CHECK(n >= 0, call.name(), ": expected n >= 0, got ", n);
  TORCH_CHECK(!IsComplex(dtype) && !IsBool(dtype), call.name(),
              ": expected a real number type, got ", DTypeName(dtype));
  const int digits = IsFloat(dtype)
                         ? (dtype == DType::Double     ? 53
                            : dtype == DType::Half     ? 11
                            : dtype == DType::BFloat16 ? 8
                                                       : 24)
                         : static_cast<int>(c10::elementSize(dtype)) * 8 - !IsUnsigned(dtype);
  TORCH_CHECK(digits >= 63 || n <= (int64_t{1} << digits), call.name(), ": expected n that fits ",
              DTypeName(dtype), ", got ", n);
  TORCH_CHECK(n < std::numeric_limits<int32_t>::max(), call.name(), ": expected n < 2^31, got ", n);
  if (n == 0) return Zeros(b, dtype, {0});
  // Sorted by random keys of 64 bits, every order is as likely as any other.
  RandomStream random(b, call);
  const Values sorted =
      b.Sort({random.Bits(DType::UInt64, {n}), b.Iota(DType::Int, {n}, 0)}, 0, true,
             [](Builder& b, hlo::ValueRef v) -> Values { return {b.Lt(v[0], v[1])}; });
  return b.Convert(sorted[1], dtype);
}

// Weights / exponential numbers: their maximum falls on each category with its probability, their
// k largest are a sample without replacement. 0 stays 0, below all others.
Value Race(Builder& b, RandomStream& random, Value weights) {
  return weights / random.Exponential(weights.dtype(), weights.dims());
}

Value ArgMaxLast(Builder& b, Value x) {
  const int64_t dim = x.rank() - 1;
  const Value place = IotaLike(b, DType::Int, x.dims(), dim);
  return b.Reduce({x, place}, {b.LowestOf(x.dtype()), b.Constant(DType::Int, 0)}, {dim},
                  [](Builder& b, hlo::ValueRef v) -> Values {
                    const Value later = b.Gt(v[2], v[0]);
                    const Value take = b.Or(later, b.And(b.Eq(v[2], v[0]), b.Lt(v[3], v[1])));
                    return {b.Select(take, v[2], v[0]), b.Select(take, v[3], v[1])};
                  })[1];
}

// Inverse of the distribution function, `samples` times per row.
Value DrawWithReplacement(Builder& b, RandomStream& random, Value weights, int64_t samples) {
  const int64_t rows = weights.dim(0), categories = weights.dim(1);
  const Value sums = RunningSum(b, weights, 1);
  const Value total = b.SliceDim(sums, 1, categories - 1, categories);
  const Dims result = {rows, samples};
  const Value at = random.Uniform(weights.dtype(), result) * b.Broadcast(total, result);
  Value place = SearchSorted(b, sums, at, Value(), true);
  place = b.Min(place, b.ConstantLike(place, categories - 1));
  // Sums round: a category of weight 0 may seem to have a share. It gives it to the one before.
  const Value self = IotaLike(b, DType::Int, weights.dims(), 1);
  const Value positive = b.Gt(weights, b.ConstantLike(weights, 0));
  const Value owner = RunningMaximum(b, b.Select(positive, self, b.ConstantLike(self, 0)), 1);
  return GatherAlong(b, owner, 1, place);
}

// aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *,
//     Generator? generator=None) -> Tensor
Value Multinomial(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const int64_t samples = call.Int(1);
  const bool replacement = call.Bool(2);
  CheckDtype(call.name(), self.dtype(), Accept::kFloat);
  TORCH_CHECK(self.rank() == 1 || self.rank() == 2, call.name(),
              ": expected 1 or 2 dimensions, got ", ToString(self.dims()));
  const int64_t categories = self.dim(-1), rows = self.rank() == 2 ? self.dim(0) : 1;
  TORCH_CHECK(samples > 0, call.name(), ": expected num_samples > 0, got ", samples);
  TORCH_CHECK(replacement || samples <= categories, call.name(),
              ": expected num_samples <= ", categories, " without replacement, got ", samples);
  TORCH_CHECK(categories <= (int64_t{1} << 24), call.name(),
              ": expected at most 2^24 categories, got ", categories);
  Dims result = self.dims();
  result.back() = samples;
  if (NumElements(result) == 0) return Zeros(b, DType::Long, result);
  TORCH_CHECK(categories > 0, call.name(), ": expected at least one category, got ",
              ToString(self.dims()));
  Value weights =
      b.Reshape(b.Convert(self, self.dtype() == DType::Double ? DType::Double : DType::Float),
                {rows, categories});
  const Value valid = b.And(b.Ge(weights, b.ConstantLike(weights, 0)), b.IsFinite(weights));
  call.Require(All(b, valid), "expected probabilities that are finite and not negative");
  const Value largest = MaxOver(b, weights, {1}, /*keep_dims=*/true);
  call.Require(All(b, b.Gt(largest, b.ConstantLike(largest, 0))),
               "expected probabilities with a sum above 0");
  // Scaled, so that neither sums nor quotients leave the type's range.
  weights = weights / b.Broadcast(largest, weights.dims());
  RandomStream random(b, call);
  Value drawn;
  if (samples == 1) {
    drawn = ArgMaxLast(b, Race(b, random, weights));
  } else if (replacement) {
    drawn = DrawWithReplacement(b, random, weights, samples);
  } else {
    drawn = TopAlong(b, Race(b, random, weights), 1, samples, /*descending=*/true).indices;
  }
  return b.Reshape(b.Convert(drawn, DType::Long), result);
}

const OpRow::Flags kRandom = {.random = true};

}  // namespace

OpRows SamplingRows() {
  return {
      {"aten::randperm", RandPerm<1>, kRandom},
      {"aten::randperm.generator", RandPerm<2>, kRandom},
      {"aten::multinomial", Multinomial, kRandom},
  };
}

}  // namespace torch_tpu::lowering
