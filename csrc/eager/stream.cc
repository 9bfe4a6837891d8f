#include "eager/stream.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <array>
#include <atomic>
#include <utility>

#include "eager/guard.h"
#include "exec/fused_queue.h"
#include "exec/runtime.h"

namespace torch_tpu::eager {
namespace {

constexpr c10::DeviceType kTpu = c10::DeviceType::PrivateUse1;

thread_local std::array<int64_t, kMaxDevices> current_streams{};
std::array<std::atomic<uint32_t>, kMaxDevices> streams_handed_out{};

// A launch holds its buffers until it is done, so there is nothing to remember.
void RecordStream(at::Tensor& self, c10::Stream stream) { CheckStream(stream); }

}  // namespace

int64_t CurrentStream(int device) { return current_streams[device]; }

int64_t ExchangeStream(int device, int64_t stream) {
  return std::exchange(current_streams[device], stream);
}

int64_t NewStream(int device) {
  CheckDevice(device);
  return 1 + streams_handed_out[device].fetch_add(1) % kStreamsInPool;
}

void CheckStream(const c10::Stream& stream) {
  TORCH_CHECK(stream.device_type() == kTpu, "Stream: expected one of device type ",
              c10::DeviceTypeName(kTpu), ", got ", stream);
  CheckDevice(stream.device_index());
  TORCH_CHECK(stream.id() >= 0 && stream.id() <= kStreamsInPool,
              "Stream: expected an id from 0 to ", kStreamsInPool, ", got ", stream.id());
}

c10::Stream MakeStream(int device, int64_t stream) {
  CheckDevice(device);
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kTpu, static_cast<c10::DeviceIndex>(device)),
                     stream);
}

bool QueryStream(const c10::Stream& stream) {
  CheckStream(stream);
  if (!exec::Runtime::IsStarted()) return true;
  exec::FusedQueue::FlushAll();
  return exec::Runtime::Get().device(stream.device_index()).work(stream.id()).IsDone();
}

void SynchronizeStream(const c10::Stream& stream) {
  CheckStream(stream);
  if (!exec::Runtime::IsStarted()) return;
  exec::FusedQueue::FlushAll();
  exec::DeviceState& device = exec::Runtime::Get().device(stream.device_index());
  device.work(stream.id()).Wait();
  device.RaiseFailedChecks();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("record_stream", &RecordStream); }

}  // namespace torch_tpu::eager
