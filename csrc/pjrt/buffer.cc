#include "pjrt/buffer.h"

#include <cstring>
#include <utility>

#include "pjrt/client.h"
#include "pjrt/element_type.h"

namespace torch_tpu::pjrt {

namespace internal {
void DestroyBuffer(const Client& client, PJRT_Buffer* buffer) noexcept {
  PJRT_CALL_NO_THROW(client.table(), Buffer_Destroy, .buffer = buffer);
}
}  // namespace internal

namespace {

// Above this, the caller's time is worth more than the plugin's latency.
constexpr size_t kMaxInlineCopy = 256 << 10;

// Keeps a buffer's memory from being freed; a launch that would donate it copies it instead.
class ExternalReference {
 public:
  ExternalReference(const PJRT_Api* api, PJRT_Buffer* buffer) : api_(api), buffer_(buffer) {
    PJRT_CALL(api_, Buffer_IncreaseExternalReferenceCount, .buffer = buffer_);
  }
  ExternalReference(const ExternalReference&) = delete;
  ExternalReference& operator=(const ExternalReference&) = delete;
  ~ExternalReference() {
    PJRT_CALL_NO_THROW(api_, Buffer_DecreaseExternalReferenceCount, .buffer = buffer_);
  }

  const void* data() const {
    return PJRT_CALL(api_, Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer_)
        .device_memory_ptr;
  }

 private:
  const PJRT_Api* api_;
  PJRT_Buffer* buffer_;
};

}  // namespace

DType Buffer::dtype() const {
  if (type_known_) return dtype_;
  return FromBufferType(PJRT_CALL(client()->table(), Buffer_ElementType, .buffer = raw()).type);
}

c10::IntArrayRef Buffer::dims() const {
  if (type_known_) return dims_;
  const auto got = PJRT_CALL(client()->table(), Buffer_Dimensions, .buffer = raw());
  return {got.dims, got.num_dims};
}

int Buffer::device_index() const {
  return client()->IndexOf(PJRT_CALL(client()->table(), Buffer_Device, .buffer = raw()).device);
}

// False also where anything is wrong: the plugin's own copy then reports it through its event.
bool Buffer::TryCopyInline(void* dst, size_t bytes) const {
  // An unvouched type may be that of a dynamic array, whose memory is padded.
  if (!type_known_ || !client()->is_host_memory()) return false;
  const size_t size = static_cast<size_t>(NumElements(dims_)) * c10::elementSize(dtype_);
  if (size == 0 || size > kMaxInlineCopy || bytes < size) return false;
  try {
    const Event ready = ReadyEvent();
    if (!ready.IsReady()) return false;
    ready.Await();
    if (on_device_size() != size) return false;
    const ExternalReference reference(client()->table(), raw());
    std::memcpy(dst, reference.data(), size);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Event Buffer::CopyToHost(void* dst, size_t bytes) const {
  if (TryCopyInline(dst, bytes)) return Event();
  // Without a layout the plugin writes in the device's own order, which on a TPU need not be
  // row-major.
  const size_t rank = dims().size();
  Dims minor_to_major(rank);
  for (size_t i = 0; i < rank; ++i) minor_to_major[i] = static_cast<int64_t>(rank - 1 - i);
  PJRT_Buffer_MemoryLayout row_major{
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = minor_to_major.data(),
                .minor_to_major_size = rank},
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
  const auto got =
      PJRT_CALL(client()->table(), Buffer_ToHostBuffer, .src = raw(),
                .host_layout = rank > 1 ? &row_major : nullptr, .dst = dst, .dst_size = bytes);
  return Event(client(), got.event);
}

Buffer Buffer::CopyToDevice(int device_index) const {
  PJRT_Device* device = client()->device(device_index).raw();
  Buffer copy(client(), PJRT_CALL(client()->table(), Buffer_CopyToDevice, .buffer = raw(),
                                  .dst_device = device)
                            .dst_buffer);
  copy.type_known_ = type_known_;
  copy.dtype_ = dtype_;
  copy.dims_ = dims_;
  return copy;
}

Event Buffer::ReadyEvent() const {
  return Event(client(), PJRT_CALL(client()->table(), Buffer_ReadyEvent, .buffer = raw()).event);
}

bool Buffer::IsReady() const { return ReadyEvent().IsReady(); }

size_t Buffer::on_device_size() const {
  return PJRT_CALL(client()->table(), Buffer_OnDeviceSizeInBytes, .buffer = raw())
      .on_device_size_in_bytes;
}

uintptr_t Buffer::UnsafePointer() const {
  return PJRT_CALL(client()->table(), Buffer_UnsafePointer, .buffer = raw()).buffer_pointer;
}

void Buffer::Delete() { PJRT_CALL(client()->table(), Buffer_Delete, .buffer = raw()); }

bool Buffer::IsDeleted() const {
  return PJRT_CALL(client()->table(), Buffer_IsDeleted, .buffer = raw()).is_deleted;
}

}  // namespace torch_tpu::pjrt
