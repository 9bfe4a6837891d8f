// A plugin's threads do not survive fork(), so a child must not touch the plugin: its calls throw
// and its destructors leak. Only forks that happen after the first client was created count.
#pragma once

#include <atomic>

namespace torch_tpu::pjrt {

namespace internal {
extern std::atomic<bool> in_forked_child;
}

inline bool InForkedChild() { return internal::in_forked_child.load(std::memory_order_relaxed); }

[[noreturn]] void ThrowInForkedChild();

inline void CheckNotForked() {
  if (InForkedChild()) [[unlikely]]
    ThrowInForkedChild();
}

// Called when a client comes into being. Idempotent and thread-safe.
void ArmForkGuard();

}  // namespace torch_tpu::pjrt
