// An array whose contents come later from the host: programs that read it may be launched at once,
// and run when it is filled.
#pragma once

#include <memory>
#include <string_view>

#include "base/dtype.h"
#include "base/shape.h"
#include "pjrt/buffer.h"
#include "pjrt/handle.h"
#include "pjrt_c_api.h"

namespace torch_tpu::pjrt {

namespace internal {
void DestroyTransferManager(const Client& client,
                            PJRT_AsyncHostToDeviceTransferManager* manager) noexcept;
}

// Ends with exactly one of Complete, Transfer and Fail; dropped before, the array never gets ready.
class PendingBuffer {
 public:
  // pjrt::Error UNIMPLEMENTED where the plugin cannot do it.
  PendingBuffer(std::shared_ptr<Client> client, DType dtype, c10::IntArrayRef dims,
                int device_index);

  // The array; to be called once.
  Buffer Take();
  // Where to write the elements in row-major order, for a client with is_host_memory(). Valid until
  // Complete or Fail, even when the array itself was dropped or donated: both wait for the
  // contents.
  void* data() const { return data_; }
  // After the elements were written to data().
  void Complete();
  // Copies all elements from host memory, which must stay until the event is ready.
  Event Transfer(const void* data, size_t bytes);
  // Whatever reads the array gets this error.
  void Fail(PJRT_Error_Code code, std::string_view message);

 private:
  Handle<PJRT_AsyncHostToDeviceTransferManager, internal::DestroyTransferManager> manager_;
  Buffer buffer_;
  void* data_ = nullptr;
};

}  // namespace torch_tpu::pjrt
