// Plain convolutions and their gradients by the kernel, in whichever form suits the machine: XLA's
// convolution, a sum of shifted products, or planes of a volume one by one.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

// One spatial dimension: y[i] = sum_k x[i * stride + k * dilation - low] w[k], where the elements
// of x stand `spread` apart and zeros are around and between them.
struct ConvAxis {
  int64_t stride, dilation, spread, low, high;
};
using ConvAxes = c10::ArrayRef<ConvAxis>;

// x: [n, groups * c, *s], w: [groups * o, c, *k] -> [n, groups * o, *out] in AccumulateType.
Value Convolve(Builder& b, const OpCall& call, Value x, Value w, int64_t groups, ConvAxes axes);

// Its gradient by w, from grad: [n, groups * o, *out] -> [groups * o, c, *kernel].
Value ConvolveWeight(Builder& b, const OpCall& call, Value x, Value grad, int64_t groups,
                     const Dims& kernel, ConvAxes axes);

}  // namespace torch_tpu::lowering
