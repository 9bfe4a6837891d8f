#include "exec/sequence_lowering.h"

#include <c10/util/Exception.h>

namespace torch_tpu::exec {

using hlo::Builder;
using hlo::Value;
using hlo::ValueRef;
using hlo::Values;

namespace {

Value Int32(Builder& b, int64_t value) { return b.Constant(DType::Int, value, {}); }

// 0-d indices of row `i` of x.
Values RowAt(Builder& b, Value x, Value i) {
  Values starts(static_cast<size_t>(x.rank()), b.Constant(i.dtype(), 0, {}));
  starts[0] = i;
  return starts;
}

Value Row(Builder& b, Value x, Value i) {
  Dims sizes = x.dims();
  sizes[0] = 1;
  const Dims row(x.dims().begin() + 1, x.dims().end());
  return b.Reshape(b.DynamicSlice(x, RowAt(b, x, i), sizes), row);
}

Value WithRow(Builder& b, Value x, Value i, Value row) {
  Dims sizes = x.dims();
  sizes[0] = 1;
  return b.DynamicUpdateSlice(x, b.Reshape(row, sizes), RowAt(b, x, i));
}

}  // namespace

// `value` such that its readers in other calls find it as the call alone would have left it. The
// product with a 1 that no compiler sees is what a contraction takes instead; it rounds nothing.
Value SequenceLowering::Guarded(Value value) {
  if (!one_.defined()) return value;
  if (b_.MayContract(value)) {
    value = b_.OptimizationBarrier({value})[0];
    value = value * b_.Broadcast(b_.Convert(one_, value.dtype()), value.dims());
  }
  return b_.MayContract(value) || b_.MayFold(value) ? b_.OptimizationBarrier({value})[0] : value;
}

Values SequenceLowering::Lower(const SequenceView& sequence, Values values, Values& oks) {
  for (const SequenceView::Call& recorded : sequence.calls) {
    if (RegionCall::Is(recorded.bytes)) {
      Values bases;
      for (uint32_t id : recorded.bases) bases.push_back(values[id]);
      const Values results = LowerRegions(RegionCall::Parse(recorded.bytes), bases, oks);
      values.insert(values.end(), results.begin(), results.end());
      continue;
    }
    CallDecoder call(recorded.bytes, b_);
    TORCH_INTERNAL_ASSERT(call.bases().size() == recorded.bases.size());
    for (size_t j = 0; j < call.bases().size(); ++j) {
      CallDecoder::Base& base = call.bases()[j];
      base.value = base.written_before ? values[recorded.bases[j]]
                                       : b_.Constant(base.type.dtype, 0, base.type.dims);
    }
    CallDecoder::Lowered lowered = call.Lower(packs_);
    for (const Value& value : lowered.values) values.push_back(Guarded(value));
    oks.insert(oks.end(), lowered.oks.begin(), lowered.oks.end());
    for (CheckMessage& message : lowered.check_messages) {
      program_.check_messages.push_back(std::move(message));
    }
    program_.excess_precision = program_.excess_precision || lowered.excess_precision;
  }
  Values outputs;
  for (const SequenceView::Output& output : sequence.outputs) {
    outputs.push_back(values[output.value]);
  }
  return outputs;
}

Values SequenceLowering::LowerRegion(const RegionCall::Region& region, ValueRef arguments,
                                     ValueRef bases, size_t first_message, Value failed) {
  Values externals;
  for (uint32_t index : region.externals) {
    externals.push_back(index < arguments.size() ? arguments[index]
                                                 : bases[index - arguments.size()]);
  }
  size_t message = program_.check_messages.size() - first_message;
  Values oks;
  Values outputs = Lower(SequenceView(region.bytes), std::move(externals), oks);
  const Value none = Int32(b_, -1);
  for (const Value& ok : oks) {
    const Value now = b_.Select(ok, none, Int32(b_, static_cast<int64_t>(message++)));
    failed = b_.Select(b_.Lt(failed, Int32(b_, 0)), now, failed);
  }
  outputs.push_back(failed);
  return outputs;
}

Values SequenceLowering::LowerRegions(const RegionCall& call, const Values& bases, Values& oks) {
  const size_t first = program_.check_messages.size();
  Values results = call.kind == RegionKind::kIf      ? LowerIf(call, bases, first)
                   : call.kind == RegionKind::kWhile ? LowerWhile(call, bases, first)
                                                     : LowerScan(call, bases, first);
  const Value failed = results.back();
  results.pop_back();
  for (size_t i = first; i < program_.check_messages.size(); ++i) {
    oks.push_back(b_.Ne(failed, Int32(b_, static_cast<int64_t>(i - first))));
  }
  return results;
}

Values SequenceLowering::LowerIf(const RegionCall& call, const Values& bases,
                                 size_t first_message) {
  const Value none = Int32(b_, -1);
  const auto branch = [&](const RegionCall::Region& region) {
    return [&](Builder&, ValueRef) { return LowerRegion(region, {}, bases, first_message, none); };
  };
  return b_.If(bases[0], branch(call.regions[0]), branch(call.regions[1]));
}

// The condition is computed before the loop and at the end of each turn, so that its checks are
// carried like those of the body. A failed check ends the loop, as an exception would.
Values SequenceLowering::LowerWhile(const RegionCall& call, const Values& bases,
                                    size_t first_message) {
  const RegionCall::Region &condition = call.regions[0], &body = call.regions[1];
  const int next_int = packs_.next_int, next_double = packs_.next_double;
  const ValueRef given = ValueRef(bases).slice(0, call.num_carried);
  Values inits = LowerRegion(condition, given, bases, first_message, Int32(b_, -1));
  inits.insert(inits.end(), given.begin(), given.end());  // whether to go on, failed, carried
  Values results = b_.While(
      inits,
      [](Builder& b, ValueRef args) { return Values{b.And(args[0], b.Lt(args[1], Int32(b, 0)))}; },
      [&](Builder&, ValueRef args) {
        Values carried = LowerRegion(body, args.slice(2), bases, first_message, args[1]);
        const Value failed = carried.back();
        carried.pop_back();
        const int int_after = packs_.next_int, double_after = packs_.next_double;
        packs_.next_int = next_int;
        packs_.next_double = next_double;
        Values outputs = LowerRegion(condition, carried, bases, first_message, failed);
        packs_.next_int = int_after;
        packs_.next_double = double_after;
        outputs.insert(outputs.end(), carried.begin(), carried.end());
        return outputs;
      });
  results.push_back(results[1]);
  results.erase(results.begin(), results.begin() + 2);
  return results;
}

Values SequenceLowering::LowerScan(const RegionCall& call, const Values& bases,
                                   size_t first_message) {
  const RegionCall::Region& region = call.regions[0];
  const size_t carried = call.num_carried;
  const Value length = Int32(b_, call.length);
  Values inits{Int32(b_, 0), Int32(b_, -1)};
  inits.insert(inits.end(), bases.begin(), bases.begin() + carried);
  for (const hlo::Type& type : call.stacked) inits.push_back(b_.Constant(type.dtype, 0, type.dims));
  Values results = b_.While(
      inits, [&](Builder& b, ValueRef args) { return Values{b.Lt(args[0], length)}; },
      [&](Builder& b, ValueRef args) {
        Values arguments(args.begin() + 2, args.begin() + 2 + carried);
        for (size_t j = carried; j < call.num_given; ++j)
          arguments.push_back(Row(b, bases[j], args[0]));
        Values outputs = LowerRegion(region, arguments, bases, first_message, args[1]);
        Values next{args[0] + Int32(b, 1), outputs.back()};
        outputs.pop_back();
        for (size_t j = 0; j < outputs.size(); ++j) {
          next.push_back(j < carried ? outputs[j] : WithRow(b, args[2 + j], args[0], outputs[j]));
        }
        return next;
      });
  results.push_back(results[1]);
  results.erase(results.begin(), results.begin() + 2);
  return results;
}

}  // namespace torch_tpu::exec
