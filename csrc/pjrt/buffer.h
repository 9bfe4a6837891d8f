// One array in a device's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/dtype.h"
#include "base/shape.h"
#include "pjrt/event.h"
#include "pjrt/handle.h"
#include "pjrt_c_api.h"

namespace torch_tpu::pjrt {

namespace internal {
void DestroyBuffer(const Client& client, PJRT_Buffer* buffer) noexcept;
}

class Buffer {
 public:
  Buffer() = default;
  // Takes ownership. The caller vouches for dtype and dims: nothing is asked of the plugin. Not for
  // an output with a dynamic dimension, unless `dims` are its true sizes.
  Buffer(std::shared_ptr<Client> client, PJRT_Buffer* raw, DType dtype, c10::IntArrayRef dims)
      : handle_(std::move(client), raw),
        type_known_(true),
        dtype_(dtype),
        dims_(dims.begin(), dims.end()) {}
  // Takes ownership. dtype() and dims() ask the plugin at each call.
  Buffer(std::shared_ptr<Client> client, PJRT_Buffer* raw) : handle_(std::move(client), raw) {}

  PJRT_Buffer* raw() const { return handle_.get(); }
  explicit operator bool() const { return static_cast<bool>(handle_); }
  const std::shared_ptr<Client>& client() const { return handle_.client(); }
  // Gives the raw buffer away, e.g. to a launch that owns its arguments.
  PJRT_Buffer* Release() { return handle_.Release(); }

  DType dtype() const;
  // Valid as long as this object.
  c10::IntArrayRef dims() const;
  // The position in Client::devices(). Asks the plugin.
  int device_index() const;

  // Copies all elements to `dst`, row-major, whatever the device's layout. `bytes` must be at least
  // what the array takes. `dst` must stay alive until the event is ready; the buffer may be dropped
  // before. Errors of the copy and of what computes the buffer come with the event. Does not wait
  // for the contents; a small array that is ready in host memory is copied here and now, since the
  // plugin's thread would take 30 us to do it.
  Event CopyToHost(void* dst, size_t bytes) const;
  // To another device of the client; within one device it is a true copy too.
  Buffer CopyToDevice(int device_index) const;

  // Ready when the contents are; carries the error of the program that computes them.
  Event ReadyEvent() const;
  bool IsReady() const;
  size_t on_device_size() const;
  // The address on the device. For the CPU plugin a host pointer, valid while the buffer lives and
  // is neither donated nor deleted.
  uintptr_t UnsafePointer() const;

  // Frees the device memory when work under way is done. The object stays, unusable.
  void Delete();
  // True after Delete and after donation.
  bool IsDeleted() const;

 private:
  bool TryCopyInline(void* dst, size_t bytes) const;

  Handle<PJRT_Buffer, internal::DestroyBuffer> handle_;
  bool type_known_ = false;
  DType dtype_ = DType::Undefined;
  Dims dims_;
};

}  // namespace torch_tpu::pjrt
