#include "compile/compiled_graph.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "eager/generator.h"
#include "eager/guard.h"
#include "eager/storage.h"
#include "eager/stream.h"
#include "exec/fused_queue.h"

namespace torch_tpu::compile {
namespace {

using c10::IValue;
using eager::StorageOf;
using exec::BufferRef;

constexpr int64_t kMostHostBytes = 1024;

// What a trace depends on, as bytes, and the inputs' storages by number.
class Signature {
 public:
  Signature(c10::ArrayRef<IValue> args, const std::string& graph, bool static_offsets)
      : writer_(DeviceOf(args)) {
    for (size_t i = 0; i < args.size(); ++i) {
      const IValue& arg = args[i];
      if (arg.isTensor() && arg.toTensor().defined()) {
        const at::Tensor& tensor = arg.toTensor();
        if (eager::OnDevice(tensor)) {
          AddTensor(tensor, static_cast<int>(i), static_offsets);
        } else {
          AddHostTensor(tensor, graph);
        }
      } else if (arg.isInt()) {
        writer_.Int(arg.toInt());
      } else if (arg.isDouble()) {
        writer_.Doubles({arg.toDouble()});
      } else if (arg.isBool()) {
        writer_.Bool(arg.toBool());
      } else {
        TORCH_CHECK(arg.isNone() || arg.isTensor(), graph,
                    ": expected tensors and numbers as inputs, got ", arg.tagKind());
        writer_.None();
      }
    }
  }

  std::string_view bytes() const { return writer_.bytes(); }
  int device() const { return writer_.device(); }
  auto& storages() { return writer_.inputs(); }
  // The first argument over each storage.
  const c10::SmallVector<int, 8>& first_args() const { return first_args_; }

 private:
  static int DeviceOf(c10::ArrayRef<IValue> args) {
    for (const IValue& arg : args) {
      if (arg.isTensor() && arg.toTensor().defined() && eager::OnDevice(arg.toTensor())) {
        return arg.toTensor().device().index();
      }
    }
    return eager::CurrentDevice();
  }

  void AddTensor(const at::Tensor& tensor, int arg, bool static_offsets) {
    TORCH_CHECK(tensor.device().index() == writer_.device(),
                "Expected all tensors to be on the same device, but found at least two devices, ",
                "tpu:", writer_.device(), " and ", tensor.device(), "!");
    exec::BufferSlot* storage = &StorageOf(tensor);
    const size_t known = writer_.inputs().size();
    writer_.Tensor(eager::ViewOf(tensor));
    if (writer_.inputs().size() > known) {
      first_args_.push_back(arg);
      first_offsets_.push_back(tensor.storage_offset());
      if (static_offsets) writer_.Int(tensor.storage_offset());
      return;
    }
    for (size_t i = 0; i < known; ++i) {
      if (writer_.inputs()[i].storage == storage) {
        writer_.Int(tensor.storage_offset() - first_offsets_[i]);
      }
    }
  }

  void AddHostTensor(const at::Tensor& tensor, const std::string& graph) {
    if (tensor.dim() == 0) return writer_.Dtype(tensor.scalar_type());  // its value is an operand
    TORCH_CHECK(static_cast<int64_t>(tensor.nbytes()) <= kMostHostBytes, graph,
                ": expected inputs on tpu, or on the CPU with at most ", kMostHostBytes,
                " bytes, got ", tensor.nbytes(), " bytes on ", tensor.device(),
                ". Move the tensor to tpu first");
    const at::Tensor host = tensor.cpu().contiguous();
    writer_.Dtype(host.scalar_type());
    writer_.Ints(host.sizes());
    writer_.String({static_cast<const char*>(host.const_data_ptr()), host.nbytes()});
  }

