// When eager calls are launched.
#pragma once

#include <cstdint>

namespace torch_tpu::exec {

enum class EagerMode : int8_t {
  kFused,     // calls queue up and are launched as one program (fused_queue.h)
  kStrict,    // each call at once, asynchronously
  kBlocking,  // each call is also waited for
};

// Of the whole process; at first what TORCH_TPU_EAGER_MODE says.
EagerMode GetEagerMode();
// Leaving the fused mode launches what is queued.
void SetEagerMode(EagerMode mode);
inline bool IsBlocking() { return GetEagerMode() == EagerMode::kBlocking; }

}  // namespace torch_tpu::exec
