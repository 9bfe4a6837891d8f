// Vector norms and distances.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

// (sum |x|^p)^(1/p) over `dims`, in the real type of x; p = 0 counts nonzero elements, p = inf
// takes the largest. x is float32 or wider.
Value PNorm(Builder& b, Value x, double p, IntArrayRef dims, bool keep_dims = false);

}  // namespace torch_tpu::lowering
