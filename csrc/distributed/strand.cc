#include "distributed/strand.h"

#include <condition_variable>
#include <thread>
#include <utility>

namespace torch_tpu::distributed {
namespace {

class Threads {
 public:
  void Run(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (idle_ >= tasks_.size()) {
      wake_.notify_one();
    } else {
      std::thread([this] { Loop(); }).detach();
    }
  }

 private:
  void Loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      while (tasks_.empty()) {
        ++idle_;
        wake_.wait(lock);
        --idle_;
      }
      {
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
      }  // what the task holds dies outside the lock
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  size_t idle_ = 0;
};

}  // namespace

void RunOnThread(std::function<void()> task) {
  static Threads& threads = *new Threads();  // its threads outlive static objects
  threads.Run(std::move(task));
}

void Strand::Add(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (std::exchange(running_, true)) return;
  }
  RunOnThread([self = shared_from_this()] { self->Drain(); });
}

void Strand::Drain() {
  while (true) {
    std::function<void()> task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) {
        running_ = false;
        return;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace torch_tpu::distributed
