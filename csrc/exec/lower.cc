// From a program's bytes to StableHLO.
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "exec/call_decoder.h"
#include "exec/resize.h"
#include "exec/sequence_lowering.h"

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
  if (ForXnnpack(b)) {
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

LoweredProgram LowerCall(std::string_view bytes, Builder& b) {
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

LoweredProgram LowerSequence(std::string_view bytes, Builder& b) {
  const SequenceView sequence(bytes);
  Values externals;
  for (const hlo::Type& type : sequence.externals) externals.push_back(b.Parameter(type));
  const int ints = static_cast<int>(sequence.operands.ints);
  const int doubles = static_cast<int>(sequence.operands.doubles);
  OperandPacks packs;
  DeclarePacks(b, ints, doubles + sequence.guarded, packs);
  Value one;
  if (sequence.guarded) one = b.Reshape(b.Slice(packs.doubles, {doubles}, {doubles + 1}), {});

  LoweredProgram program;
  Values oks;
  Values outputs =
      SequenceLowering(b, packs, one, program).Lower(sequence, std::move(externals), oks);
  program.name = fmt::format("graph of {} ops", sequence.calls.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int replaces = sequence.outputs[i].replaces;
    if (replaces >= 0) b.SetParameterAttributes(replaces, AliasingOutput(i));
    program.outputs.push_back({outputs[i].type(), replaces});
  }
  Finish(b, std::move(outputs), std::move(oks), program);
  return program;
}

}  // namespace

bool ForXnnpack(const Builder& b) { return b.target() == hlo::Target::kCpu && ProductsOnly(b); }

LoweredProgram Lower(std::string_view bytes, hlo::Target target) {
  Builder b("program", target);
  return Lower(bytes, b);
}

LoweredProgram Lower(std::string_view bytes, Builder& b) {
  if (SequenceView::Is(bytes)) return LowerSequence(bytes, b);
  if (ResizeView::Is(bytes)) {
    LoweredProgram program = LowerResize(bytes, b);
    program.text = b.Text();
    return program;
  }
  return LowerCall(bytes, b);
}

}  // namespace torch_tpu::exec
