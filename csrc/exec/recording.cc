#include "exec/recording.h"

#include <c10/util/Exception.h>

#include "base/settings.h"
#include "exec/call_types.h"
#include "exec/sequence.h"

namespace torch_tpu::exec {
namespace {

thread_local Recording* g_current = nullptr;

}  // namespace

Recording* Recording::Current() { return g_current; }

Recording::Scope::Scope(std::shared_ptr<Recording> recording)
    : recording_(std::move(recording)), outer_(g_current) {
  g_current = recording_.get();
}

Recording::Scope::~Scope() { g_current = outer_; }

int Recording::HostInput(const void* address) {
  if (g_current == nullptr) return -1;
  const auto found = g_current->host_inputs_.find(address);
  return found == g_current->host_inputs_.end() ? -1 : found->second;
}

uint32_t Recording::NewValue(Value value) {
  values_.push_back(std::move(value));
  return static_cast<uint32_t>(values_.size()) - 1;
}

BufferRef Recording::Placeholder(const hlo::Type& type, int index) {
  const uint32_t id = NewValue({false, index, {index, nullptr}});
  return std::make_shared<DeviceBuffer>(shared_from_this(), id, type, device_, "an input");
}

uint32_t Recording::Use(const BufferRef& buffer) {
  if (buffer == nullptr) return SequenceWriter::kUnwritten;
  uint32_t id;
  if (buffer->is_promise() && buffer->source() == this) {
    id = buffer->promise_id();
  } else {
    buffer->buffer();  // another recording says what is wrong
    const auto found = captured_.find(buffer.get());
    id = found != captured_.end() ? found->second : NewValue({false, -1, {-1, buffer}});
    captured_.emplace(buffer.get(), id);
  }
  Value& value = values_[id];
  if (!value.computed && value.index == UINT32_MAX) {
    value.index = static_cast<uint32_t>(externals_.size());
    externals_.push_back(id);
  }
  return id;
}

Launched Recording::Add(ProgramWriter& writer) {
  TORCH_CHECK(writer.device() == device_, "graph: expected every call on tpu:", device_,
              ", got one on tpu:", writer.device());
  const std::shared_ptr<const CallTypes> types = TypesOf(writer.bytes());
  const LoweredProgram& program = types->program;
  Call call{std::string(writer.bytes()), {}};
  for (const ProgramWriter::Input& input : writer.inputs()) {
    call.bases.push_back(Use(input.buffer));
  }
  for (const auto& [position, input] : writer.view_offsets()) {
    const uint32_t base = call.bases[input];
    const int root = base == SequenceWriter::kUnwritten ? -1 : values_[base].root;
    if (root >= 0) {
      view_offsets_.push_back({static_cast<int>(ints_.size()) + position, root});
    }
  }
  for (const auto& [position, count] : writer.randoms()) {
    randoms_.push_back({static_cast<int>(ints_.size()) + position, count});
  }
  for (auto [position, input, dtype] : writer.host_operands()) {
    const bool number = IsFloat(dtype) || IsComplex(dtype);
    position += static_cast<int>(number ? doubles_.size() : ints_.size());
    host_operands_.push_back({position, input, dtype});
  }
  ints_.insert(ints_.end(), writer.ints().begin(), writer.ints().end());
  doubles_.insert(doubles_.end(), writer.doubles().begin(), writer.doubles().end());

  Launched launched{{types, &program}, {}, {}};
  const size_t outputs = program.outputs.size() - !program.check_messages.empty();
  for (size_t i = 0; i < outputs; ++i) {
    const int written = program.outputs[i].written_input;
    int root = -1;
    if (written >= 0 && call.bases[written] != SequenceWriter::kUnwritten) {
      const Value& base = values_[call.bases[written]];
      if (base.external.captured != nullptr) {
        needs_value_ = program.name;
        TORCH_CHECK(false, program.name,
                    ": expected a graph to write to its inputs and own tensors, got another one");
      }
      root = base.root;
    }
    const uint32_t id = NewValue({true, root, {}, num_computed_++});
    launched.outputs.push_back(std::make_shared<DeviceBuffer>(
        shared_from_this(), id, program.outputs[i].type, device_, types->producer));
    if (written >= 0) writer.inputs()[written].storage->Store(launched.outputs.back());
  }
  calls_.push_back(std::move(call));
  return launched;
}

void Recording::RequireArray(const DeviceBuffer& buffer) {
  needs_value_ = buffer.producer();
  TORCH_CHECK(false, "graph: expected a call on the device, got one that needs the contents of ",
              buffer.producer(), " while the graph is traced");
}

bool Recording::IsComputed(const DeviceBuffer& buffer) const {
  return buffer.source() == this && values_[buffer.promise_id()].computed;
}

Recording::Finished Recording::Finish(c10::ArrayRef<Output> outputs) const {
  const auto number = [&](uint32_t id) {
    if (id == SequenceWriter::kUnwritten) return id;
    const Value& value = values_[id];
    return value.computed ? static_cast<uint32_t>(externals_.size()) + value.index : value.index;
  };
  const bool guarded = !GetSettings().fast_math;
  SequenceWriter writer(externals_.size(), calls_.size(), outputs.size(), guarded);
  for (const Call& call : calls_) {
    std::vector<uint32_t> bases;
    for (uint32_t base : call.bases) bases.push_back(number(base));
    writer.Call(call.bytes, bases);
  }
  Finished finished;
  for (uint32_t id : externals_) finished.externals.push_back(values_[id].external);
  for (const Output& output : outputs) {
    TORCH_INTERNAL_ASSERT(IsComputed(*output.value));
    int replaces = -1;
    for (size_t i = 0; output.replaces >= 0 && i < finished.externals.size(); ++i) {
      const Value& external = values_[externals_[i]];
      if (external.external.placeholder == output.replaces) replaces = static_cast<int>(i);
    }
    writer.Output(number(output.value->promise_id()), replaces);
  }
  finished.key = writer.Take();
  finished.ints = ints_;
  finished.doubles = doubles_;
  if (guarded) finished.doubles.push_back(1);
  finished.view_offsets = view_offsets_;
  finished.randoms = randoms_;
  finished.host_operands = host_operands_;
  return finished;
}

}  // namespace torch_tpu::exec
