#include "exec/eager_mode.h"

#include <atomic>

#include "base/settings.h"
#include "exec/fused_queue.h"

namespace torch_tpu::exec {
namespace {

constexpr int8_t kUnknown = -1;
std::atomic<int8_t> g_mode{kUnknown};

EagerMode ModeOfSetting() {
  const std::string& mode = GetSettings().eager_mode;
  if (mode == "fused") return EagerMode::kFused;
  return mode == "blocking" ? EagerMode::kBlocking : EagerMode::kStrict;
}

}  // namespace

EagerMode GetEagerMode() {
  int8_t mode = g_mode.load(std::memory_order_relaxed);
  if (mode == kUnknown) [[unlikely]]
    g_mode = mode = static_cast<int8_t>(ModeOfSetting());
  return static_cast<EagerMode>(mode);
}

void SetEagerMode(EagerMode mode) {
  const bool was_fused = GetEagerMode() == EagerMode::kFused;
  g_mode = static_cast<int8_t>(mode);
  if (was_fused && mode != EagerMode::kFused) FusedQueue::FlushAll();
}

}  // namespace torch_tpu::exec
