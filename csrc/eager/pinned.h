// Host memory that counts as pinned.
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>

namespace torch_tpu::eager {

c10::Allocator* PinnedAllocator();
// Whether `data` lies in memory of that allocator.
bool IsPinned(const void* data);

}  // namespace torch_tpu::eager
