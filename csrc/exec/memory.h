// What each device holds, counted at the buffers, and the limit that turns into OutOfMemoryError.
#pragma once

#include <atomic>
#include <cstdint>

namespace torch_tpu::exec {

class DeviceMemory {
 public:
  // Reserves room for `bytes`; torch.OutOfMemoryError with sizes and advice when the device is
  // full.
  void Allocate(int64_t bytes);
  void Free(int64_t bytes);

  int64_t allocated() const { return allocated_; }
  int64_t peak() const { return peak_; }
  int64_t num_buffers() const { return num_buffers_; }
  int64_t total_allocated() const { return total_allocated_; }
  int64_t num_ooms() const { return num_ooms_; }
  int64_t limit() const { return limit_; }
  void ResetPeak() { peak_ = allocated_.load(); }
  void ResetAccumulated() { total_allocated_ = 0, num_ooms_ = 0; }
  void set_limit(int64_t bytes) { limit_ = bytes; }
  void set_device(int index) { device_ = index; }

 private:
  int device_ = 0;
  std::atomic<int64_t> allocated_{0}, peak_{0}, num_buffers_{0}, total_allocated_{0}, num_ooms_{0};
  std::atomic<int64_t> limit_{INT64_MAX};
};

}  // namespace torch_tpu::exec
