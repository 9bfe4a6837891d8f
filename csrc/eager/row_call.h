// Calls a lowering row from C++: for the ops that eager composes itself. The same program, key and
// cache as the boxed kernel's.
#pragma once

#include <ATen/core/Tensor.h>

#include "exec/launch.h"
#include "exec/program.h"

namespace torch_tpu::eager {

class RowCall {
 public:
  // `row` is a name of the registry ("aten::nonzero", "tpu::identity").
  RowCall(const char* row, int device);

  RowCall& Tensor(const at::Tensor& tensor);
  RowCall& View(const exec::TensorView& view);
  RowCall& Tensors(at::TensorList tensors);
  RowCall& None();
  RowCall& Int(int64_t value);
  RowCall& Ints(IntArrayRef values);
  RowCall& Bool(bool value);
  RowCall& Dtype(DType dtype);
  RowCall& Number(const c10::Scalar& value);
  RowCall& StaticNumber(const c10::Scalar& value);
  RowCall& Random(const std::optional<at::Generator>& generator, uint64_t count);

  // New tensors; undefined ones for results that the row left out.
  std::vector<at::Tensor> Run();
  std::vector<exec::BufferRef> RunBuffers();
  // Result 0 replaces the elements of `target`, of which it must have the shape.
  void RunInto(const at::Tensor& target);

 private:
  int device_;
  exec::ProgramWriter writer_;
};

// Result `i` of a launch as a tensor of its own.
at::Tensor WrapResult(const exec::Launched& launched, size_t i);

}  // namespace torch_tpu::eager
