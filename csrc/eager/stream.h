// Streams: ids into exec::DeviceState::work(). PJRT orders launches by their data, so a stream orders
// nothing by itself; it says what a synchronize or an event has to wait for.
#pragma once

#include <c10/core/Stream.h>

#include <cstdint>

namespace torch_tpu::eager {

// Of the calling thread; 0 is the default stream. A few nanoseconds.
int64_t CurrentStream(int device);
// Returns the one before.
int64_t ExchangeStream(int device, int64_t stream);
// A stream of its own, never handed out twice.
int64_t NewStream(int device);

// RuntimeError unless the stream is one of this device type and of a device that exists.
c10::Stream CheckStream(const c10::Stream& stream);
c10::Stream MakeStream(int device, int64_t stream);

bool QueryStream(const c10::Stream& stream);
// Waits for what was launched on the stream; then raises failed index checks of its device.
void SynchronizeStream(const c10::Stream& stream);

}  // namespace torch_tpu::eager
