#include "eager/storage.h"

#include <ATen/EmptyTensor.h>
#include <c10/util/ScopeExit.h>
#include <sys/mman.h>

#include <array>
#include <bit>

#include "eager/guard.h"
#include "eager/row_call.h"
#include "exec/fused_queue.h"

namespace torch_tpu::eager {

// Hands out addresses that nothing is mapped at. Blocks are powers of two, reused last in first
// out.
class AddressSpace {
 public:
  void* Take(int64_t bytes, DeviceStorage* owner) {
    if (bytes == 0) return nullptr;
    const std::lock_guard lock(lock_);
    void* address = Block(bytes);
    owner->next_ = first_;
    if (first_ != nullptr) first_->previous_ = owner;
    first_ = owner;
    return address;
  }

  void Give(DeviceStorage* owner) {
    if (owner->address() == nullptr) return;
    const std::lock_guard lock(lock_);
    (owner->previous_ == nullptr ? first_ : owner->previous_->next_) = owner->next_;
    if (owner->next_ != nullptr) owner->next_->previous_ = owner->previous_;
    free_[Order(owner->bytes())].push_back(owner->address());
  }

  // The storage that the address lies in; nullptr where there is none. Looks at every storage.
  DeviceStorage* OwnerAround(const void* address) {
    const std::lock_guard lock(lock_);
    for (DeviceStorage* owner = first_; owner != nullptr; owner = owner->next_) {
      const auto* start = static_cast<const char*>(owner->address());
      if (address >= start && address < start + owner->bytes()) return owner;
    }
    return nullptr;
  }

 private:
  void* Block(int64_t bytes) {
    const int order = Order(bytes);
    if (base_ == nullptr) Reserve();
    if (!free_[order].empty()) {
      void* address = free_[order].back();
      free_[order].pop_back();
      return address;
    }
    const uint64_t size = uint64_t{1} << order;
    TORCH_CHECK_WITH(OutOfMemoryError, size <= reserved_ && next_ <= reserved_ - size,
                     "tpu: out of memory: expected a tensor of at most ", reserved_ - next_,
                     " bytes, got ", bytes);
    void* address = base_ + next_;
    next_ += size;
    return address;
  }

  static int Order(int64_t bytes) {
    return std::max(6, 64 - std::countl_zero(static_cast<uint64_t>(bytes) - 1));
  }

  // 32 TiB of the 128 there are; less where a limit or a sanitizer leaves less.
  void Reserve() {
    constexpr uint64_t kMost = uint64_t{1} << 45, kLeast = uint64_t{1} << 32;
    for (uint64_t bytes = kMost; bytes >= kLeast; bytes /= 2) {
      void* base =
          mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base == MAP_FAILED) continue;
      base_ = static_cast<char*>(base);
      reserved_ = bytes;
      return;
    }
    TORCH_CHECK(false, "tpu: expected to reserve ", kLeast, " bytes of address space, got errno ",
                errno, ". Raise the limit on address space (ulimit -v)");
  }

  SpinLock lock_;
  char* base_ = nullptr;
  uint64_t reserved_ = 0, next_ = 0;
  std::array<std::vector<void*>, 64> free_;
  DeviceStorage* first_ = nullptr;  // of the live ones with an address, linked
};

namespace {

AddressSpace& Addresses() {
  static AddressSpace& space = *new AddressSpace();
  return space;
}

void DeleteStorage(void* context) { delete static_cast<DeviceStorage*>(context); }

c10::DataPtr MakeDataPtr(int device, int64_t bytes) {
  auto* storage = new DeviceStorage(device, bytes);
  return {storage->address(), storage, &DeleteStorage,
          c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device))};
}

class StorageAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    return MakeDataPtr(CurrentDevice(), static_cast<int64_t>(bytes));
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void*, const void*, size_t) const override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "tpu: expected a copy through tensors, got one by address");
  }

  bool initialized() override { return exec::Runtime::IsStarted(); }
  void emptyCache(c10::MempoolId_t) override {}  // nothing is cached: PJRT frees at once
  // A buffer lives as long as launched work needs it, whichever stream that is on.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    if (!exec::Runtime::IsStarted()) return stats;
    exec::FusedQueue::FlushAll();  // what is asked for so far counts
    CheckDevice(device);
    const exec::DeviceMemory& memory = exec::Runtime::Get().device(device).memory;
    auto fill = [](auto& stat_array, int64_t current, int64_t peak, int64_t allocated) {
      auto& stat = stat_array[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
      stat.current = current;
      stat.peak = peak;
      stat.allocated = allocated;
      stat.freed = allocated - current;
    };
    const int64_t bytes = memory.allocated(), total = memory.total_allocated();
    for (auto* stat : {&stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
                       &stats.requested_bytes}) {
      fill(*stat, bytes, memory.peak(), total);
    }
    for (auto* stat : {&stats.allocation, &stats.active}) {
      fill(*stat, memory.num_buffers(), memory.num_buffers(), memory.num_buffers());
    }
    stats.num_ooms = memory.num_ooms();
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    CheckDevice(device);
    exec::Runtime::Get().device(device).memory.ResetAccumulated();
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    CheckDevice(device);
    exec::Runtime::Get().device(device).memory.ResetPeak();
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    CheckDevice(device);
    exec::FusedQueue::FlushAll();
    const exec::DeviceMemory& memory = exec::Runtime::Get().device(device).memory;
    const size_t total = static_cast<size_t>(memory.limit());
    return {total - static_cast<size_t>(memory.allocated()), total};
  }
};

