// A lock for sections of a few instructions that threads rarely share: half the price of a mutex
// where nobody else holds it.
#pragma once

#include <atomic>
#include <thread>

namespace torch_tpu {

// Lockable, for std::lock_guard.
class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace torch_tpu
