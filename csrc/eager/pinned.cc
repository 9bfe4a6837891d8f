#include "eager/pinned.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace torch_tpu::eager {
namespace {

constexpr size_t kPage = 4096;  // what a device's DMA engine can take without a copy

// Page-aligned host memory. Copies to a device read it before they return, and copies from it are
// waited for, so freeing needs to wait for no stream.
class PinnedMemory final : public at::HostAllocator {
 public:
  static PinnedMemory& Get() {
    static PinnedMemory& memory = *std::make_unique<PinnedMemory>().release();  // outlives tensors
    return memory;
  }

  c10::DataPtr allocate(size_t bytes) override {
    void* data = nullptr;
    if (bytes > 0) {
      const size_t size = (bytes + kPage - 1) / kPage * kPage;
      data = std::aligned_alloc(kPage, size);
      TORCH_CHECK_WITH(OutOfMemoryError, data != nullptr, "pin_memory: expected room for ", bytes,
                       " bytes of host memory, got none");
      const std::unique_lock lock(mutex_);
      blocks_.emplace(reinterpret_cast<uintptr_t>(data), size);
      stats_.active_requests.increase(1);
      stats_.active_bytes.increase(size);
      stats_.allocations.increase(1);
      stats_.allocated_bytes.increase(size);
      ++stats_.num_host_alloc;
    }
    return {data, data, &Free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

  bool Holds(const void* data) const {
    const auto address = reinterpret_cast<uintptr_t>(data);
    const std::shared_lock lock(mutex_);
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return false;
    --block;
    return address < block->first + block->second;
  }

  bool record_event(void* data, void*, c10::Stream) override { return Holds(data); }
  void empty_cache() override {}  // freed memory goes back at once
  at::HostStats get_stats() override {
    const std::shared_lock lock(mutex_);
    return stats_;
  }
  void reset_accumulated_stats() override {
    const std::unique_lock lock(mutex_);
    ForEachStat([](c10::CachingAllocator::Stat& stat) { stat.reset_accumulated(); });
    stats_.num_host_alloc = stats_.num_host_free = 0;
  }
  void reset_peak_stats() override {
    const std::unique_lock lock(mutex_);
    ForEachStat([](c10::CachingAllocator::Stat& stat) { stat.reset_peak(); });
  }

 private:
  static void Free(void* data) {
    if (data == nullptr) return;
    PinnedMemory& self = Get();
    {
      const std::unique_lock lock(self.mutex_);
      const auto block = self.blocks_.find(reinterpret_cast<uintptr_t>(data));
      self.stats_.active_requests.decrease(1);
      self.stats_.active_bytes.decrease(block->second);
      self.stats_.allocations.decrease(1);
      self.stats_.allocated_bytes.decrease(block->second);
      ++self.stats_.num_host_free;
      self.blocks_.erase(block);
    }
    std::free(data);
  }

  template <class F>
  void ForEachStat(F f) {
    for (auto* stat : {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations,
                       &stats_.allocated_bytes}) {
      f(*stat);
    }
  }

  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, size_t> blocks_;  // start to size
  at::HostStats stats_;
};

const at::HostAllocatorRegistry<c10::DeviceType::PrivateUse1> registered(&PinnedMemory::Get());

}  // namespace

c10::Allocator* PinnedAllocator() { return &PinnedMemory::Get(); }

bool IsPinned(const void* data) { return PinnedMemory::Get().Holds(data); }

}  // namespace torch_tpu::eager
