#include "pjrt/pending_buffer.h"

#include <utility>

#include "pjrt/client.h"
#include "pjrt/element_type.h"

namespace torch_tpu::pjrt {

namespace internal {
void DestroyTransferManager(const Client& client,
                            PJRT_AsyncHostToDeviceTransferManager* manager) noexcept {
  PJRT_CALL_NO_THROW(client.table(), AsyncHostToDeviceTransferManager_Destroy,
                     .transfer_manager = manager);
}
}  // namespace internal

PendingBuffer::PendingBuffer(std::shared_ptr<Client> client, DType dtype, c10::IntArrayRef dims,
                             int device_index) {
  const PJRT_Api* table = client->table();
  PJRT_ShapeSpec shape{.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                       .dims = dims.data(),
                       .num_dims = dims.size(),
                       .element_type = ToBufferType(dtype)};
  const auto made = PJRT_CALL(table, Client_CreateBuffersForAsyncHostToDevice,
                              .client = client->raw(), .shape_specs = &shape, .num_shape_specs = 1,
                              .memory = client->device(device_index).default_memory().raw());
  manager_ = {client, made.transfer_manager};
  const auto got = PJRT_CALL(table, AsyncHostToDeviceTransferManager_RetrieveBuffer,
                             .transfer_manager = manager_.get(), .buffer_index = 0);
  buffer_ = Buffer(client, got.buffer_out, dtype, dims);
  if (client->is_host_memory()) data_ = reinterpret_cast<void*>(buffer_.UnsafePointer());
}

Buffer PendingBuffer::Take() { return std::move(buffer_); }

void PendingBuffer::Complete() {
  const auto got =
      PJRT_CALL(manager_.client()->table(), AsyncHostToDeviceTransferManager_TransferData,
                .transfer_manager = manager_.get(), .buffer_index = 0, .data = data_, .offset = 0,
                .transfer_size = 0, .is_last_transfer = true);
  internal::DestroyEvent(*manager_.client(), got.done_with_h2d_transfer);
}

Event PendingBuffer::Transfer(const void* data, size_t bytes) {
  const auto got =
      PJRT_CALL(manager_.client()->table(), AsyncHostToDeviceTransferManager_TransferData,
                .transfer_manager = manager_.get(), .buffer_index = 0, .data = data, .offset = 0,
                .transfer_size = static_cast<int64_t>(bytes), .is_last_transfer = true);
  return Event(manager_.client(), got.done_with_h2d_transfer);
}

void PendingBuffer::Fail(PJRT_Error_Code code, std::string_view message) {
  PJRT_CALL(manager_.client()->table(), AsyncHostToDeviceTransferManager_SetBufferError,
            .transfer_manager = manager_.get(), .buffer_index = 0, .error_code = code,
            .error_message = message.data(), .error_message_size = message.size());
}

}  // namespace torch_tpu::pjrt
