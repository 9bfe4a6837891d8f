#include "exec/launch.h"

#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>

#include <array>

#include "base/hash.h"
#include "exec/eager_mode.h"
#include "exec/fused_queue.h"
#include "exec/recording.h"
#include "exec/resize.h"
#include "exec/stats.h"
#include "pjrt/error.h"

namespace torch_tpu::exec {
namespace {

// Small immutable operands that come again (a learning rate, an offset) are kept on the device.
// They are never donated, so nobody can change them.
class OperandCache {
 public:
  BufferRef Get(std::string_view bytes, DType dtype, int64_t count, int device) {
    Slot& slot =
        slots_[(HashBytes(bytes) + static_cast<uint64_t>(dtype) + device * 7919) % slots_.size()];
    const std::lock_guard lock(mutex_);
    if (slot.buffer == nullptr || slot.bytes != bytes || slot.buffer->device() != device ||
        slot.buffer->type().dtype != dtype) {
      Runtime& runtime = Runtime::Get();
      slot.buffer =
          runtime.ToDevice(bytes.data(), {dtype, {count}}, device, std::nullopt, "operands");
      // No tensor's memory: few bytes, however much is launched.
      runtime.device(device).memory.Free(slot.buffer->bytes());
      slot.buffer->GiveBytesAway();
      slot.bytes = std::string(bytes);
    }
    return slot.buffer;
  }

 private:
  struct Slot {
    std::string bytes;
    BufferRef buffer;
  };
  std::mutex mutex_;
  std::array<Slot, 1024> slots_;
};

OperandCache& Operands() {
  static OperandCache& cache = *new OperandCache();
  return cache;
}

template <typename T>
BufferRef OperandPack(c10::ArrayRef<T> values, DType dtype, int device, bool keep) {
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(T));
  const int64_t count = static_cast<int64_t>(values.size());
  if (keep) return Operands().Get(bytes, dtype, count, device);
  return Runtime::Get().ToDevice(values.data(), {dtype, {count}}, device, std::nullopt, "operands");
}

}  // namespace

Launched Run(std::shared_ptr<const CompiledProgram> compiled, int device, int64_t stream,
             const LaunchInputs& inputs) {
  Runtime& runtime = Runtime::Get();
  const LoweredProgram& program = compiled->program;
  const Padding* padding = compiled->padding.get();
  DeviceState& state = runtime.device(device);
  if (!program.check_messages.empty()) state.BoundChecks();

  c10::SmallVector<PJRT_Buffer*, 8> args;
  c10::SmallVector<int64_t, 4> keep;  // parameters that must not be donated
  c10::SmallVector<bool, 8> donated(inputs.arrays.size(), false);
  for (const auto& output : program.outputs) {
    if (output.written_input >= 0) donated[output.written_input] = true;
  }
  for (size_t i = 0; i < inputs.arrays.size(); ++i) {
    const BufferRef& buffer = *inputs.arrays[i];
    if (buffer == nullptr) {
      donated[i] = false;
      continue;
    }
    const pjrt::Buffer& array =
        padding == nullptr ? buffer->buffer() : buffer->PaddedTo(padding->inputs[args.size()]);
    if (donated[i] && (buffer.use_count() > inputs.holders || &array != &buffer->own_array())) {
      keep.push_back(static_cast<int64_t>(args.size()));
      donated[i] = false;
    }
    args.push_back(array.raw());
  }
  c10::SmallVector<BufferRef, 2> operands;
  if (!inputs.ints.empty()) {
    operands.push_back(OperandPack(inputs.ints, DType::Long, device, inputs.keep_ints));
    args.push_back(operands.back()->raw());
  }
  if (!inputs.doubles.empty()) {
    operands.push_back(OperandPack(inputs.doubles, DType::Double, device, true));
    args.push_back(operands.back()->raw());
  }
  if (padding != nullptr) {
    operands.push_back(OperandPack<int64_t>(compiled->size, DType::Long, device, true));
    args.push_back(operands.back()->raw());
    GetStats().padded_launches.fetch_add(1, std::memory_order_relaxed);
  }

  const size_t n = program.outputs.size();
  c10::SmallVector<PJRT_Buffer*, 8> raw(n, nullptr);
  c10::SmallVector<int64_t, 8> allocated;
  auto give_back = c10::make_scope_exit([&] {
    for (int64_t bytes : allocated) state.memory.Free(bytes);
  });
  const auto array_dims = [&](size_t i) -> const Dims& {
    return padding == nullptr ? program.outputs[i].type.dims : padding->outputs[i];
  };
  for (size_t i = 0; i < n; ++i) {
    // An output over a donated input takes its bytes over.
    const auto& output = program.outputs[i];
    const bool in_place = output.written_input >= 0 && donated[output.written_input];
    const int64_t bytes = in_place ? 0 : BytesOf({output.type.dtype, array_dims(i)});
    state.memory.Allocate(bytes);
    allocated.push_back(bytes);
  }
  pjrt::Event done;
  try {
    compiled->executable->Execute(args, device, keep, raw, &done);
  } catch (const pjrt::Error& error) {
    pjrt::ThrowAsTorchError(error, program.name);
  }
  give_back.release();
  GetStats().launches.fetch_add(1, std::memory_order_relaxed);

  const char* producer = compiled->producer;
  Launched launched{{std::move(compiled), &program}, {}, {}};
  for (size_t i = 0; i < n; ++i) {
    const hlo::Type& type = program.outputs[i].type;
    launched.outputs.push_back(std::make_shared<DeviceBuffer>(
        pjrt::Buffer(runtime.shared_client(), raw[i], type.dtype, array_dims(i)), type, device,
        producer, padding == nullptr ? Dims() : padding->outputs[i]));
    const int written = program.outputs[i].written_input;
    if (written >= 0 && donated[written]) (*inputs.arrays[written])->GiveBytesAway();
  }
  if (!program.check_messages.empty()) {
    state.AddCheck({launched.outputs.back(), {launched.program, &program.check_messages}});
    launched.outputs.pop_back();
  }
  if (IsBlocking()) {
    launched.done = std::move(done);
  } else {
    state.work(stream).Add(std::move(done));
  }
  return launched;
}

