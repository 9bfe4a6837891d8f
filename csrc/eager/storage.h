// Device storages: PyTorch's StorageImpl over one PJRT buffer, and tensors made of buffers.
//
// A storage is bytes to PyTorch and one typed row-major array to the device. Its buffer is replaced
// at each write; all views see the new one. Before the first write there is no buffer at all.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "exec/program.h"
#include "exec/runtime.h"

namespace torch_tpu::eager {

class AddressSpace;

class DeviceStorage : public exec::BufferSlot {
 public:
  DeviceStorage(int device, int64_t bytes);
  ~DeviceStorage();
  DeviceStorage(const DeviceStorage&) = delete;
  DeviceStorage& operator=(const DeviceStorage&) = delete;

  int device() const { return device_; }
  int64_t bytes() const { return bytes_; }
  // Unique among the live storages; reserved address space that faults when touched. Null for 0
  // bytes.
  void* address() const { return address_; }

 private:
  friend class AddressSpace;

  int device_;
  int64_t bytes_;
  DeviceStorage *previous_ = nullptr, *next_ = nullptr;  // of the live ones; set with the address
  void* address_;
};

c10::DeviceAllocator* Allocator();

// The device that holds the storage around an address; RuntimeError where there is none.
int DeviceOfAddress(const void* address);

inline bool OnDevice(const at::TensorBase& tensor) {
  return tensor.device().type() == c10::DeviceType::PrivateUse1;
}

// The device side of a tensor's storage. RuntimeError for a tensor that is not on tpu.
DeviceStorage& StorageOf(const at::Tensor& tensor);

// Resizes in bytes as UntypedStorage.resize_ does: the common prefix is kept.
void ResizeStorage(const c10::Storage& storage, size_t bytes);

// What a program needs to know of a tensor.
exec::TensorView ViewOf(const at::Tensor& tensor);

// True when the tensor is all of its storage, row-major from the first element.
bool IsWholeStorage(const at::Tensor& tensor);

// A storage over a buffer; null: it was not written yet.
c10::Storage NewStorage(exec::BufferRef buffer, int device, int64_t bytes);
// A tensor over a device storage. Empty `strides` mean row-major.
at::Tensor TensorOver(c10::Storage storage, DType dtype, IntArrayRef sizes, IntArrayRef strides,
                      int64_t offset = 0);
// A tensor of its own over a buffer. Empty `strides` mean row-major.
at::Tensor Wrap(exec::BufferRef buffer, IntArrayRef sizes, IntArrayRef strides = {});
// A tensor whose storage holds nothing yet. TypeError for a dtype that XLA cannot hold.
at::Tensor Empty(IntArrayRef sizes, DType dtype, int device,
                 std::optional<c10::MemoryFormat> memory_format = std::nullopt);

}  // namespace torch_tpu::eager
