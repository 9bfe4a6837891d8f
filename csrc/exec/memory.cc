#include "exec/memory.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

namespace torch_tpu::exec {
namespace {

std::string Gib(int64_t bytes) {
  if (bytes < (1 << 20)) return fmt::format("{} bytes", bytes);
  if (bytes < (1 << 30)) return fmt::format("{:.2f} MiB", bytes / 1048576.0);
  return fmt::format("{:.2f} GiB", bytes / 1073741824.0);
}

}  // namespace

void DeviceMemory::Allocate(int64_t bytes) {
  const int64_t now = allocated_.fetch_add(bytes) + bytes;
  if (now > limit_) {
    allocated_ -= bytes;
    ++num_ooms_;
    TORCH_CHECK_WITH(
        OutOfMemoryError, false, "tpu: out of memory: expected at most ",
        Gib(limit_ - (now - bytes)), " more on tpu:", device_, ", got ", Gib(bytes), " (",
        Gib(now - bytes), " of ", Gib(limit_),
        " in use). Free tensors, use a smaller batch, or raise TORCH_TPU_MEMORY_LIMIT");
  }
  int64_t peak = peak_;
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
  }
  total_allocated_ += bytes;
  ++num_buffers_;
}

void DeviceMemory::Free(int64_t bytes) {
  allocated_ -= bytes;
  --num_buffers_;
}

}  // namespace torch_tpu::exec
