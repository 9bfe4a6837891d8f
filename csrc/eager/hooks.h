// PyTorch's hooks for the device, and the host memory that counts as pinned.
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>

namespace torch_tpu::eager {

// Host memory of which IsPinned knows.
c10::Allocator* PinnedAllocator();
bool IsPinned(const void* data);

// Bytes of pinned host memory in use, and the most there ever were since the last reset.
struct PinnedStats {
  int64_t allocated;
  int64_t peak;
  int64_t num_blocks;
};
PinnedStats GetPinnedStats();

}  // namespace torch_tpu::eager
