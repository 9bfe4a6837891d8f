// Memory that written tensors share with what a call reads: refused as on the CPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace torch_tpu::eager {

// RuntimeError where elements of `target` share memory with each other, or with those of an operand
// other than the same ones; any at all when `disjoint`.
void CheckOverlap(const at::Tensor& target, c10::ArrayRef<c10::IValue> args, bool disjoint);

// `tensor` with one element where it repeats one by a stride of 0.
at::Tensor WithoutRepeats(const at::Tensor& tensor);

}  // namespace torch_tpu::eager
