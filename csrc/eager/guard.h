// The current device of a thread. guard.cc also registers PyTorch's device guard, through which
// come device switches, streams and events.
#pragma once

#include <c10/core/Device.h>

namespace torch_tpu::eager {

inline constexpr int kMaxDevices = 128;  // what c10::DeviceIndex can say

// 0 in a new thread.
int CurrentDevice();
void SetCurrentDevice(int index);
// The index of `device`, or the current one where it has none.
int IndexOf(const c10::Device& device);
// RuntimeError that says how many devices there are, for one that does not exist.
void CheckDevice(int index);
// Waits for everything launched on the device, then raises its failed index checks.
void SynchronizeDevice(int index);

}  // namespace torch_tpu::eager
