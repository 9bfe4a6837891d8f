// From a program's bytes to StableHLO.
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "exec/call_decoder.h"
#include "exec/sequence.h"

namespace torch_tpu::exec {
namespace {

using hlo::Builder;
using hlo::Value;
using hlo::Values;

// Large matrix products of many rows and what cannot change their values.
bool ProductsOnly(const Builder& b) {
  constexpr int64_t kManyRows = 32, kMuchWork = 1 << 20;
  static const std::set<std::string_view> kHarmless = {
      "dot_general", "add",       "multiply", "constant",      "convert",
      "reshape",     "transpose", "slice",    "dynamic_slice", "broadcast_in_dim"};
  return b.operations().contains("dot_general") && b.least_product_rows() >= kManyRows &&
         b.product_work() >= kMuchWork &&
         std::all_of(b.operations().begin(), b.operations().end(),
                     [](const std::string& op) { return kHarmless.contains(op); });
}

void DeclarePacks(Builder& b, int ints, int doubles, OperandPacks& packs) {
  if (ints > 0) packs.ints = b.Parameter({DType::Long, {ints}});
  if (doubles > 0) packs.doubles = b.Parameter({DType::Double, {doubles}});
}

void FillUnwritten(Builder& b, CallDecoder& call) {
  for (CallDecoder::Base& base : call.bases()) {
    if (!base.written_before) base.value = b.Constant(base.type.dtype, 0, base.type.dims);
  }
}

// The flags of run-time checks come last; then the text is complete.
void Finish(Builder& b, Values outputs, Values oks, LoweredProgram& program) {
  if (!oks.empty()) {
    for (Value& ok : oks) ok = b.Reshape(ok, {1});
    const Value flags = b.Concatenate(oks, 0);
    program.outputs.push_back({flags.type(), -1});
    outputs.push_back(flags);
  }
  b.SetResults(outputs);
  if (b.target() == hlo::Target::kCpu && ProductsOnly(b)) {
    // XNNPACK packs a right side that is a parameter only once per address, and eager writes in
    // place. A reshaped parameter is packed at each launch.
    program.use_xnnpack = true;
    b.FlattenParameters();
  }
  program.text = b.Text();
}

std::string AliasingOutput(size_t output) {
  return fmt::format("tf.aliasing_output = {} : i32", output);
}

LoweredProgram LowerCall(std::string_view bytes, hlo::Target target) {
  Builder b("program", target);
  CallDecoder call(bytes, b);
  for (CallDecoder::Base& base : call.bases()) {
    if (base.written_before) base.value = b.Parameter(base.type);
  }
  OperandPacks packs;
  DeclarePacks(b, call.num_ints(), call.num_doubles(), packs);
  FillUnwritten(b, call);
  CallDecoder::Lowered lowered = call.Lower(packs);

  LoweredProgram program;
  program.name = std::move(lowered.name);
  program.results = std::move(lowered.results);
  program.outputs = std::move(lowered.outputs);
  program.check_messages = std::move(lowered.check_messages);
  program.excess_precision = lowered.excess_precision;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const int written = program.outputs[i].written_input;
    if (written < 0 || !call.bases()[written].written_before) continue;
    const auto is_parameter = [](const CallDecoder::Base& base) { return base.written_before; };
    const auto parameter =
        std::count_if(call.bases().begin(), call.bases().begin() + written, is_parameter);
    b.SetParameterAttributes(static_cast<int>(parameter), AliasingOutput(i));
  }
  Finish(b, std::move(lowered.values), std::move(lowered.oks), program);
  return program;
}

// `value` such that its readers in other calls find it as the call alone would have left it. The
// product with a 1 that no compiler sees is what a contraction takes instead; it rounds nothing.
Value Guarded(Builder& b, Value value, Value one) {
  if (b.MayContract(value)) {
    value = b.OptimizationBarrier({value})[0];
    value = value * b.Broadcast(b.Convert(one, value.dtype()), value.dims());
  }
  return b.MayContract(value) || b.MayFold(value) ? b.OptimizationBarrier({value})[0] : value;
}

LoweredProgram LowerSequence(std::string_view bytes, hlo::Target target) {
  const SequenceView sequence(bytes);
  Builder b("program", target);
  std::vector<CallDecoder> calls;
  calls.reserve(sequence.calls.size());
  Values values(sequence.num_externals);
  int ints = 0, doubles = 0;
  for (const SequenceView::Call& recorded : sequence.calls) {
    calls.emplace_back(recorded.bytes, b);
    ints += calls.back().num_ints();
    doubles += calls.back().num_doubles();
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    TORCH_INTERNAL_ASSERT(calls[i].bases().size() == sequence.calls[i].bases.size());
    for (size_t j = 0; j < calls[i].bases().size(); ++j) {
      const uint32_t id = sequence.calls[i].bases[j];
      if (id < sequence.num_externals && !values[id].defined()) {
        TORCH_INTERNAL_ASSERT(id == 0 || values[id - 1].defined(), "externals are out of order");
        values[id] = b.Parameter(calls[i].bases()[j].type);
      }
    }
  }
  OperandPacks packs;
  DeclarePacks(b, ints, doubles + sequence.guarded, packs);
  Value one;
  if (sequence.guarded) one = b.Reshape(b.Slice(packs.doubles, {doubles}, {doubles + 1}), {});

  LoweredProgram program;
  Values oks;
  for (size_t i = 0; i < calls.size(); ++i) {
    FillUnwritten(b, calls[i]);
    for (size_t j = 0; j < calls[i].bases().size(); ++j) {
      CallDecoder::Base& base = calls[i].bases()[j];
      if (base.written_before) base.value = values[sequence.calls[i].bases[j]];
    }
    CallDecoder::Lowered lowered = calls[i].Lower(packs);
    for (const Value& value : lowered.values) {
      values.push_back(sequence.guarded ? Guarded(b, value, one) : value);
    }
    for (const Value& ok : lowered.oks) oks.push_back(ok);
    for (CheckMessage& message : lowered.check_messages) {
      program.check_messages.push_back(std::move(message));
    }
    program.excess_precision = program.excess_precision || lowered.excess_precision;
  }
  program.name = fmt::format("graph of {} ops", calls.size());
  Values outputs;
  for (const SequenceView::Output& output : sequence.outputs) {
    const Value value = values[output.value];
    if (output.replaces >= 0) {
      b.SetParameterAttributes(output.replaces, AliasingOutput(outputs.size()));
    }
    program.outputs.push_back({value.type(), output.replaces});
    outputs.push_back(value);
  }
  Finish(b, std::move(outputs), std::move(oks), program);
  return program;
}

}  // namespace

LoweredProgram Lower(std::string_view bytes, hlo::Target target) {
  return SequenceView::Is(bytes) ? LowerSequence(bytes, target) : LowerCall(bytes, target);
}

}  // namespace torch_tpu::exec
