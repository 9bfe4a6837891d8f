// Threads for work that blocks on other processes.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace torch_tpu::distributed {

// Runs the task on a thread of its own; threads that are done are used again. Tasks must not throw.
// Threads are never joined: one that waits for a dead process must not keep this one from ending.
void RunOnThread(std::function<void()> task);

// Runs tasks one after another in the order in which they came, on one such thread at a time.
class Strand : public std::enable_shared_from_this<Strand> {
 public:
  void Add(std::function<void()> task);

 private:
  void Drain();

  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;
  bool running_ = false;
};

}  // namespace torch_tpu::distributed
