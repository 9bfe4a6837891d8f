#include "lowering/compaction.h"

#include <c10/util/Exception.h>

#include <limits>

#include "lowering/indexing.h"

namespace torch_tpu::lowering {

Compaction Compact(Builder& b, Value mask) {
  const int64_t n = mask.numel();
  TORCH_CHECK(n < std::numeric_limits<int32_t>::max(),
              "tpu: expected fewer than 2^31 elements where the result's size depends on the data, "
              "got ",
              n);
  const Value places = b.Iota(DType::Int, {n}, 0);
  const Value last = b.ConstantLike(places, n - 1);
  const Value count = Sum(b, b.Convert(mask, DType::Int), {0});
  if (n == 0) return {places, count};
  // Places that are out sort behind all others.
  const Value key = b.Select(mask, places, b.HighestOf(DType::Int, {n}));
  const Value sorted = b.Sort(
      {key}, 0, false, [](Builder& b, hlo::ValueRef v) -> Values { return {b.Lt(v[0], v[1])}; })[0];
  return {b.Min(sorted, last), count};
}

}  // namespace torch_tpu::lowering
