#include "eager/row_call.h"

#include "eager/generator.h"
#include "eager/precision.h"
#include "eager/storage.h"
#include "eager/stream.h"

namespace torch_tpu::eager {

RowCall::RowCall(const char* row, int device) : device_(device), writer_(device) {
  const lowering::OpRow* found = lowering::FindRow(row);
  TORCH_INTERNAL_ASSERT(found != nullptr, "no row ", row);
  writer_.Call(*found);
  PutPrecision(writer_, *found);
}

RowCall& RowCall::Tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return None();
  writer_.Tensor(ViewOf(tensor));
  return *this;
}

RowCall& RowCall::View(const exec::TensorView& view) {
  writer_.Tensor(view);
  return *this;
}

RowCall& RowCall::Tensors(at::TensorList tensors) {
  writer_.Tensors(tensors.size());
  for (const at::Tensor& tensor : tensors) Tensor(tensor);
  return *this;
}

RowCall& RowCall::None() {
  writer_.None();
  return *this;
}

RowCall& RowCall::Int(int64_t value) {
  writer_.Int(value);
  return *this;
}

RowCall& RowCall::Ints(IntArrayRef values) {
  writer_.Ints(values);
  return *this;
}

RowCall& RowCall::Bool(bool value) {
  writer_.Bool(value);
  return *this;
}

RowCall& RowCall::Dtype(DType dtype) {
  writer_.Dtype(dtype);
  return *this;
}

RowCall& RowCall::Number(const c10::Scalar& value) {
  writer_.Number(value, /*is_static=*/false);
  return *this;
}

RowCall& RowCall::StaticNumber(const c10::Scalar& value) {
  writer_.Number(value, /*is_static=*/true);
  return *this;
}

RowCall& RowCall::Random(const std::optional<at::Generator>& generator, uint64_t count) {
  const RandomState state = NextRandomState(generator, device_, count);
  writer_.Random(state.seed, state.offset, count);
  return *this;
}

std::vector<at::Tensor> RowCall::Run() {
  writer_.EndCall();
  const exec::Launched launched = exec::Submit(writer_, CurrentStream(device_));
  std::vector<at::Tensor> results;
  for (size_t i = 0; i < launched.program->results.size(); ++i) {
    results.push_back(WrapResult(launched, i));
  }
  return results;
}

std::vector<exec::BufferRef> RowCall::RunBuffers() {
  writer_.EndCall();
  const exec::Launched launched = exec::Submit(writer_, CurrentStream(device_));
  return {launched.outputs.begin(), launched.outputs.end()};
}

void RowCall::RunInto(const at::Tensor& target) {
  writer_.EndCall();
  writer_.Write(0, ViewOf(target));
  exec::Submit(writer_, CurrentStream(device_));
}

at::Tensor WrapResult(const exec::Launched& launched, size_t i) {
  const exec::ResultInfo& info = launched.program->results[i];
  if (!info.defined) return {};
  TORCH_INTERNAL_ASSERT(info.written_input < 0);
  const exec::BufferRef& buffer = launched.outputs[info.output];
  if (info.permutation.empty()) return Wrap(buffer, info.type.dims);
  // Physical axis k is logical dimension permutation[k].
  const Dims physical = RowMajorStrides(buffer->type().dims);
  Dims strides(physical.size());
  for (size_t k = 0; k < physical.size(); ++k) strides[info.permutation[k]] = physical[k];
  return Wrap(buffer, info.type.dims, strides);
}

}  // namespace torch_tpu::eager
