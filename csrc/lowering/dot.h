// Matrix products over leading batch dimensions, in the form that XLA turns into one library call.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

enum class Side { kPlain, kTransposed };

// [..., m, k] x [..., k, n] -> [..., m, n] with equal leading dimensions. kTransposed: that operand
// comes as [..., k, m] or [..., n, k]. The result is in AccumulateType of the operands.
Value MatrixProduct(Builder& b, Value x, Value y, Side x_side = Side::kPlain,
                    Side y_side = Side::kPlain);

// Complex conjugate; other types pass.
Value Conjugate(Builder& b, Value x);

// x * y where y is 0-d.
Value Scaled(Builder& b, Value x, Value factor);

}  // namespace torch_tpu::lowering
