#include "eager/guard.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <exception>
#include <memory>

#include "base/dtype.h"
#include "eager/event.h"
#include "eager/stream.h"
#include "exec/fused_queue.h"
#include "exec/runtime.h"

namespace torch_tpu::eager {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

constexpr c10::DeviceType kTpu = c10::DeviceType::PrivateUse1;

thread_local int current_device = 0;

int ExchangeDevice(int index) {
  const int before = current_device;
  if (index != before) SetCurrentDevice(index);
  return before;
}

class GuardImpl final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kTpu; }

  Device exchangeDevice(Device device) const override {
    return Device(kTpu, static_cast<DeviceIndex>(ExchangeDevice(IndexOf(device))));
  }
  Device getDevice() const override {
    return Device(kTpu, static_cast<DeviceIndex>(current_device));
  }
  void setDevice(Device device) const override { ExchangeDevice(IndexOf(device)); }
  void uncheckedSetDevice(Device device) const noexcept override {
    if (device.has_index()) current_device = device.index();
  }

  DeviceIndex deviceCount() const noexcept override {
    try {
      return static_cast<DeviceIndex>(exec::Runtime::DeviceCount());
    } catch (const std::exception&) {
      return 0;  // a setting that does not parse: the first use of the device says so
    }
  }

  c10::DeviceCapability getDeviceCapability(Device) const override {
    c10::DeviceCapability capability, one;
    uint64_t bits = 0;
    for (size_t i = 0; i < c10::NUMBER_OF_DEVICE_CAPABILITIES; ++i) {
      one.capability_data.capability_bits = 1ULL << i;
      one.forEachSupportedScalarType([&](DType dtype) {
        if (IsSupportedDType(dtype)) bits |= 1ULL << i;
      });
    }
    capability.capability_data.capability_bits = bits;
    return capability;
  }

  Stream getStream(Device device) const override {
    const int index = IndexOf(device);
    return MakeStream(index, CurrentStream(index));
  }
  Stream getDefaultStream(Device device) const override { return MakeStream(IndexOf(device), 0); }
  Stream getStreamFromGlobalPool(Device device, bool) const override {
    const int index = IndexOf(device);
    return MakeStream(index, NewStream(index));
  }
  Stream getNewStream(Device device, int) const override {
    const int index = IndexOf(device);
    return MakeStream(index, NewStream(index));
  }
  Stream exchangeStream(Stream stream) const override {
    CheckStream(stream);
    return MakeStream(stream.device_index(), ExchangeStream(stream.device_index(), stream.id()));
  }
  bool queryStream(const Stream& stream) const override { return QueryStream(stream); }
  void synchronizeStream(const Stream& stream) const override { SynchronizeStream(stream); }

  // PyTorch keeps an event as an opaque pointer and hands it back to destroyEvent.
  void record(void** event, const Stream& stream, const DeviceIndex device_index,
              const c10::EventFlag flag) const override {
    TORCH_CHECK(
        device_index == -1 || device_index == stream.device_index(),
        "Event.record: expected a stream of tpu:", int{device_index},
        ", where the event was recorded first, got one of tpu:", int{stream.device_index()});
    if (*event == nullptr) {
      TORCH_CHECK(flag != c10::EventFlag::INVALID, "Event.record: expected a valid flag");
      *event = std::make_unique<Event>(flag == c10::EventFlag::BACKEND_DEFAULT).release();
    }
    static_cast<Event*>(*event)->Record(stream);
  }
  void destroyEvent(void* event, const DeviceIndex) const noexcept override {
    std::unique_ptr<Event>(static_cast<Event*>(event)).reset();
  }
  void block(void* event, const Stream& stream) const override {
    if (event != nullptr) static_cast<Event*>(event)->Block(stream);
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || static_cast<Event*>(event)->Query();
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) static_cast<Event*>(event)->Synchronize();
  }
  double elapsedTime(void* start, void* end, const DeviceIndex) const override {
    TORCH_CHECK_VALUE(start != nullptr && end != nullptr,
                      "Event.elapsed_time: expected two recorded events");
    return Event::ElapsedTime(*static_cast<Event*>(start), *static_cast<Event*>(end));
  }

  void synchronizeDevice(const DeviceIndex index) const override {
    SynchronizeDevice(index < 0 ? current_device : index);
  }

  // recordDataPtrOnStream stays a no-op: a launch holds its buffers until it is done, whatever the
  // stream, and PJRT reuses no memory before that.
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, GuardImpl)

}  // namespace

int CurrentDevice() { return current_device; }

void SetCurrentDevice(int index) {
  CheckDevice(index);
  current_device = index;
}

int IndexOf(const c10::Device& device) {
  TORCH_INTERNAL_ASSERT(device.type() == kTpu, "expected a tpu device, got ", device);
  return device.has_index() ? device.index() : current_device;
}

void CheckDevice(int index) {
  int count = exec::Runtime::DeviceCount();
  if (index >= 0 && index < count) [[likely]]
    return;
  // Before the start the count is a guess, and the start says best why there is no device at all.
  if (index >= 0 && !exec::Runtime::IsStarted()) count = exec::Runtime::Get().device_count();
  TORCH_CHECK(index >= 0 && index < count, "tpu: expected a device index from 0 to ", count - 1,
              ", got ", index, ". There ", count == 1 ? "is 1 device" : "are ",
              count == 1 ? "" : std::to_string(count) + " devices",
              " (TORCH_TPU_NUM_DEVICES sets how many the CPU plugin offers)");
}

void SynchronizeDevice(int index) {
  CheckDevice(index);
  exec::FusedQueue::FlushAll();
  if (exec::Runtime::IsStarted()) exec::Runtime::Get().device(index).Synchronize();
}

}  // namespace torch_tpu::eager
