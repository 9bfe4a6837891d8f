// Factories without values, views and storage changes: metadata only. A view never launches
// anything.
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "eager/guard.h"
#include "eager/storage.h"

namespace torch_tpu::eager {
namespace {

int DeviceIndex(std::optional<at::Device> device) {
  return device && device->has_index() ? device->index() : CurrentDevice();
}

DType DtypeOf(std::optional<at::ScalarType> dtype) {
  return dtype.value_or(c10::typeMetaToScalarType(c10::get_default_dtype()));
}

at::Tensor EmptyMemoryFormat(IntArrayRef size, std::optional<at::ScalarType> dtype,
                             std::optional<at::Layout> layout, std::optional<at::Device> device,
                             std::optional<bool> pin_memory,
                             std::optional<at::MemoryFormat> memory_format) {
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided,
              "empty: expected a strided layout on tpu, got ", *layout);
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  return Empty(size, DtypeOf(dtype), DeviceIndex(device), memory_format);
}

at::Tensor EmptyStrided(IntArrayRef size, IntArrayRef stride, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout> layout, std::optional<at::Device> device,
                        std::optional<bool> pin_memory) {
  at::Tensor tensor = EmptyMemoryFormat({0}, dtype, layout, device, pin_memory, std::nullopt);
  at::detail::check_size_nonnegative(size);
  const size_t bytes = at::detail::computeStorageNbytes(size, stride, tensor.itemsize());
  ResizeStorage(tensor.storage(), bytes);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride);
  return tensor;
}

void GrowStorage(const at::Tensor& tensor) {
  const size_t bytes =
      at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize(),
                                       static_cast<size_t>(tensor.storage_offset()));
  if (tensor.numel() > 0 && bytes > tensor.storage().nbytes()) {
    ResizeStorage(tensor.storage(), bytes);
  }
}

const at::Tensor& Resize(const at::Tensor& self, IntArrayRef size,
                         std::optional<at::MemoryFormat> memory_format) {
  if (self.sizes() != size) {
    at::detail::check_size_nonnegative(size);
    self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
    GrowStorage(self);
  }
  if (memory_format) {
    TORCH_CHECK(*memory_format != at::MemoryFormat::Preserve, "Unsupported memory format ",
                *memory_format);
    self.unsafeGetTensorImpl()->empty_tensor_restride(*memory_format);
  }
  return self;
}

at::Tensor AsStrided(const at::Tensor& self, IntArrayRef size, IntArrayRef stride,
                     std::optional<int64_t> storage_offset) {
  return at::native::as_strided_tensorimpl(self, size, stride, storage_offset);
}

at::Tensor View(const at::Tensor& self, IntArrayRef size) { return at::native::view(self, size); }

// Without storage: what reads it takes zeros instead (PyTorch's ZeroTensor key).
at::Tensor EfficientZeroTensor(IntArrayRef size, std::optional<at::ScalarType> dtype,
                               std::optional<at::Layout>, std::optional<at::Device> device,
                               std::optional<bool>) {
  at::native::ZeroTensorAllocator allocator(c10::Device(
      c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(DeviceIndex(device))));
  const auto keys =
      c10::DispatchKeySet({c10::DispatchKey::PrivateUse1, c10::DispatchKey::ZeroTensor});
  return at::detail::empty_generic(size, &allocator, keys, DtypeOf(dtype), std::nullopt);
}

at::Tensor ReshapeAlias(const at::Tensor& self, IntArrayRef size, IntArrayRef stride) {
  return AsStrided(self, size, stride, self.storage_offset());
}

at::Tensor ViewAsComplex(const at::Tensor& self) {
  TORCH_CHECK_TYPE(self.scalar_type() != at::kHalf,
                   "view_as_complex: expected a data type that XLA can hold, got complex32");
  return at::native::view_as_complex(self);
}

at::Tensor Unfold(const at::Tensor& self, int64_t dim, int64_t size, int64_t step) {
  return at::native::unfold(self, dim, size, step);
}

at::Tensor& SetStorage(at::Tensor& self, at::Storage source, int64_t offset, IntArrayRef size,
                       IntArrayRef stride) {
  at::native::checkSetStorage(self, std::move(source), offset, size, stride);
  self.unsafeGetTensorImpl()->set_storage_offset(offset);
  if (stride.data() != nullptr) {
    self.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride);
  } else {
    self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
  }
  GrowStorage(self);
  return self;
}

at::Tensor& SetWholeStorage(at::Tensor& self, at::Storage source) {
  const int64_t elements =
      static_cast<int64_t>(source.nbytes()) / static_cast<int64_t>(self.itemsize());
  return SetStorage(self, std::move(source), 0, elements, {});
}

at::Tensor& SetTensor(at::Tensor& self, const at::Tensor& source) {
  if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) return self;
  return SetStorage(self, source.storage(), source.storage_offset(), source.sizes(),
                    source.strides());
}

at::Tensor& SetNothing(at::Tensor& self) {
  return SetTensor(self, Empty({0}, self.scalar_type(), self.device().index()));
}

bool IsSetTo(const at::Tensor& self, const at::Tensor& other) {
  return self.storage().is_alias_of(other.storage()) &&
         self.storage_offset() == other.storage_offset() && self.sizes() == other.sizes() &&
         self.strides() == other.strides();
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", EmptyMemoryFormat);
  m.impl("empty_strided", EmptyStrided);
  m.impl("resize_", Resize);
  m.impl("as_strided", AsStrided);
  m.impl("view", View);
  m.impl("_unsafe_view", View);
  m.impl("_efficientzerotensor", EfficientZeroTensor);
  m.impl("_reshape_alias", ReshapeAlias);
  m.impl("unfold", Unfold);
  m.impl("view_as_real", at::native::view_as_real);
  m.impl("view_as_complex", ViewAsComplex);
  m.impl("set_.source_Storage", SetWholeStorage);
  m.impl("set_.source_Storage_storage_offset", SetStorage);
  m.impl("set_.source_Tensor", SetTensor);
  m.impl("set_", SetNothing);
  m.impl("is_set_to", IsSetTo);
}

}  // namespace torch_tpu::eager
