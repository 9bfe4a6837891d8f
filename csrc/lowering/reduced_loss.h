// The `reduction` argument of losses.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

enum Reduction : int64_t { kReductionNone = 0, kReductionMean = 1, kReductionSum = 2 };

// Elementwise losses in the computing type -> the op's result, rounded to `result`.
Value ReduceLoss(Builder& b, Value loss, int64_t reduction, DType result);

// The gradient that reaches each of the elements of `dims` from `grad` (0-d where it was reduced).
Value SpreadLossGrad(Builder& b, Value grad, int64_t reduction, const Dims& dims, DType compute);

}  // namespace torch_tpu::lowering
