#include "exec/recording.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "base/intern.h"
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
  for (const Recording* at = g_current; at != nullptr; at = at->outer_.get()) {
    const auto found = at->host_inputs_.find(address);
    if (found != at->host_inputs_.end()) return found->second;
  }
  return -1;
}

uint32_t Recording::NewValue(Value value) {
  values_.push_back(std::move(value));
  return static_cast<uint32_t>(values_.size()) - 1;
}

BufferRef Recording::Placeholder(const hlo::Type& type, int index) {
  const uint32_t id = NewValue({false, outer_ == nullptr ? index : -1, type, {index, nullptr}});
  return std::make_shared<DeviceBuffer>(shared_from_this(), id, type, device_, "an input");
}

const Recording* Recording::OwnerOf(const DeviceBuffer& buffer) const {
  const Recording* at = buffer.is_promise() ? this : nullptr;
  while (at != nullptr && at != buffer.source()) at = at->outer_.get();
  return at;
}

int Recording::RootOf(const DeviceBuffer& buffer) const {
  const Recording* owner = OwnerOf(buffer);
  return owner == nullptr ? -1 : owner->values_[buffer.promise_id()].root;
}

void Recording::Refuse(std::string op, const char* why) {
  for (Recording* at = this; at != nullptr; at = at->outer_.get()) at->needs_value_ = op;
  TORCH_CHECK(false, op, ": expected ", why);
}

uint32_t Recording::Use(const BufferRef& buffer) {
  if (buffer == nullptr) return SequenceWriter::kUnwritten;
  const bool own = buffer->is_promise() && buffer->source() == this;
  uint32_t id;
  if (own) {
    id = buffer->promise_id();
  } else {
    if (OwnerOf(*buffer) == nullptr) buffer->own_array();  // another recording says what is wrong
    const auto found = captured_.find(buffer.get());
    id = found != captured_.end()
             ? found->second
             : NewValue({false, RootOf(*buffer), buffer->type(), {-1, buffer}});
    captured_.emplace(buffer.get(), id);
  }
  Value& value = values_[id];
  if (!value.computed && value.index == UINT32_MAX) {
    value.index = static_cast<uint32_t>(externals_.size());
    externals_.push_back(id);
  }
  return id;
}

BufferRef Recording::Promise(int root, hlo::Type type, std::string_view producer) {
  const uint32_t id = NewValue({true, root, type, {}, num_computed_++});
  return std::make_shared<DeviceBuffer>(shared_from_this(), id, std::move(type), device_,
                                        Intern(std::string(producer)));
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
        Refuse(program.name, "a graph to write to its inputs and own tensors, got another one");
      }
      root = base.root;
    }
    launched.outputs.push_back(Promise(root, program.outputs[i].type, program.name));
    if (written >= 0) writer.inputs()[written].storage->Store(launched.outputs.back());
  }
  calls_.push_back(std::move(call));
  return launched;
}

