// PyTorch's hooks for the device: what generic code asks of an accelerator.
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <torch/library.h>

#include <exception>
#include <memory>

#include "eager/generator.h"
#include "eager/guard.h"
#include "eager/pinned.h"
#include "eager/storage.h"
#include "exec/runtime.h"

namespace torch_tpu::eager {

namespace {

using c10::DeviceIndex;

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  // Neither throws nor starts the plugin, as PyTorch asks.
  bool isAvailable() const override {
    try {
      return exec::Runtime::DeviceCount() > 0;
    } catch (const std::exception&) {
      return false;
    }
  }
  bool hasPrimaryContext(DeviceIndex index) const override {
    return exec::Runtime::IsStarted() && index < exec::Runtime::DeviceCount();
  }

  DeviceIndex deviceCount() const override {
    return static_cast<DeviceIndex>(exec::Runtime::DeviceCount());
  }
  DeviceIndex getCurrentDevice() const override {
    return static_cast<DeviceIndex>(CurrentDevice());
  }
  void setCurrentDevice(DeviceIndex index) const override { SetCurrentDevice(index); }
  DeviceIndex exchangeDevice(DeviceIndex index) const override {
    const DeviceIndex before = getCurrentDevice();
    SetCurrentDevice(index);
    return before;
  }
  // -1 stands for "none was set before".
  DeviceIndex maybeExchangeDevice(DeviceIndex index) const override {
    return index < 0 ? getCurrentDevice() : exchangeDevice(index);
  }

  const at::Generator& getDefaultGenerator(DeviceIndex index) const override {
    return DefaultGenerator(index < 0 ? CurrentDevice() : index);
  }
  at::Generator getNewGenerator(DeviceIndex index) const override {
    return NewGenerator(index < 0 ? CurrentDevice() : index);
  }

  at::Device getDeviceFromPtr(void* data) const override {
    return {c10::DeviceType::PrivateUse1, static_cast<DeviceIndex>(DeviceOfAddress(data))};
  }

  bool isPinnedPtr(const void* data) const override { return IsPinned(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return PinnedAllocator(); }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    ResizeStorage(storage, bytes);
  }
};

// One TensorImpl may take the place of another: a Parameter stays the same object, and weights stay
// tied, when its module moves here. PyTorch says so itself for the devices that it knows.
bool HasCompatibleShallowCopyType(const at::Tensor& self, const at::Tensor& from) {
  const c10::DispatchKeySet keys = self.key_set(), from_keys = from.key_set();
  const auto is_dense = [](c10::DispatchKeySet keys) {
    constexpr c10::DispatchKeySet backends(
        {c10::BackendComponent::CPUBit, c10::BackendComponent::PrivateUse1Bit});
    return keys.has_any(c10::DispatchKeySet(c10::DispatchKey::Dense)) && keys.has_any(backends);
  };
  return keys == from_keys || (is_dense(keys) && is_dense(from_keys));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_has_compatible_shallow_copy_type", &HasCompatibleShallowCopyType);
}

const bool registered = [] {
  at::RegisterPrivateUse1HooksInterface(std::make_unique<Hooks>().release());  // never freed
  return true;
}();

}  // namespace
}  // namespace torch_tpu::eager
