#include "pjrt/fork_guard.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <mutex>

namespace torch_tpu::pjrt {

namespace internal {
std::atomic<bool> in_forked_child{false};
}

void ThrowInForkedChild() {
  C10_THROW_ERROR(Error,
                  "Cannot access or re-initialize TPU in a forked subprocess. To use TPU with "
                  "multiprocessing, you must use the 'spawn' start method");
}

void ArmForkGuard() {
  static std::once_flag once;
  std::call_once(once, [] {
    const int status = pthread_atfork(
        nullptr, nullptr, [] { internal::in_forked_child.store(true, std::memory_order_relaxed); });
    TORCH_CHECK(status == 0, "pthread_atfork: expected status 0, got ", status);
  });
}

}  // namespace torch_tpu::pjrt
