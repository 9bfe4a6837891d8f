// Copies between host and device, between devices, and between views.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_tpu::eager {

// dst[...] = src with PyTorch's copy_ meaning: broadcasts, casts, resolves lazy conjugation and
// negation. Either side may be on the host. Host to device copies at the call, so the source may
// change at once; device to host waits unless the caller asked not to and the host memory is
// pinned.
void CopyInto(const at::Tensor& dst, const at::Tensor& src, bool non_blocking);

// A row-major tensor with storage of its own on another device of the process.
at::Tensor ToOtherDevice(const at::Tensor& tensor, int device);

}  // namespace torch_tpu::eager
