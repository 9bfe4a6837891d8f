// The one client of the process: which plugin runs, its devices and what each of them holds.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/spin_lock.h"
#include "exec/memory.h"
#include "exec/work.h"
#include "hlo/type.h"
#include "pjrt/buffer.h"
#include "pjrt/client.h"
#include "pjrt/plugin.h"

namespace torch_tpu::exec {

class DeviceBuffer;

// Makes arrays later than they are handed out.
class ArraySource {
 public:
  virtual ~ArraySource() = default;
  // Returns when the promise is kept; throws where it cannot be.
  virtual void RequireArray(const DeviceBuffer& buffer) = 0;
};

// A device array with its accounting. Shared by storages, launches under way and pending checks.
// One that a call is to make which was written down and not launched has a type and no array yet:
// a promise. The array may be padded: longer than the type along some dimensions, with anything in
// what is too much.
class DeviceBuffer {
 public:
  // `producer` names the op for errors that surface when the buffer is read; a string literal or a
  // name that lives as long as the process. The array's bytes must have been allocated with
  // DeviceMemory. `array_dims`: of a padded array; empty: those of the type.
  DeviceBuffer(pjrt::Buffer buffer, hlo::Type type, int device, const char* producer,
               Dims array_dims = {});
  // A promise: number `id` of `source`.
  DeviceBuffer(std::shared_ptr<ArraySource> source, uint32_t id, hlo::Type type, int device,
               const char* producer);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // An array of the type's dims.
  const pjrt::Buffer& buffer() const {
    if (state_.load(std::memory_order_acquire) != State::kPlain) [[unlikely]]
      return PaddedTo(type_.dims);
    return *buffer_;
  }
  PJRT_Buffer* raw() const { return buffer().raw(); }
  bool is_promise() const { return state_.load(std::memory_order_acquire) == State::kPromise; }
  // Of a promise, kept or not.
  ArraySource* source() const { return source_.get(); }
  uint32_t promise_id() const { return promise_id_; }
  // Keeps the promise with the array of `made`, which is empty afterwards.
  void Fulfil(DeviceBuffer& made);
  bool padded() const { return state_.load(std::memory_order_acquire) == State::kPadded; }
  // The array as it is, padded or not.
  const pjrt::Buffer& own_array() const {
    if (is_promise()) [[unlikely]]
      source_->RequireArray(*this);
    return *buffer_;
  }
  IntArrayRef own_dims() const { return padded() ? array_dims_ : type_.dims; }
  // An array of dims that are at least the type's; padding holds anything.
  const pjrt::Buffer& PaddedTo(IntArrayRef dims) const;
  // The contents were copied from the host and depend on no launch.
  void SetUploaded() { uploaded_ = true; }
  const hlo::Type& type() const { return type_; }
  int device() const { return device_; }
  int64_t bytes() const { return bytes_; }
  const char* producer() const { return producer_; }
  // After a donation: the bytes are another buffer's now.
  void GiveBytesAway() { accounted_ = 0; }

 private:
  enum class State : uint8_t { kPlain, kPadded, kPromise };
  std::shared_ptr<DeviceBuffer> Resized(IntArrayRef dims) const;

  std::optional<pjrt::Buffer> buffer_;
  const std::shared_ptr<ArraySource> source_;
  uint32_t promise_id_ = 0;
  std::atomic<State> state_;
  bool uploaded_ = false;
  Dims array_dims_;
  // The same contents in arrays of other dims, made when they were asked for.
  mutable std::vector<std::shared_ptr<DeviceBuffer>> others_;
  hlo::Type type_;
  int device_;
  int64_t bytes_, accounted_;
  const char* producer_;
};
using BufferRef = std::shared_ptr<DeviceBuffer>;

// Where a storage keeps its buffer. Empty until the first write; a launch that writes replaces it.
class BufferSlot {
 public:
  BufferRef Load() const {
    const std::lock_guard lock(lock_);
    return buffer_;
  }
  void Store(BufferRef buffer) {
    const std::lock_guard lock(lock_);
    buffer_.swap(buffer);  // the old one dies after the lock is released
  }

 private:
  mutable SpinLock lock_;
  BufferRef buffer_;
};

int64_t BytesOf(const hlo::Type& type);

// What a program's run-time check says when it fails, its op first: an IndexError, or a
// RuntimeError.
struct CheckMessage {
  std::string text;
  bool index_error = true;
};

// A check that was launched and not looked at yet.
struct PendingCheck {
  BufferRef flags;                                            // bool[n], true is fine
  std::shared_ptr<const std::vector<CheckMessage>> messages;  // n of them
};

class DeviceState {
 public:
  DeviceState() = default;
  DeviceMemory memory;

  // One queue per stream id; 0 is the default stream.
  WorkQueue& work(int64_t stream) { return queues_[stream]; }
  // Waits for every stream, then raises the first failed check.
  void Synchronize();
  void AddCheck(PendingCheck check);
  // Raises failed checks where very many are pending: before a launch, which would lose what it
  // writes.
  void BoundChecks();
  // Waits for and looks at every pending check; raises the first that failed.
  void RaiseFailedChecks();

 private:
  std::array<WorkQueue, kNumStreams> queues_;
  std::mutex mutex_;
  std::vector<PendingCheck> checks_;
};

class Runtime {
 public:
  // Starts the plugin at the first call. Throws what went wrong, again at each later call.
  static Runtime& Get();
  static bool IsStarted();
  // Where plugins may lie (site-packages folders); to be called before the start.
  static void SetPluginSearchDirs(std::vector<std::string> dirs);
  // Number of devices; asks the PCI bus and the settings, not the plugin, before the start.
  static int DeviceCount();

  pjrt::Client& client() { return *client_; }
  const std::shared_ptr<pjrt::Client>& shared_client() { return client_; }
  const pjrt::PluginSpec& plugin() const { return plugin_; }
  // True when XLA's CPU plugin stands in for a TPU.
  bool is_stand_in() const { return plugin_.kind == "cpu"; }
  int device_count() const { return static_cast<int>(devices_.size()); }
  DeviceState& device(int index) { return *devices_[index]; }

  // Copies host memory to a new buffer (row-major unless `byte_strides` says otherwise).
  BufferRef ToDevice(const void* data, const hlo::Type& type, int device,
                     std::optional<IntArrayRef> byte_strides, const char* producer);
  // A copy in an array of other dims, where the first elements along each dimension are the same:
  // through the host, for a buffer that came from there.
  BufferRef ResizeOnHost(const DeviceBuffer& buffer, const Dims& dims);
  // Blocks; raises failed index checks first, then the buffer's own error with its producer's name.
  void ToHost(const BufferRef& buffer, void* data, int64_t bytes);
  BufferRef ToOtherDevice(const BufferRef& buffer, int device);

 private:
  Runtime();

  pjrt::PluginSpec plugin_;
  std::shared_ptr<pjrt::Client> client_;
  std::vector<std::unique_ptr<DeviceState>> devices_;
};

}  // namespace torch_tpu::exec
