// Sliding windows over the trailing spatial dimensions: the size rules shared by pooling and
// unfolding.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

struct PoolWindow {
  Dims kernel, stride, padding, dilation, out;  // one entry per spatial dimension
  bool ceil_mode = false;

  size_t spatial() const { return kernel.size(); }
};

// Reads kernel_size, stride (empty: the kernel's), padding and, where `dilation` >= 0, dilation at
// their argument positions and checks them against `input`, whose last dimensions are the spatial
// ones, by PyTorch's pooling rules.
struct PoolArgs {
  int kernel, stride, padding, dilation, ceil_mode;
};
PoolWindow ReadPoolWindow(const OpCall& call, const Dims& input, size_t spatial,
                          const PoolArgs& args);

// The window as an XLA window over all dimensions of `input`; the high padding is what makes the
// result `out` long.
hlo::WindowDims FullWindow(const PoolWindow& window, const Dims& input);

// Position within the flattened last `spatial` dimensions of `dims`.
Value FlatPosition(Builder& b, const Dims& dims, size_t spatial);

// Body of a maximum over (value, position) pairs: NaN is greater than every number; of equal values
// the first position wins, of NaNs the last, as in PyTorch's loop.
Values GreaterPair(Builder& b, Value x, Value i, Value y, Value j);

// `dims` with the trailing dimensions replaced by `spatial`.
Dims WithTrailing(const Dims& dims, const Dims& spatial);

}  // namespace torch_tpu::lowering
