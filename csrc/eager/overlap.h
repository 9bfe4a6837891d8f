// Memory that written tensors share with what a call reads: refused as on the CPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "lowering/registry.h"

namespace torch_tpu::eager {

// RuntimeError where elements of `target` share memory with each other, or with those of an operand
// other than the same ones; any at all when `disjoint`.
void CheckOverlap(const at::Tensor& target, c10::ArrayRef<c10::IValue> args, bool disjoint);

// The same for the out= of `row`, which is to receive `result`; and its dtype, where the row takes
// no other.
void CheckOut(const lowering::OpRow& row, const at::Tensor& out, const at::Tensor& result,
              c10::ArrayRef<c10::IValue> args);

// RuntimeError, PyTorch's own, where the number is too large for `dtype`.
void CheckFits(const c10::Scalar& number, c10::ScalarType dtype);

// `tensor` with one element where it repeats one by a stride of 0.
at::Tensor WithoutRepeats(const at::Tensor& tensor);

}  // namespace torch_tpu::eager
