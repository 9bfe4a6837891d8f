// Convolutions as a sum over the kernel's positions, each of them an elementwise product or a matrix
// product with a shifted view of the input. XLA's own convolution is slow where every output channel
// reads one input channel, and on CPUs for float64.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

// One spatial dimension: y[i] = sum_k x[i * stride + k * dilation - low] w[k], where x stands `spread`
// apart.
struct TapAxis {
  int64_t stride, dilation, spread, low, high;
};

// Whether the sum is worth it for kernels of size `kernel` and c input channels per group.
bool SuitsTaps(DType dtype, int64_t groups, int64_t channels, const Dims& kernel);

// x: [n, groups * c, *s], w: [groups * o, c, *k] -> [n, groups * o, *out], in x's type.
Value ConvolveTaps(Builder& b, Value x, Value w, int64_t groups, c10::ArrayRef<TapAxis> axes);

// The gradient by w: grad is [n, groups * o, *out].
Value ConvolveTapsWeight(Builder& b, Value x, Value grad, int64_t groups, const Dims& kernel,
                         c10::ArrayRef<TapAxis> axes);

}  // namespace torch_tpu::lowering
