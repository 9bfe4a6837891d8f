#include "exec/stats.h"

namespace torch_tpu::exec {

void Stats::CountFallback(const std::string& op) {
  ++fallbacks;
  const std::lock_guard lock(mutex_);
  ++fallback_ops_[op];
}

std::map<std::string, int64_t> Stats::fallback_ops() const {
  const std::lock_guard lock(mutex_);
  return fallback_ops_;
}

void Stats::Reset() {
  for (auto* counter :
       {&compiles, &compile_microseconds, &cache_hits, &launches, &bytes_to_device, &bytes_to_host,
        &bytes_between_devices, &synchronizations, &fallbacks, &flushes, &fused_calls,
        &padded_programs, &padded_launches, &disk_hits, &disk_writes, &disk_bad_files}) {
    *counter = 0;
  }
  const std::lock_guard lock(mutex_);
  fallback_ops_.clear();
}

Stats& GetStats() {
  static Stats& stats = *new Stats();  // outlives everything that counts
  return stats;
}

}  // namespace torch_tpu::exec