  exec::ProgramWriter writer_;
  c10::SmallVector<int, 8> first_args_;
  c10::SmallVector<int64_t, 8> first_offsets_;
};

// Arguments as programs take them: values without lazy conjugation.
std::vector<IValue> Resolved(c10::ArrayRef<IValue> args) {
  std::vector<IValue> resolved(args.begin(), args.end());
  for (IValue& arg : resolved) {
    if (!arg.isTensor() || !arg.toTensor().defined()) continue;
    const at::Tensor& tensor = arg.toTensor();
    if (tensor.is_conj() || tensor.is_neg()) arg = tensor.resolve_conj().resolve_neg();
  }
  return resolved;
}

struct Result {
  enum class Kind { kConstant, kOverInput, kOverOutput, kUnwritten };
  Kind kind = Kind::kConstant;
  IValue constant;  // None, a number, or a tensor that no call made
  int base = -1;    // the input storage, or the group of results over one new storage
  DType dtype = DType::Float;
  Dims sizes, strides;
  int64_t offset = 0;  // over an input: relative to the first argument's
  int64_t bytes = 0;   // of an unwritten storage
};

}  // namespace

struct CompiledGraph::Trace {
  std::string signature;
  std::shared_ptr<const exec::CompiledProgram> compiled;  // null: nothing to launch
  exec::Recording::Finished recorded;
  std::vector<int64_t> traced_offsets;       // of the first argument over each storage
  std::vector<std::pair<int, int>> written;  // input storage, output
  std::vector<int> groups;                   // output of each group of results
  std::vector<Result> results;
};

struct CompiledGraph::Tracing {
  std::shared_ptr<exec::Recording> recording;
  std::unique_ptr<exec::Recording::Scope> scope;
  std::unique_ptr<Trace> trace;
  std::vector<c10::Storage> stand_ins;
  std::vector<BufferRef> placeholders;  // null: the storage was not written yet
};

CompiledGraph::CompiledGraph(std::string name, bool static_offsets)
    : name_(std::move(name)), static_offsets_(static_offsets) {}
CompiledGraph::~CompiledGraph() = default;

std::vector<IValue> CompiledGraph::Begin(c10::ArrayRef<IValue> given) {
  TORCH_CHECK(tracing_ == nullptr, name_, ": expected no trace under way, got one");
  const std::vector<IValue> args = Resolved(given);
  exec::FusedQueue::FlushAll();
  Signature signature(args, name_, static_offsets_);
  auto tracing = std::make_unique<Tracing>();
  tracing->recording = std::make_shared<exec::Recording>(signature.device());
  tracing->trace = std::make_unique<Trace>();
  tracing->trace->signature = signature.bytes();
  for (size_t i = 0; i < signature.storages().size(); ++i) {
    const auto& input = signature.storages()[i];
    const at::Tensor& first = args[signature.first_args()[i]].toTensor();
    BufferRef placeholder;
    if (input.buffer != nullptr) {
      placeholder = tracing->recording->Placeholder(input.type, static_cast<int>(i));
    }
    tracing->placeholders.push_back(placeholder);
    tracing->stand_ins.push_back(eager::NewStorage(placeholder, signature.device(),
                                                   static_cast<int64_t>(first.storage().nbytes())));
    tracing->trace->traced_offsets.push_back(first.storage_offset());
  }
  std::vector<IValue> stand_ins;
  for (const IValue& arg : args) {
    stand_ins.push_back(arg);
    if (!arg.isTensor() || !arg.toTensor().defined()) continue;
    const at::Tensor& tensor = arg.toTensor();
    if (!eager::OnDevice(tensor)) {
      const at::Tensor stand_in = tensor.clone();
      tracing->recording->AddHostInput(stand_in.const_data_ptr(),
                                       static_cast<int>(stand_ins.size()) - 1);
      stand_ins.back() = stand_in;
      continue;
    }
    size_t slot = 0;
    while (signature.storages()[slot].storage != &StorageOf(tensor)) ++slot;
    stand_ins.back() = eager::TensorOver(tracing->stand_ins[slot], tensor.scalar_type(),
                                         tensor.sizes(), tensor.strides(), tensor.storage_offset());
  }
  tracing->scope = std::make_unique<exec::Recording::Scope>(tracing->recording);
  tracing_ = std::move(tracing);
  return stand_ins;
}

std::string CompiledGraph::Abort() {
  if (tracing_ == nullptr) return "";
  const std::string needs_value = tracing_->recording->needs_value();
  tracing_.reset();
  return needs_value;
}

void CompiledGraph::End(c10::ArrayRef<IValue> results) {
  TORCH_CHECK(tracing_ != nullptr, name_, ": expected a trace under way, got none");
  const std::unique_ptr<Tracing> tracing = std::move(tracing_);
  tracing->scope.reset();
  const exec::Recording& recording = *tracing->recording;
  Trace& trace = *tracing->trace;

  std::vector<exec::Recording::Output> outputs;
  for (size_t i = 0; i < tracing->stand_ins.size(); ++i) {
    const auto& storage =
        *static_cast<eager::DeviceStorage*>(tracing->stand_ins[i].data_ptr().get_context());
    const BufferRef now = storage.Load();
    if (now == tracing->placeholders[i]) continue;
    TORCH_CHECK(now != nullptr && recording.IsComputed(*now), name_,
                ": expected an input to be written by a call on tpu, got a copy from the host");
    trace.written.emplace_back(static_cast<int>(i), static_cast<int>(outputs.size()));
    outputs.push_back({now, static_cast<int>(i)});
  }
  std::vector<const c10::StorageImpl*> groups;
  for (const IValue& value : results) {
    Result result;
    result.constant = value;
    if (value.isTensor() && value.toTensor().defined() && eager::OnDevice(value.toTensor())) {
      const at::Tensor tensor = value.toTensor().resolve_conj().resolve_neg();
      const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
      result.dtype = tensor.scalar_type();
      result.sizes = Dims(tensor.sizes());
      result.strides = Dims(tensor.strides());
      result.offset = tensor.storage_offset();
      result.bytes = static_cast<int64_t>(storage->nbytes());
      for (size_t i = 0; i < tracing->stand_ins.size(); ++i) {
        if (tracing->stand_ins[i].unsafeGetStorageImpl() != storage) continue;
        result.kind = Result::Kind::kOverInput;
        result.base = static_cast<int>(i);
        result.offset -= trace.traced_offsets[i];
      }
      const BufferRef buffer = StorageOf(tensor).Load();
      if (result.kind == Result::Kind::kOverInput) {
      } else if (buffer == nullptr) {
        result.kind = Result::Kind::kUnwritten;
      } else if (buffer->is_promise()) {
        TORCH_INTERNAL_ASSERT(recording.IsComputed(*buffer));
        result.kind = Result::Kind::kOverOutput;
        const auto found = std::find(groups.begin(), groups.end(), storage);
        result.base = static_cast<int>(found - groups.begin());
        if (found == groups.end()) {
          groups.push_back(storage);
          trace.groups.push_back(static_cast<int>(outputs.size()));
          outputs.push_back({buffer, -1});
        }
      }
      if (result.kind != Result::Kind::kConstant) result.constant = IValue();
    }
    trace.results.push_back(std::move(result));
  }
  trace.recorded = recording.Finish(outputs);
  if (!outputs.empty()) {
    trace.compiled = exec::ExecutableCache::Get().Find(trace.recorded.key);
  }
  if (traces_.size() == kMaxTraces) traces_.erase(traces_.begin());
  traces_.push_back(std::move(tracing->trace));
}

std::optional<std::vector<IValue>> CompiledGraph::Run(c10::ArrayRef<IValue> given) {
  for (const IValue& arg : given) {
    if (!arg.isTensor() || !arg.toTensor().defined()) continue;
    if (arg.toTensor().is_conj() || arg.toTensor().is_neg()) return Run(Resolved(given));
  }
  exec::FusedQueue::FlushAll();  // so that what it wrote last may be donated
  Signature signature(given, name_, static_offsets_);
  const auto found = std::find_if(traces_.rbegin(), traces_.rend(), [&](const auto& trace) {
    return trace->signature == signature.bytes();
  });
  if (found == traces_.rend()) return std::nullopt;
  std::rotate(found.base() - 1, found.base(), traces_.end());
  const Trace* trace = traces_.back().get();
  const exec::Recording::Finished& recorded = trace->recorded;
  auto& storages = signature.storages();
  const auto first_offset = [&](int storage) {
    return given[signature.first_args()[storage]].toTensor().storage_offset();
  };

  exec::Launched launched{nullptr, {}, {}};
  if (trace->compiled != nullptr) {
    c10::SmallVector<const BufferRef*, 16> arrays;
    for (const auto& external : recorded.externals) {
      arrays.push_back(external.placeholder < 0 ? &external.captured
                                                : &storages[external.placeholder].buffer);
    }
    std::vector<int64_t> changed;
    std::vector<double> changed_doubles;
    c10::ArrayRef<double> doubles = recorded.doubles;
    c10::ArrayRef<int64_t> ints = recorded.ints;
    bool moved = false;
    for (const auto& [position, storage] : recorded.view_offsets) {
      moved = moved || first_offset(storage) != trace->traced_offsets[storage];
    }
    if (moved || !recorded.randoms.empty() || !recorded.host_operands.empty()) {
      changed = recorded.ints;
      for (const auto& [position, storage] : recorded.view_offsets) {
        changed[position] += first_offset(storage) - trace->traced_offsets[storage];
      }
      for (const auto& [position, count] : recorded.randoms) {
        const auto state = eager::NextRandomState(std::nullopt, signature.device(), count);
        changed[position] = static_cast<int64_t>(state.seed);
        changed[position + 1] = static_cast<int64_t>(state.offset);
      }
      if (!recorded.host_operands.empty()) changed_doubles = recorded.doubles;
      for (const auto& [position, arg, dtype] : recorded.host_operands) {
        const c10::Scalar value = given[arg].toTensor().item();
        if (IsComplex(dtype)) {
          changed_doubles[position] = value.toComplexDouble().real();
          changed_doubles[position + 1] = value.toComplexDouble().imag();
        } else if (IsFloat(dtype)) {
          changed_doubles[position] = value.toDouble();
        } else {
          changed[position] = value.toLong();
        }
      }
      ints = changed;
      if (!changed_doubles.empty()) doubles = changed_doubles;
    }
    // Each array is held by its storage and by the signature.
    launched =
        exec::Run(trace->compiled, signature.device(), eager::CurrentStream(signature.device()),
                  {arrays, 2, ints, doubles, recorded.randoms.empty()});
  }
  for (const auto& [storage, output] : trace->written) {
    storages[storage].storage->Store(launched.outputs[output]);
    const at::Tensor& arg = given[signature.first_args()[storage]].toTensor();
    if (!arg.is_inference()) arg.unsafeGetTensorImpl()->bump_version();
  }
  if (trace->compiled != nullptr) exec::Settle(launched, signature.device());

  c10::SmallVector<c10::Storage, 8> groups;
  for (int output : trace->groups) {
    BufferRef& buffer = launched.outputs[output];
    const int64_t bytes = buffer->bytes();
    groups.push_back(eager::NewStorage(std::move(buffer), signature.device(), bytes));
  }
  std::vector<IValue> results;
  results.reserve(trace->results.size());
  for (const Result& r : trace->results) {
    switch (r.kind) {
      case Result::Kind::kConstant:
        results.push_back(r.constant.isTensor() && r.constant.toTensor().defined()
                              ? IValue(r.constant.toTensor().clone())
                              : r.constant);
        break;
      case Result::Kind::kOverInput:
        results.emplace_back(
            eager::TensorOver(given[signature.first_args()[r.base]].toTensor().storage(), r.dtype,
                              r.sizes, r.strides, r.offset + first_offset(r.base)));
        break;
      case Result::Kind::kOverOutput:
        results.emplace_back(
            eager::TensorOver(groups[r.base], r.dtype, r.sizes, r.strides, r.offset));
        break;
      case Result::Kind::kUnwritten:
        results.emplace_back(
            eager::TensorOver(eager::NewStorage(nullptr, signature.device(), r.bytes), r.dtype,
                              r.sizes, r.strides, r.offset));
        break;
    }
  }
  return results;
}

std::string CompiledGraph::text() const {
  if (traces_.empty() || traces_.back()->compiled == nullptr) return "";
  return exec::Lower(traces_.back()->recorded.key, exec::ExecutableCache::target()).text;
}

std::shared_ptr<const exec::CompiledProgram> CompiledGraph::program() const {
  return traces_.empty() ? nullptr : traces_.back()->compiled;
}

}  // namespace torch_tpu::compile
