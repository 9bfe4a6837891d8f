// Counters of what the device did; read through torch.tpu.stats().
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace torch_tpu::exec {

struct Stats {
  std::atomic<int64_t> compiles{0}, compile_microseconds{0}, cache_hits{0}, launches{0};
  std::atomic<int64_t> bytes_to_device{0}, bytes_to_host{0}, bytes_between_devices{0};
  std::atomic<int64_t> synchronizations{0}, fallbacks{0};
  std::atomic<int64_t> flushes{0}, fused_calls{0};
  std::atomic<int64_t> padded_programs{0}, padded_launches{0};
  std::atomic<int64_t> disk_hits{0}, disk_writes{0}, disk_bad_files{0};

  void CountFallback(const std::string& op);
  std::map<std::string, int64_t> fallback_ops() const;
  void Reset();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> fallback_ops_;
};

Stats& GetStats();

}  // namespace torch_tpu::exec
