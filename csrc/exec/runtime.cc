#include "exec/runtime.h"

#include <c10/util/Exception.h>
#include <sys/sysinfo.h>

#include <atomic>
#include <cstdlib>

#include "base/settings.h"
#include "exec/stats.h"
#include "pjrt/error.h"
#include "pjrt/fork_guard.h"

namespace torch_tpu::exec {
namespace {

std::atomic<Runtime*> g_runtime{nullptr};
std::mutex g_mutex;

std::vector<std::string>& SearchDirs() {
  static auto& dirs = *new std::vector<std::string>();
  return dirs;
}

int64_t HostMemoryBytes() {
  struct sysinfo info{};
  sysinfo(&info);
  return static_cast<int64_t>(info.totalram) * info.mem_unit;
}

}  // namespace

int64_t BytesOf(const hlo::Type& type) {
  return NumElements(type.dims) * static_cast<int64_t>(c10::elementSize(type.dtype));
}

DeviceBuffer::DeviceBuffer(pjrt::Buffer buffer, hlo::Type type, int device, const char* producer)
    : buffer_(std::move(buffer)),
      type_(std::move(type)),
      device_(device),
      bytes_(BytesOf(type_)),
      accounted_(bytes_),
      producer_(producer) {}

DeviceBuffer::DeviceBuffer(std::shared_ptr<ArraySource> source, uint32_t id, hlo::Type type,
                           int device, const char* producer)
    : source_(std::move(source)),
      is_promise_(true),
      promise_id_(id),
      type_(std::move(type)),
      device_(device),
      bytes_(BytesOf(type_)),
      accounted_(0),
      producer_(producer) {}

DeviceBuffer::~DeviceBuffer() {
  if (!buffer_) return;
  if (Runtime* runtime = g_runtime.load(std::memory_order_acquire)) {
    runtime->device(device_).memory.Free(accounted_);
  }
}

void DeviceBuffer::Fulfil(DeviceBuffer& made) {
  buffer_ = std::move(made.buffer_);
  accounted_ = std::exchange(made.accounted_, 0);
  made.buffer_.reset();
  is_promise_.store(false, std::memory_order_release);
}

void DeviceState::Synchronize() {
  ++GetStats().synchronizations;
  for (WorkQueue& queue : queues_) queue.Wait();
  RaiseFailedChecks();
}

void DeviceState::AddCheck(PendingCheck check) {
  const std::lock_guard lock(mutex_);
  checks_.push_back(std::move(check));
}

void DeviceState::BoundChecks() {
  bool many;
  {
    const std::lock_guard lock(mutex_);
    many = checks_.size() >= 256;
  }
  if (many) RaiseFailedChecks();
}

void DeviceState::RaiseFailedChecks() {
  std::vector<PendingCheck> checks;
  {
    const std::lock_guard lock(mutex_);
    if (checks_.empty()) return;
    checks.swap(checks_);
  }
  std::string failure;
  bool index_error = true;
  for (const PendingCheck& check : checks) {
    const size_t n = check.messages->size();
    std::vector<uint8_t> flags(n, 1);
    try {
      check.flags->buffer().CopyToHost(flags.data(), n).Await();
    } catch (const pjrt::Error&) {
      continue;  // the launch itself failed: its outputs say so when they are read
    }
    for (size_t i = 0; i < n && failure.empty(); ++i) {
      if (flags[i]) continue;
      failure = (*check.messages)[i].text;
      index_error = (*check.messages)[i].index_error;
    }
  }
  TORCH_CHECK_INDEX(failure.empty() || !index_error, failure);
  TORCH_CHECK(failure.empty(), failure);
}

Runtime& Runtime::Get() {
  if (Runtime* runtime = g_runtime.load(std::memory_order_acquire)) return *runtime;
  const std::lock_guard lock(g_mutex);
  if (g_runtime == nullptr) {
    try {
      // Never destroyed: tensors may die after every static object is gone.
      g_runtime.store(new Runtime(), std::memory_order_release);
    } catch (const pjrt::Error& error) {
      pjrt::ThrowAsTorchError(error, "tpu");
    }
  }
  return *g_runtime;
}

bool Runtime::IsStarted() { return g_runtime.load(std::memory_order_acquire) != nullptr; }

void Runtime::SetPluginSearchDirs(std::vector<std::string> dirs) { SearchDirs() = std::move(dirs); }

int Runtime::DeviceCount() {
  if (Runtime* runtime = g_runtime.load(std::memory_order_acquire)) return runtime->device_count();
  const Settings& settings = GetSettings();
  if (settings.plugin_path.empty() && settings.platform != "cpu") {
    static const int google_devices = pjrt::CountGoogleDevices();
    if (google_devices > 0 || settings.platform == "tpu") return google_devices;
  }
  return settings.num_devices > 0 ? static_cast<int>(settings.num_devices) : 1;
}

Runtime::Runtime() : plugin_(pjrt::ChoosePlugin(SearchDirs())) {
  pjrt::NamedValues options;
  const Settings& settings = GetSettings();
  if (plugin_.kind == "cpu") {
    options["cpu_device_count"] = static_cast<int64_t>(DeviceCount());
    // Set before the load: it then says on stderr which options it got.
    setenv("TF_CPP_MIN_LOG_LEVEL", "1", /*overwrite=*/0);
  }
  client_ = pjrt::Client::Create(pjrt::Api::Load(plugin_.path), options);
  for (size_t i = 0; i < client_->devices().size(); ++i) {
    auto state = std::make_unique<DeviceState>();
    int64_t limit = settings.memory_limit;
    if (limit == 0) {
      const auto stats = client_->devices()[i].memory_stats();
      limit = stats && stats->bytes_limit ? *stats->bytes_limit : HostMemoryBytes();
    }
    state->memory.set_limit(limit);
    state->memory.set_device(static_cast<int>(i));
    devices_.push_back(std::move(state));
  }
}

BufferRef Runtime::ToDevice(const void* data, const hlo::Type& type, int device,
                            std::optional<IntArrayRef> byte_strides, const char* producer) {
  const int64_t bytes = BytesOf(type);
  DeviceMemory& memory = devices_[device]->memory;
  memory.Allocate(bytes);
  try {
    pjrt::Buffer buffer =
        client_->BufferFromHost(data, type.dtype, type.dims, byte_strides, device);
    GetStats().bytes_to_device += bytes;
    return std::make_shared<DeviceBuffer>(std::move(buffer), type, device, producer);
  } catch (const pjrt::Error& error) {
    memory.Free(bytes);
    pjrt::ThrowAsTorchError(error, producer);
  }
}

void Runtime::ToHost(const BufferRef& buffer, void* data, int64_t bytes) {
  const pjrt::Buffer& array = buffer->buffer();  // a promise is kept first: its checks count, too
  devices_[buffer->device()]->RaiseFailedChecks();
  ++GetStats().synchronizations;
  try {
    if (bytes > 0) {
      array.CopyToHost(data, bytes).Await();
    } else {
      array.ReadyEvent().Await();
    }
  } catch (const pjrt::Error& error) {
    pjrt::ThrowAsTorchError(error, buffer->producer());
  }
  GetStats().bytes_to_host += bytes;
}

BufferRef Runtime::ToOtherDevice(const BufferRef& buffer, int device) {
  DeviceMemory& memory = devices_[device]->memory;
  memory.Allocate(buffer->bytes());
  try {
    pjrt::Buffer copy = buffer->buffer().CopyToDevice(device);
    GetStats().bytes_between_devices += buffer->bytes();
    return std::make_shared<DeviceBuffer>(std::move(copy), buffer->type(), device,
                                          buffer->producer());
  } catch (const pjrt::Error& error) {
    memory.Free(buffer->bytes());
    pjrt::ThrowAsTorchError(error, buffer->producer());
  }
}

}  // namespace torch_tpu::exec
