// Work that was launched on a stream and may not be done. PJRT orders by data; a stream only needs
// to know what to wait for.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "pjrt/event.h"

namespace torch_tpu::exec {

using EventRef = std::shared_ptr<pjrt::Event>;

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
  void DropDone();  // with mutex_ held

  std::mutex mutex_;
  std::deque<EventRef> events_;
};

}  // namespace torch_tpu::exec
