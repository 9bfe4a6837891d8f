// Gather and scatter as index rows need them: indices that are checked once and safe for XLA, one
// dimension or several, and the ways in which an update meets what is there.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

enum class Negative { kRefused, kWraps };

// `index` as XLA wants it: int32 where `size` allows, negatives wrapped where PyTorch wraps them.
// Requires every entry to be in range. IndexError at once for a type that is no index, and for any
// entry at all into a dimension of size 0.
Value CheckedIndex(Builder& b, const OpCall& call, Value index, int64_t size, Negative negative);

// The dimension replaced by the dimensions of `index`: y[.., i.., ..] = x[.., index[i..], ..].
Value TakeAlong(Builder& b, Value x, int64_t dim, Value index);
// torch.gather: y[i][j] = x[index[i][j]][j] for dim 0; `index` may be shorter than x elsewhere.
Value GatherAlong(Builder& b, Value x, int64_t dim, Value index);

enum class Combine { kReplace, kSum, kProduct, kMaximum, kMinimum };

// The value that a combination starts from: 0, 1, lowest, highest.
Value IdentityOf(Builder& b, Combine combine, DType dtype, IntArrayRef dims = {});
// combine(old, update); logical or / and for bool sums and products.
Value CombineValues(Builder& b, Combine combine, Value old, Value update);

// One scatter of `updates` into `x`, in x's own type.
Value ScatterInto(Builder& b, Value x, Value index, Value updates, const hlo::ScatterDims& dims,
                  Combine combine);
// x[.., index[i], ..] combined with updates[.., i, ..]; index is a vector.
Value ScatterSlices(Builder& b, Value x, int64_t dim, Value index, Value updates, Combine combine);
// torch.scatter: x[index[i][j]][j] combined with updates[i][j]; all of index's shape.
Value ScatterAlong(Builder& b, Value x, int64_t dim, Value index, Value updates, Combine combine);

// Scatters that reduce: low-precision floats meet in float32 and are rounded once. `scatter` is one
// of the two functions above. `mean` divides by the number of values that met.
struct ScatterReduction {
  Combine combine = Combine::kSum;
  bool mean = false;
  bool include_self = true;
};
ScatterReduction ParseReduction(const OpCall& call, std::string_view name, bool include_self);
Value ScatterReduce(Builder& b, Value x, int64_t dim, Value index, Value updates,
                    const ScatterReduction& reduction,
                    Value (*scatter)(Builder&, Value, int64_t, Value, Value, Combine));

// A vector [1] for 0-d, other values as they are.
Value AtLeast1d(Builder& b, Value x);
// x spread to `dims`, RuntimeError naming the op when it does not fit.
Value ExpandTo(Builder& b, const OpCall& call, Value x, IntArrayRef dims, std::string_view what);
Value Zeros(Builder& b, DType dtype, IntArrayRef dims);

// Running sums (maxima of values that are not negative) along `dim`, inclusive, in x's own type.
Value RunningSum(Builder& b, Value x, int64_t dim);
Value RunningMaximum(Builder& b, Value x, int64_t dim);

}  // namespace torch_tpu::lowering