std::vector<BufferRef> Recording::AddRegions(RegionKind kind, c10::ArrayRef<BufferRef> given,
                                             int num_carried, int64_t length,
                                             c10::ArrayRef<Region> regions,
                                             c10::ArrayRef<hlo::Type> results) {
  Call call;
  for (const BufferRef& buffer : given) call.bases.push_back(Use(buffer));
  const auto base_of = [&](uint32_t id) {
    const auto found = std::find(call.bases.begin(), call.bases.end(), id);
    const auto index = static_cast<uint32_t>(found - call.bases.begin());
    if (found == call.bases.end()) call.bases.push_back(id);
    return index;
  };
  RegionCall made;
  made.kind = kind;
  made.num_given = static_cast<uint32_t>(given.size());
  made.num_carried = static_cast<uint32_t>(num_carried);
  made.length = static_cast<uint32_t>(length);
  if (kind == RegionKind::kScan) made.stacked = results.slice(num_carried).vec();
  std::vector<std::string> texts;
  texts.reserve(regions.size());
  for (const Region& region : regions) {
    Recording& inner = *region.recording;
    if (!inner.randoms_.empty()) {
      Refuse(RegionKindName(kind), "no random numbers inside, whose count only the run tells");
    }
    std::vector<Output> outputs;
    for (const BufferRef& result : region.results) {
      inner.Use(result);
      outputs.push_back({result, -1});
    }
    texts.push_back(inner.Bytes(outputs, /*guarded=*/false));
    RegionCall::Region& added = made.regions.emplace_back();
    added.bytes = texts.back();
    const uint32_t arguments = kind == RegionKind::kIf ? 0 : made.num_given;
    for (uint32_t id : inner.externals_) {
      const External& external = inner.values_[id].external;
      added.externals.push_back(external.captured == nullptr
                                    ? static_cast<uint32_t>(external.placeholder)
                                    : arguments + base_of(Use(external.captured)));
    }
    const int ints = static_cast<int>(ints_.size()), doubles = static_cast<int>(doubles_.size());
    for (const auto& [position, root] : inner.view_offsets_) {
      view_offsets_.push_back({ints + position, root});
    }
    for (auto [position, input, dtype] : inner.host_operands_) {
      position += IsFloat(dtype) || IsComplex(dtype) ? doubles : ints;
      host_operands_.push_back({position, input, dtype});
    }
    ints_.insert(ints_.end(), inner.ints_.begin(), inner.ints_.end());
    doubles_.insert(doubles_.end(), inner.doubles_.begin(), inner.doubles_.end());
  }
  call.bytes = made.Bytes();
  calls_.push_back(std::move(call));
  std::vector<BufferRef> promises;
  for (const hlo::Type& type : results) {
    promises.push_back(Promise(-1, type, RegionKindName(kind)));
  }
  return promises;
}

void Recording::RequireArray(const DeviceBuffer& buffer) {
  Refuse(buffer.producer(),
         "a call on the device, got one that needs the contents of its result while the graph is "
         "traced");
}

bool Recording::IsComputed(const DeviceBuffer& buffer) const {
  return buffer.source() == this && values_[buffer.promise_id()].computed;
}

std::string Recording::Bytes(c10::ArrayRef<Output> outputs, bool guarded) const {
  const auto number = [&](uint32_t id) {
    if (id == SequenceWriter::kUnwritten) return id;
    const Value& value = values_[id];
    return value.computed ? static_cast<uint32_t>(externals_.size()) + value.index : value.index;
  };
  const auto id_of = [&](const BufferRef& buffer) {
    return OwnerOf(*buffer) == this ? buffer->promise_id() : captured_.at(buffer.get());
  };
  std::vector<hlo::Type> types;
  for (uint32_t id : externals_) types.push_back(values_[id].type);
  const OperandCounts operands{static_cast<uint32_t>(ints_.size()),
                               static_cast<uint32_t>(doubles_.size())};
  SequenceWriter writer(types, calls_.size(), outputs.size(), operands, guarded);
  for (const Call& call : calls_) {
    std::vector<uint32_t> bases;
    for (uint32_t base : call.bases) bases.push_back(number(base));
    writer.Call(call.bytes, bases);
  }
  for (const Output& output : outputs) {
    int replaces = -1;
    for (size_t i = 0; output.replaces >= 0 && i < externals_.size(); ++i) {
      const Value& external = values_[externals_[i]];
      if (external.external.placeholder == output.replaces) replaces = static_cast<int>(i);
    }
    writer.Output(number(id_of(output.value)), replaces);
  }
  return writer.Take();
}

Recording::Finished Recording::Finish(c10::ArrayRef<Output> outputs) const {
  for (const Output& output : outputs) TORCH_INTERNAL_ASSERT(IsComputed(*output.value));
  const bool guarded = !GetSettings().fast_math;
  Finished finished;
  for (uint32_t id : externals_) finished.externals.push_back(values_[id].external);
  finished.key = Bytes(outputs, guarded);
  finished.ints = ints_;
  finished.doubles = doubles_;
  if (guarded) finished.doubles.push_back(1);
  finished.view_offsets = view_offsets_;
  finished.randoms = randoms_;
  finished.host_operands = host_operands_;
  return finished;
}

}  // namespace torch_tpu::exec
