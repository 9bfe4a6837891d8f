// Events: what was pending on a stream at one moment, and when the last of it was done.
#pragma once

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/work.h"

namespace torch_tpu::eager {

// May be recorded again; the newest record counts. Callable from several threads.
class Event {
 public:
  explicit Event(bool timing) : timing_(timing) {}

  void Record(const c10::Stream& stream);
  // Makes a later synchronize of `stream` cover the recorded work. Nothing when never recorded.
  void Block(const c10::Stream& stream) const;
  // True when never recorded.
  bool Query() const;
  // Waits for the recorded work, then raises failed index checks of its device.
  void Synchronize() const;
  // Milliseconds between the completion of the work recorded by the two.
  static double ElapsedTime(const Event& start, const Event& end);

 private:
  using Clock = std::chrono::steady_clock;
  // Shared with the completion callbacks, which may outlive the event.
  struct Completion {
    std::atomic<int64_t> remaining;
    std::atomic<Clock::rep> last{0};  // time since the clock's epoch
  };
  struct Snapshot {
    int device = -1;
    std::vector<exec::EventRef> work;
    std::shared_ptr<Completion> completion;  // null without timing
  };

  Snapshot snapshot() const;

  const bool timing_;
  mutable std::mutex mutex_;
  Snapshot snapshot_;  // device -1: never recorded
};

}  // namespace torch_tpu::eager
