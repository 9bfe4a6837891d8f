#include "exec/fused_queue.h"

#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>
#include <c10/util/hash.h>

#include <algorithm>
#include <atomic>
#include <deque>

#include "base/settings.h"
#include "exec/sequence.h"
#include "exec/stats.h"

namespace torch_tpu::exec {

class FusedQueue::Batch : public ArraySource {
 public:
  explicit Batch(FusedQueue& queue) : queue_(queue) {}

  void RequireArray(const DeviceBuffer& buffer) override {
    const std::lock_guard lock(queue_.mutex_);
    if (queue_.batch_.get() == this) queue_.Flush();
    if (!buffer.is_promise()) return;
    const auto failure = failures_.find(buffer.promise_id());
    TORCH_INTERNAL_ASSERT(failure != failures_.end());
    std::rethrow_exception(failure->second);
  }
  void Fail(uint32_t id, std::exception_ptr failure) { failures_.emplace(id, std::move(failure)); }

 private:
  FusedQueue& queue_;
  std::unordered_map<uint32_t, std::exception_ptr> failures_;  // under the queue's lock
};

namespace {

std::atomic<bool> g_used{false};

std::deque<FusedQueue>& Queues() {
  static auto& queues = *new std::deque<FusedQueue>(Runtime::Get().device_count());
  return queues;
}

}  // namespace

FusedQueue& FusedQueue::Of(int device) {
  g_used.store(true, std::memory_order_relaxed);
  return Queues()[device];
}

void FusedQueue::FlushAll() {
  if (!g_used) return;
  for (FusedQueue& queue : Queues()) queue.Flush();
}

uint32_t FusedQueue::Use(const BufferRef& buffer) {
  if (buffer == nullptr) return SequenceWriter::kUnwritten;
  uint32_t id;
  if (buffer->is_promise() && buffer->source() == batch_.get()) {
    id = buffer->promise_id();
  } else {
    buffer->own_array();  // raises what failed
    const auto [found, is_new] =
        externals_.emplace(buffer.get(), static_cast<uint32_t>(values_.size()));
    if (is_new) values_.push_back({.array = buffer});
    id = found->second;
  }
  values_[id].last_use = static_cast<uint32_t>(calls_.size());
  return id;
}

Launched FusedQueue::Add(ProgramWriter& writer, int64_t stream) {
  const std::shared_ptr<const CallTypes> types = TypesOf(writer.bytes());
  const LoweredProgram& program = types->program;
  // Promises of other queues; their locks are not taken under ours.
  for (const ProgramWriter::Input& input : writer.inputs()) {
    if (input.buffer != nullptr && input.buffer->device() != writer.device()) {
      input.buffer->own_array();
    }
  }
  const std::lock_guard lock(mutex_);
  if (stream != stream_) Flush();
  device_ = writer.device();
  stream_ = stream;
  if (batch_ == nullptr) batch_ = std::make_shared<Batch>(*this);

  Call call{.types = types,
            .ints = static_cast<uint32_t>(ints_.size()),
            .num_ints = static_cast<uint32_t>(writer.ints().size()),
            .doubles = static_cast<uint32_t>(doubles_.size()),
            .num_doubles = static_cast<uint32_t>(writer.doubles().size()),
            .random = writer.has_random()};
  for (const ProgramWriter::Input& input : writer.inputs()) call.bases.push_back(Use(input.buffer));
  ints_.insert(ints_.end(), writer.ints().begin(), writer.ints().end());
  doubles_.insert(doubles_.end(), writer.doubles().begin(), writer.doubles().end());

  call.first_output = static_cast<uint32_t>(values_.size());
  Launched launched{{types, &program}, {}, {}};
  const size_t outputs = program.outputs.size() - !program.check_messages.empty();
  for (size_t i = 0; i < outputs; ++i) {
    const hlo::Type& type = program.outputs[i].type;
    auto promise = std::make_shared<DeviceBuffer>(batch_, static_cast<uint32_t>(values_.size()),
                                                  type, writer.device(), types->producer);
    bytes_ += promise->bytes();
    Value value{.promise = promise};
    if (const int written = program.outputs[i].written_input; written >= 0) {
      if (call.bases[written] != SequenceWriter::kUnwritten) value.overwrites = call.bases[written];
      writer.inputs()[written].storage->Store(promise);
    }
    values_.push_back(std::move(value));
    launched.outputs.push_back(std::move(promise));
  }
  calls_.push_back(std::move(call));
  if (IsFull()) Flush();
  return launched;
}

bool FusedQueue::IsFull() {
  // A loop that is longer than a program would be cut elsewhere in each round, and compile each
  // time. So a cut is made again where the calls before it are those before an earlier one: rounds,
  // and layers that are alike, then share their programs.
  constexpr size_t kContext = 16;
  const Settings& settings = GetSettings();
  const size_t size = calls_.size(), most = static_cast<size_t>(settings.fused_calls);
  const bool full = size >= most || bytes_ >= settings.fused_bytes;
  if (size < kContext || (!full && size < most / 4)) return full;
  uint64_t context = 0;
  for (size_t i = size - kContext; i < size; ++i) {
    context = c10::hash_combine(context, std::hash<const void*>()(calls_[i].types.get()));
  }
  if (full) cuts_.insert(context);
  return full || cuts_.contains(context);
}

void FusedQueue::Flush() {
  const std::lock_guard lock(mutex_);
  if (batch_ == nullptr) return;
  // Raises earlier calls' failed checks before anything here changes.
  Runtime::Get().device(device_).BoundChecks();
  ++GetStats().flushes;
  const auto forget = c10::make_scope_exit([&] {
    batch_ = nullptr;
    calls_.clear();
    values_.clear();
    externals_.clear();
    ints_.clear();
    doubles_.clear();
    bytes_ = 0;
  });
  LaunchQueued();
}

void FusedQueue::LaunchQueued() {
  std::exception_ptr failure;
  for (size_t begin = 0; begin < calls_.size();) {
    // Products that run in a library of their own stay programs of their own, as in strict mode:
    // the same values, and faster.
    const auto alone = [&](size_t i) { return calls_[i].types->program.use_xnnpack; };
    size_t end = begin + 1;
    if (!alone(begin)) {
      while (end < calls_.size() && !alone(end)) ++end;
    }
    if (failure != nullptr) {
      LaunchEach(begin, end, failure);
    } else {
      try {
        Launch(begin, end);
      } catch (...) {
        LaunchEach(begin, end, failure);
      }
    }
    begin = end;
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

void FusedQueue::Launch(size_t begin, size_t end) {
  if (end - begin == 1) return LaunchCall(calls_[begin]);
  LaunchSequence(begin, end);
  GetStats().fused_calls += static_cast<int64_t>(end - begin);
}

// Each one by itself: those that can run do.
void FusedQueue::LaunchEach(size_t begin, size_t end, std::exception_ptr& first_failure) {
  for (size_t i = begin; i < end; ++i) {
    const Call& call = calls_[i];
    std::exception_ptr failure;
    for (uint32_t base : call.bases) {
      if (base != SequenceWriter::kUnwritten && values_[base].failure != nullptr) {
        failure = values_[base].failure;
      }
    }
    if (failure == nullptr) {
      try {
        LaunchCall(call);
        continue;
      } catch (c10::Error& error) {
        if (!call.types->first_site.empty()) {
          error.add_context(
              c10::str(call.types->program.name, ", first called so at ", call.types->first_site));
        }
        failure = std::current_exception();
      } catch (...) {
        failure = std::current_exception();
      }
    }
    if (first_failure == nullptr) first_failure = failure;
    const LoweredProgram& program = call.types->program;
    const size_t outputs = program.outputs.size() - !program.check_messages.empty();
    for (uint32_t id = call.first_output; id < call.first_output + outputs; ++id) {
      values_[id].failure = failure;
      batch_->Fail(id, failure);
    }
  }
}

void FusedQueue::Keep(uint32_t id, BufferRef made) {
  Value& value = values_[id];
  if (const BufferRef promise = value.promise.lock()) {
    promise->Fulfil(*made);
    value.array = promise;
  } else {
    value.array = std::move(made);
  }
}

void FusedQueue::LaunchCall(const Call& call) {
  c10::SmallVector<const BufferRef*, 8> arrays;
  static const BufferRef unwritten;
  for (uint32_t base : call.bases) {
    arrays.push_back(base == SequenceWriter::kUnwritten ? &unwritten : &values_[base].array);
  }
  const Launched launched =
      Run(ExecutableCache::Get().Find(call.types->bytes, /*padded=*/false, call.types->first_site),
          device_, stream_,
          {arrays, 1, IntArrayRef(ints_).slice(call.ints, call.num_ints),
           c10::ArrayRef<double>(doubles_).slice(call.doubles, call.num_doubles), !call.random});
  for (size_t i = 0; i < launched.outputs.size(); ++i) {
    Keep(call.first_output + static_cast<uint32_t>(i), launched.outputs[i]);
  }
}

void FusedQueue::LaunchSequence(size_t begin, size_t end) {
  // What the range computes comes after what it takes from outside; see sequence.h.
  const uint32_t first_call = static_cast<uint32_t>(begin), past = static_cast<uint32_t>(end);
  std::vector<uint32_t> numbers(values_.size(), kNone), externals, computed;
  std::vector<bool> inside(values_.size(), false);
  for (size_t i = begin; i < end; ++i) {
    const LoweredProgram& program = calls_[i].types->program;
    const size_t outputs = program.outputs.size() - !program.check_messages.empty();
    for (uint32_t base : calls_[i].bases) {
      if (base == SequenceWriter::kUnwritten || inside[base] || numbers[base] != kNone) continue;
      numbers[base] = static_cast<uint32_t>(externals.size());
      externals.push_back(base);
    }
    for (uint32_t id = calls_[i].first_output; id < calls_[i].first_output + outputs; ++id) {
      inside[id] = true;
      computed.push_back(id);
    }
  }
  for (size_t i = 0; i < computed.size(); ++i) {
    numbers[computed[i]] = static_cast<uint32_t>(externals.size() + i);
  }

  std::vector<BufferRef> alive;  // so that no promise dies between here and its fulfillment
  std::vector<uint32_t> outputs;
  for (uint32_t id : computed) {
    const bool used_later = values_[id].last_use >= past;
    BufferRef promise = values_[id].promise.lock();
    if (!used_later && promise == nullptr) continue;
    outputs.push_back(id);
    alive.push_back(std::move(promise));
  }
  const auto checks = [](const Call& call) { return !call.types->program.check_messages.empty(); };
  if (outputs.empty() && std::none_of(&calls_[begin], &calls_[begin] + (end - begin), checks)) {
    return;  // nobody sees what these calls do
  }
  // The last output that in-place calls made of an outside value may take over its memory.
  std::vector<int> replaces(outputs.size(), -1);
  std::vector<bool> taken(externals.size(), false);
  for (size_t i = outputs.size(); i-- > 0;) {
    uint32_t id = outputs[i];
    while (id != kNone && inside[id]) id = values_[id].overwrites;
    if (id == kNone || values_[id].last_use >= past || taken[numbers[id]]) continue;
    taken[numbers[id]] = true;
    replaces[i] = static_cast<int>(numbers[id]);
  }

  const Call& first = calls_[first_call];
  const Call& last = calls_[past - 1];
  const IntArrayRef ints =
      IntArrayRef(ints_).slice(first.ints, last.ints + last.num_ints - first.ints);
  std::vector<double> doubles(doubles_.begin() + first.doubles,
                              doubles_.begin() + last.doubles + last.num_doubles);
  const bool guarded = !GetSettings().fast_math;
  std::vector<hlo::Type> types;
  for (uint32_t id : externals) types.push_back(values_[id].array->type());
  const OperandCounts operands{static_cast<uint32_t>(ints.size()),
                               static_cast<uint32_t>(doubles.size())};
  SequenceWriter writer(types, end - begin, outputs.size(), operands, guarded);
  bool random = false;
  for (size_t i = begin; i < end; ++i) {
    c10::SmallVector<uint32_t, 8> bases;
    for (uint32_t base : calls_[i].bases) {
      bases.push_back(base == SequenceWriter::kUnwritten ? base : numbers[base]);
    }
    writer.Call(calls_[i].types->bytes, bases);
    random = random || calls_[i].random;
  }
  for (size_t i = 0; i < outputs.size(); ++i) writer.Output(numbers[outputs[i]], replaces[i]);

  c10::SmallVector<const BufferRef*, 16> arrays;
  for (uint32_t id : externals) arrays.push_back(&values_[id].array);
  if (guarded) doubles.push_back(1);
  const Launched launched =
      Run(ExecutableCache::Get().Find(writer.Take(), /*padded=*/false, first.types->first_site),
          device_, stream_, {arrays, 1, ints, doubles, !random});
  for (size_t i = 0; i < outputs.size(); ++i) Keep(outputs[i], launched.outputs[i]);
}

}  // namespace torch_tpu::exec
