// Work that was launched on a stream and may not be done. PJRT orders by data; a stream only needs
// to know what to wait for.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "base/spin_lock.h"
#include "pjrt/event.h"

namespace torch_tpu::exec {

using EventRef = std::shared_ptr<pjrt::Event>;

// Streams of a device: the default one and those of PyTorch's pool.
inline constexpr int kNumStreams = 33;

class WorkQueue {
 public:
  void Add(pjrt::Event event);
  // Also covers work that was launched elsewhere.
  void Add(EventRef event);
  // Everything launched so far that is not done.
  std::vector<EventRef> Pending();
  bool IsDone();
  // Blocks until everything launched before the call is done. Errors stay with the buffers that
  // carry them and are raised where those are read; this rethrows none.
  void Wait();

 private:
  SpinLock lock_;
  std::deque<pjrt::Event> launched_;  // nobody else knows of these
  std::vector<EventRef> shared_;
};

}  // namespace torch_tpu::exec
