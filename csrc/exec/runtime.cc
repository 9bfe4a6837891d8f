#include "exec/runtime.h"

#include <c10/util/Exception.h>
#include <sys/sysinfo.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/settings.h"
#include "exec/launch.h"
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

// Copies the elements that two row-major arrays have in common.
void CopyCommon(const char* from, IntArrayRef from_dims, char* to, IntArrayRef to_dims,
                size_t item) {
  if (from_dims.empty()) {
    std::memcpy(to, from, item);
    return;
  }
  const IntArrayRef from_inner = from_dims.slice(1), to_inner = to_dims.slice(1);
  const size_t from_step = NumElements(from_inner) * item, to_step = NumElements(to_inner) * item;
  const int64_t count = std::min(from_dims[0], to_dims[0]);
  if (from_inner == to_inner) {
    std::memcpy(to, from, count * to_step);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    CopyCommon(from + i * from_step, from_inner, to + i * to_step, to_inner, item);
  }
}

}  // namespace

int64_t BytesOf(const hlo::Type& type) {
  return NumElements(type.dims) * static_cast<int64_t>(c10::elementSize(type.dtype));
}

DeviceBuffer::DeviceBuffer(pjrt::Buffer buffer, hlo::Type type, int device, const char* producer,
                           Dims array_dims)
    : buffer_(std::move(buffer)),
      state_(array_dims.empty() || array_dims == type.dims ? State::kPlain : State::kPadded),
      array_dims_(padded() ? std::move(array_dims) : Dims()),
      type_(std::move(type)),
      device_(device),
      bytes_(BytesOf(type_)),
      accounted_(padded() ? BytesOf({type_.dtype, array_dims_}) : bytes_),
      producer_(producer) {}

DeviceBuffer::DeviceBuffer(std::shared_ptr<ArraySource> source, uint32_t id, hlo::Type type,
                           int device, const char* producer)
    : source_(std::move(source)),
      promise_id_(id),
      state_(State::kPromise),
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
  array_dims_ = std::move(made.array_dims_);
  made.buffer_.reset();
  state_.store(made.state_, std::memory_order_release);
}

const pjrt::Buffer& DeviceBuffer::PaddedTo(IntArrayRef dims) const {
  const pjrt::Buffer& own = own_array();
  if (own_dims() == dims) return own;
  static std::mutex& mutex = *new std::mutex();
  const auto find = [&]() -> const pjrt::Buffer* {
    for (const auto& other : others_) {
      if (other->own_dims() == dims) return &*other->buffer_;
    }
    return nullptr;
  };
  {
    const std::lock_guard lock(mutex);
    if (const pjrt::Buffer* found = find()) return *found;
  }
  std::shared_ptr<DeviceBuffer> made = Resized(dims);
  const std::lock_guard lock(mutex);
  if (const pjrt::Buffer* found = find()) return *found;
  others_.push_back(std::move(made));
  return *others_.back()->buffer_;
}

BufferRef DeviceBuffer::Resized(IntArrayRef dims) const {
  constexpr int64_t kMostThroughHost = 1 << 20;
  if (uploaded_ && bytes_ <= kMostThroughHost) {
    return Runtime::Get().ResizeOnHost(*this, Dims(dims));
  }
  return ResizeOnDevice(*this, Dims(dims));
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
    auto made = std::make_shared<DeviceBuffer>(std::move(buffer), type, device, producer);
    made->SetUploaded();
    return made;
  } catch (const pjrt::Error& error) {
    memory.Free(bytes);
    pjrt::ThrowAsTorchError(error, producer);
  }
}

BufferRef Runtime::ResizeOnHost(const DeviceBuffer& buffer, const Dims& dims) {
  const DType dtype = buffer.type().dtype;
  std::vector<char> from(BytesOf({dtype, Dims(buffer.own_dims())})), to(BytesOf({dtype, dims}));
  try {
    if (!from.empty()) buffer.own_array().CopyToHost(from.data(), from.size()).Await();
  } catch (const pjrt::Error& error) {
    pjrt::ThrowAsTorchError(error, buffer.producer());
  }
  CopyCommon(from.data(), buffer.own_dims(), to.data(), dims, c10::elementSize(dtype));
  // The type is what the array holds: padding counts as contents here.
  return ToDevice(to.data(), {dtype, dims}, buffer.device(), std::nullopt, buffer.producer());
}

void Runtime::ToHost(const BufferRef& buffer, void* data, int64_t bytes) {
  const pjrt::Buffer& array = buffer->own_array();  // a promise is kept first: its checks count
  devices_[buffer->device()]->RaiseFailedChecks();
  ++GetStats().synchronizations;
  try {
    if (buffer->padded()) {
      std::vector<char> padded(BytesOf({buffer->type().dtype, Dims(buffer->own_dims())}));
      array.CopyToHost(padded.data(), padded.size()).Await();
      CopyCommon(padded.data(), buffer->own_dims(), static_cast<char*>(data), buffer->type().dims,
                 c10::elementSize(buffer->type().dtype));
    } else if (bytes > 0) {
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
