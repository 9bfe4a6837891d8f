// Sliding windows over the trailing spatial dimensions: the size rules shared by pooling and unfolding.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

struct PoolWindow {
  Dims kernel, stride, padding, dilation, out;  // one entry per spatial dimension
  bool ceil_mode = false;

  size_t spatial() const { return kernel.size(); }
};

// Reads kernel_size, stride (empty: the kernel's), padding and, where `dilation` >= 0, dilation at
// their argument positions and checks them against `input`, whose last dimensions are the spatial ones,
// by PyTorch's pooling rules.
struct PoolArgs {
  int kernel, stride, padding, dilation, ceil_mode;
};
PoolWindow ReadPoolWindow(const OpCall& call, const Dims& input, size_t spatial,
                          const PoolArgs& args);

// The window as an XLA window over all dimensions of `input`; the high padding is what makes the result
// `out` long.
hlo::WindowDims FullWindow(const PoolWindow& window, const Dims& input);

// `dims` with the trailing dimensions replaced by `spatial`.
Dims WithTrailing(const Dims& dims, const Dims& spatial);

}  // namespace torch_tpu::lowering