void Settle(const Launched& launched, int device) {
  if (!IsBlocking()) return;
  try {
    launched.done.Await();
  } catch (const pjrt::Error& error) {
    pjrt::ThrowAsTorchError(error, launched.program->name);
  }
  Runtime::Get().device(device).RaiseFailedChecks();
}

Launched Launch(ProgramWriter& writer, int64_t stream) {
  c10::SmallVector<const BufferRef*, 8> arrays;
  bool padded = false;
  for (const ProgramWriter::Input& input : writer.inputs()) {
    arrays.push_back(&input.buffer);
    padded = padded || (input.buffer != nullptr && input.buffer->padded());
  }
  auto compiled = ExecutableCache::Get().Find(writer.bytes(), padded);
  // Held by its storage and by the writer: any further holder still wants the old contents.
  Launched launched = Run(std::move(compiled), writer.device(), stream,
                          {arrays, 2, writer.ints(), writer.doubles(), !writer.has_random()});
  for (size_t i = 0; i < launched.outputs.size(); ++i) {
    const int written = launched.program->outputs[i].written_input;
    if (written >= 0) writer.inputs()[written].storage->Store(launched.outputs[i]);
  }
  Settle(launched, writer.device());
  return launched;
}

BufferRef ResizeOnDevice(const DeviceBuffer& buffer, const Dims& dims) {
  Runtime& runtime = Runtime::Get();
  const DType dtype = buffer.type().dtype;
  const auto compiled =
      ExecutableCache::Get().Find(ResizeKey(dtype, Dims(buffer.own_dims()), dims));
  DeviceState& state = runtime.device(buffer.device());
  const int64_t bytes = BytesOf({dtype, dims});
  state.memory.Allocate(bytes);
  PJRT_Buffer *arg = buffer.own_array().raw(), *result = nullptr;
  pjrt::Event done;
  try {
    compiled->executable->Execute({&arg, 1}, buffer.device(), {}, {&result, 1}, &done);
  } catch (const pjrt::Error& error) {
    state.memory.Free(bytes);
    pjrt::ThrowAsTorchError(error, compiled->program.name);
  }
  GetStats().launches.fetch_add(1, std::memory_order_relaxed);
  state.work(0).Add(std::move(done));
  return std::make_shared<DeviceBuffer>(pjrt::Buffer(runtime.shared_client(), result, dtype, dims),
                                        hlo::Type{dtype, dims}, buffer.device(), buffer.producer());
}

Launched Submit(ProgramWriter& writer, int64_t stream) {
  Recording* recording = Recording::Current();
  if (recording != nullptr) return recording->Add(writer);
  if (GetEagerMode() == EagerMode::kFused) {
    return FusedQueue::Of(writer.device()).Add(writer, stream);
  }
  return Launch(writer, stream);
}

}  // namespace torch_tpu::exec
