// Streams: ids into exec::DeviceState::work(). PJRT orders launches by their data, so a stream
// orders nothing by itself; it says what a synchronize or an event has to wait for.
#pragma once

#include <c10/core/Stream.h>

#include <cstdint>

#include "exec/work.h"

namespace torch_tpu::eager {

// New streams come from a pool of this many per device, as on CUDA; 0 is the default stream.
inline constexpr int64_t kStreamsInPool = exec::kNumStreams - 1;

// Of the calling thread; 0 in a new thread. A few nanoseconds.
int64_t CurrentStream(int device);
// Returns the one before.
int64_t ExchangeStream(int device, int64_t stream);
// The next of the pool, in turn.
int64_t NewStream(int device);

// RuntimeError unless it is a stream of a tpu device that exists.
void CheckStream(const c10::Stream& stream);
c10::Stream MakeStream(int device, int64_t stream);

bool QueryStream(const c10::Stream& stream);
// Waits for what was launched on the stream; then raises failed index checks of its device.
void SynchronizeStream(const c10::Stream& stream);

}  // namespace torch_tpu::eager
