// Events: what was pending on a stream at one moment, and when the last of it was done.
#pragma once

#include <c10/core/Stream.h>

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
  // Makes a later synchronize of `stream` cover the recorded work. Nothing where never recorded.
  // The device needs no telling: a launch waits for the data that it reads.
  void Block(const c10::Stream& stream) const;
  // True where never recorded.
  bool Query() const;
  // Waits for the recorded work, then raises failed index checks of its device.
  void Synchronize() const;
  // Milliseconds between the completions of what the two recorded. ValueError unless both time and
  // were recorded, RuntimeError unless both are done.
  static double ElapsedTime(const Event& start, const Event& end);

 private:
  using Clock = std::chrono::steady_clock;
  // Shared with the plugin's callbacks, which may outlive the event.
  struct Completion {
    std::atomic<size_t> remaining;
    std::atomic<Clock::rep> last;  // when the latest so far was done
  };
  struct Snapshot {
    int device = -1;  // -1: never recorded
    std::vector<exec::EventRef> work;
    std::shared_ptr<Completion> completion;  // null without timing
  };

  Snapshot snapshot() const;
  static bool IsDone(const Snapshot& snapshot);
  static std::shared_ptr<Completion> Watch(const std::vector<exec::EventRef>& work);

  const bool timing_;
  mutable std::mutex mutex_;
  Snapshot snapshot_;
};

}  // namespace torch_tpu::eager
