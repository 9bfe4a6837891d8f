// The current device of a thread, and PyTorch's device guard over devices, streams and events.
#pragma once

namespace torch_tpu::eager {

// 0 in a new thread.
int CurrentDevice();
void SetCurrentDevice(int index);
// RuntimeError that says how many devices there are, for one that does not exist. Starts no plugin.
void CheckDevice(int index);

}  // namespace torch_tpu::eager
