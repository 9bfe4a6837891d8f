#include "distributed/host_array.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Logging.h>

#include "eager/row_call.h"
#include "eager/storage.h"
#include "exec/stats.h"
#include "pjrt/error.h"

namespace torch_tpu::distributed {
namespace {

at::Tensor RowMajor(const at::Tensor& tensor) {
  at::Tensor t = tensor;
  if (t.is_conj() || t.is_neg()) t = t.resolve_conj().resolve_neg();
  if (t.is_contiguous()) {
    const exec::BufferRef buffer = eager::StorageOf(t).Load();
    if (buffer == nullptr || buffer->type().dtype == t.scalar_type()) return t;
  }
  return eager::RowCall("tpu::identity", t.device().index()).Tensor(t).Run()[0];
}

at::Tensor Blob(void* data, IntArrayRef sizes, DType dtype, std::shared_ptr<void> owner) {
  return at::from_blob(
      data, sizes, [owner = std::move(owner)](void*) {}, at::TensorOptions().dtype(dtype));
}

}  // namespace

at::Tensor Bytes(const at::Tensor& tensor) { return tensor.reshape({-1}).view(at::kByte); }

HostInput::HostInput(const at::Tensor& tensor)
    : sizes_(tensor.sizes().vec()), dtype_(tensor.scalar_type()), numel_(tensor.numel()) {
  const at::Tensor compact = RowMajor(tensor);
  buffer_ = eager::StorageOf(compact).Load();
  byte_offset_ = compact.storage_offset() * static_cast<int64_t>(compact.itemsize());
  if (buffer_ != nullptr) buffer_->raw();  // raises inside a recording, where there is no array
}

bool HostInput::IsReady() const { return buffer_ == nullptr || buffer_->buffer().IsReady(); }

at::Tensor HostInput::Get() const {
  const auto options = at::TensorOptions().dtype(dtype_);
  if (buffer_ == nullptr || numel_ == 0) return at::zeros(sizes_, options);
  try {
    const pjrt::Buffer& buffer = buffer_->buffer();
    buffer.ReadyEvent().Await();
    if (buffer.client()->is_host_memory()) {
      return Blob(reinterpret_cast<char*>(buffer.UnsafePointer()) + byte_offset_, sizes_, dtype_,
                  buffer_);
    }
    at::Tensor all = at::empty({buffer_->bytes()}, at::kByte);
    buffer.CopyToHost(all.mutable_data_ptr(), all.nbytes()).Await();
    exec::GetStats().bytes_to_host += buffer_->bytes();
    return Blob(all.mutable_data_ptr<uint8_t>() + byte_offset_, sizes_, dtype_,
                std::make_shared<at::Tensor>(all));
  } catch (const pjrt::Error& error) {
    pjrt::ThrowAsTorchError(error, buffer_->producer());
  }
}

HostOutput::HostOutput(const at::Tensor& tensor, const char* producer) {
  const Dims sizes(tensor.sizes());
  const DType dtype = tensor.scalar_type();
  if (tensor.numel() == 0) {
    host_ = at::empty(sizes, at::TensorOptions().dtype(dtype));
    return;
  }
  TORCH_CHECK(!tensor.is_conj() && !tensor.is_neg(), producer,
              ": expected an output without lazy conjugation or negation. Call resolve_conj() or "
              "resolve_neg()");
  exec::Runtime& runtime = exec::Runtime::Get();
  const int device = tensor.device().index();
  const hlo::Type type{dtype, sizes};
  const int64_t bytes = exec::BytesOf(type);
  runtime.device(device).memory.Allocate(bytes);
  try {
    pending_ = std::make_unique<pjrt::PendingBuffer>(runtime.shared_client(), dtype, sizes, device);
  } catch (const pjrt::Error& error) {
    runtime.device(device).memory.Free(bytes);
    pjrt::ThrowAsTorchError(error, producer);
  }
  buffer_ = std::make_shared<exec::DeviceBuffer>(pending_->Take(), type, device, producer);
  host_ = pending_->data() == nullptr ? at::empty(sizes, at::TensorOptions().dtype(dtype))
                                      : Blob(pending_->data(), sizes, dtype, buffer_);
  if (eager::IsWholeStorage(tensor)) {
    eager::StorageOf(tensor).Store(buffer_);
  } else {
    // Held, so that it is not donated: dropping a donated buffer waits for the launch that took it,
    // which waits for this output, whose collective has not begun.
    const exec::BufferRef before = eager::StorageOf(tensor).Load();
    eager::RowCall("tpu::identity", device).Tensor(eager::Wrap(buffer_, sizes)).RunInto(tensor);
  }
}

HostOutput::~HostOutput() { Fail("dropped before it was done"); }

bool HostOutput::IsFirst() {
  const std::lock_guard lock(mutex_);
  return pending_ != nullptr && !std::exchange(is_done_, true);
}

void HostOutput::Complete() {
  if (!IsFirst()) return;
  if (pending_->data() != nullptr) {
    pending_->Complete();
  } else {
    pending_->Transfer(host_.const_data_ptr(), host_.nbytes()).Await();
    exec::GetStats().bytes_to_device += static_cast<int64_t>(host_.nbytes());
  }
  host_.reset();
  buffer_.reset();
}

void HostOutput::Fail(const std::string& message) {
  if (!IsFirst()) return;
  // host() stays: a thread that is stuck in a collective may still write there.
  try {
    pending_->Fail(PJRT_Error_Code_UNAVAILABLE, message);
  } catch (const pjrt::Error& error) {
    LOG(ERROR) << buffer_->producer() << ": " << error.what();
  }
}

}  // namespace torch_tpu::distributed