StorageAllocator& TheAllocator() {
  static StorageAllocator& allocator = *new StorageAllocator();
  return allocator;
}

DeviceStorage& ContextOf(const c10::StorageImpl& storage) {
  const c10::DataPtr& data = storage.data_ptr();
  if (data.get_deleter() == &DeleteStorage) [[likely]]
    return *static_cast<DeviceStorage*>(data.get_context());
  // at::from_blob over a data_ptr() of ours, e.g. where PyTorch writes a storage to a file.
  DeviceStorage* owner = Addresses().OwnerAround(data.get());
  TORCH_CHECK(owner != nullptr && owner->address() == data.get(),
              "tpu: expected the address of a live storage's first byte, got ", data.get());
  return *owner;
}

}  // namespace

REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &TheAllocator())

c10::DeviceAllocator* Allocator() { return &TheAllocator(); }

int DeviceOfAddress(const void* address) {
  const DeviceStorage* owner = Addresses().OwnerAround(address);
  TORCH_CHECK(owner != nullptr, "tpu: expected an address in a live storage, got ", address);
  return owner->device();
}

DeviceStorage::DeviceStorage(int device, int64_t bytes)
    : device_(device), bytes_(bytes), address_(Addresses().Take(bytes, this)) {}

DeviceStorage::~DeviceStorage() { Addresses().Give(this); }

DeviceStorage& StorageOf(const at::Tensor& tensor) {
  TORCH_CHECK(OnDevice(tensor),
              "Expected all tensors to be on the same device, but found at least two devices, tpu:",
              CurrentDevice(), " and ", tensor.device(), "!");
  return ContextOf(*tensor.storage().unsafeGetStorageImpl());
}

void ResizeStorage(const c10::Storage& storage, size_t bytes) {
  c10::StorageImpl& impl = *storage.unsafeGetStorageImpl();
  TORCH_CHECK(impl.resizable(), "Trying to resize storage that is not resizable");
  if (impl.nbytes() == bytes) return;
  DeviceStorage& old = ContextOf(impl);
  c10::DataPtr data = MakeDataPtr(old.device(), static_cast<int64_t>(bytes));
  const exec::BufferRef buffer = old.Load();
  if (buffer != nullptr && bytes > 0) {
    // Keep the element type where the new size allows it.
    const int64_t item = static_cast<int64_t>(c10::elementSize(buffer->type().dtype));
    const bool fits = bytes % item == 0;
    const DType dtype = fits ? buffer->type().dtype : DType::Byte;
    const int64_t unit = fits ? item : 1;
    const Dims old_sizes = {old.bytes() / unit}, one = {1};
    RowCall call("tpu::resize_storage", old.device());
    call.View({&old, dtype, old_sizes, one, 0, old.bytes()})
        .Int(static_cast<int64_t>(bytes) / unit);
    static_cast<DeviceStorage*>(data.get_context())->Store(call.RunBuffers()[0]);
  }
  impl.set_data_ptr_noswap(std::move(data));
  impl.set_nbytes(bytes);
}

exec::TensorView ViewOf(const at::Tensor& tensor) {
  DeviceStorage& storage = StorageOf(tensor);
  return {&storage,         tensor.scalar_type(),    tensor.sizes(),
          tensor.strides(), tensor.storage_offset(), storage.bytes()};
}

bool IsWholeStorage(const at::Tensor& tensor) {
  return tensor.storage_offset() == 0 && tensor.is_contiguous() &&
         tensor.numel() * static_cast<int64_t>(tensor.itemsize()) == StorageOf(tensor).bytes();
}

c10::Storage NewStorage(exec::BufferRef buffer, int device, int64_t bytes) {
  c10::DataPtr data = MakeDataPtr(device, bytes);
  static_cast<DeviceStorage*>(data.get_context())->Store(std::move(buffer));
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), static_cast<size_t>(bytes), std::move(data),
      &TheAllocator(), /*resizable=*/true));
}

at::Tensor TensorOver(c10::Storage storage, DType dtype, IntArrayRef sizes, IntArrayRef strides,
                      int64_t offset) {
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::scalarTypeToTypeMeta(dtype));
  c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (strides.empty()) {
    impl.set_sizes_contiguous(sizes);
    impl.set_storage_offset(offset);
  } else {
    impl.set_sizes_and_strides(sizes, strides, offset);
  }
  return tensor;
}

at::Tensor Wrap(exec::BufferRef buffer, IntArrayRef sizes, IntArrayRef strides) {
  const DType dtype = buffer->type().dtype;
  const int device = buffer->device();
  const int64_t bytes = buffer->bytes();
  return TensorOver(NewStorage(std::move(buffer), device, bytes), dtype, sizes, strides);
}

at::Tensor Empty(IntArrayRef sizes, DType dtype, int device,
                 std::optional<c10::MemoryFormat> memory_format) {
  TORCH_CHECK_TYPE(IsSupportedDType(dtype), "tpu: expected a data type that XLA can hold, got ",
                   DTypeName(dtype));
  CheckDevice(device);
  const int before = CurrentDevice();
  SetCurrentDevice(device);
  auto restore = c10::make_scope_exit([&] { SetCurrentDevice(before); });
  return at::Tensor(at::detail::empty_generic(sizes, &TheAllocator(),
                                              c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                              dtype, memory_format));
}

}  // namespace torch_tpu::eager
