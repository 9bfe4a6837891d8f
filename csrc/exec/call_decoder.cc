#include "exec/call_decoder.h"

#include <c10/util/Exception.h>

#include <numeric>

namespace torch_tpu::exec {

using hlo::Type;
using hlo::Value;
using hlo::Values;
using lowering::Arg;
using lowering::NumberArg;
using lowering::OpCall;

CallDecoder::CallDecoder(std::string_view bytes, hlo::Builder& b) : ProgramReader(bytes), b_(b) {
  Scan();
}

void CallDecoder::CountOperand(DType dtype) {
  if (IsComplex(dtype) || IsFloat(dtype)) {
    num_doubles_ += IsComplex(dtype) ? 2 : 1;
  } else {
    num_ints_ += 1;
  }
}

void CallDecoder::ScanView() {
  const Tag where = Get<Tag>();
  if (where == Tag::kOperand) {
    return CountOperand(Get<DType>());
  }
  size_t slot;
  if (where == Tag::kOldInput) {
    slot = Get<uint16_t>();
  } else {
    slot = bases_.size();
    Base base;
    base.type.dtype = Get<DType>();
    base.type.dims = GetTaggedDims();
    base.written_before = where == Tag::kNewInput;
    bases_.push_back(std::move(base));
  }
  const DType dtype = Get<DType>();
  const Tag kind = Get<Tag>();
  if (kind == Tag::kWhole) return;
  const Dims sizes = GetDims();
  if (kind == Tag::kReshaped) return;
  const Dims strides = GetTaggedDims();
  if (kind == Tag::kGathered || PlanOver(bases_[slot].type, dtype, sizes, strides).dynamic) {
    num_ints_ += 1;
  }
}

void CallDecoder::ScanArg(Tag tag) {
  switch (tag) {
    case Tag::kNone:
      return;
    case Tag::kTensor:
    case Tag::kWrappedTensor:
      return ScanView();
    case Tag::kTensors:
    case Tag::kNumbers:
      for (uint32_t n = Get<uint32_t>(); n > 0; --n) ScanArg(Get<Tag>());
      return;
    case Tag::kInt:
      Get<int64_t>();
      return;
    case Tag::kInts:
      GetList<int64_t>();
      return;
    case Tag::kBool:
      Get<bool>();
      return;
    case Tag::kBools:
    case Tag::kString:
      GetList<char>();
      return;
    case Tag::kDoubles:
      GetList<double>();
      return;
    case Tag::kDtype:
    case Tag::kDefaultDtype:
      Get<DType>();
      return;
    case Tag::kPrecision:
      Get<hlo::Precision>();
      return;
    case Tag::kExcessPrecision:
      return;
    case Tag::kStaticNumber:
      at_ += Get<DType>() == DType::ComplexDouble ? 16 : 8;
      return;
    case Tag::kNumber:
      return CountOperand(Get<DType>());
    case Tag::kRandom:
      num_ints_ += 2;
      return;
    default:
      TORCH_INTERNAL_ASSERT(false, "unknown tag ", static_cast<int>(tag));
  }
}

void CallDecoder::Scan() {
  while (!AtEnd()) {
    const Tag tag = Get<Tag>();
    if (tag == Tag::kCall) {
      Get<uint16_t>();
      for (Tag arg = Get<Tag>(); arg != Tag::kEnd; arg = Get<Tag>()) ScanArg(arg);
    } else if (tag == Tag::kWrite) {
      Get<uint16_t>();
      ScanView();
    } else {
      TORCH_INTERNAL_ASSERT(tag == Tag::kLayout);
      Get<uint16_t>();
      GetTaggedDims();
    }
  }
  at_ = 0;
}

NumberArg CallDecoder::ReadNumber(Tag tag) {
  NumberArg number;
  number.kind = Get<DType>();
  if (tag == Tag::kStaticNumber) {
    if (number.kind == DType::ComplexDouble) {
      const double real = Get<double>(), imag = Get<double>();
      number.constant = c10::Scalar(c10::complex<double>(real, imag));
    } else if (number.kind == DType::Double) {
      number.constant = c10::Scalar(Get<double>());
    } else {
      const int64_t value = Get<int64_t>();
      number.constant = number.kind == DType::Bool ? c10::Scalar(value != 0) : c10::Scalar(value);
    }
  } else {
    number.value = ReadOperand(number.kind);
  }
  return number;
}

Value CallDecoder::ReadOperand(DType dtype) {
  if (IsComplex(dtype)) {
    const Value real = NextDouble(), imag = NextDouble();
    return b_.Convert(b_.Complex(real, imag), dtype);
  }
  return b_.Convert(IsFloat(dtype) ? NextDouble() : NextInt(), dtype);
}

CallDecoder::ViewRef CallDecoder::ReadViewRef() {
  ViewRef view;
  const Tag where = Get<Tag>();
  TORCH_INTERNAL_ASSERT(where != Tag::kOperand);
  if (where == Tag::kOldInput) {
    view.base = Get<uint16_t>();
  } else {
    Get<DType>();
    GetTaggedDims();
    view.base = next_base_++;
  }
  view.dtype = Get<DType>();
  view.kind = Get<Tag>();
  const Type& base = bases_[view.base].type;
  if (view.kind == Tag::kWhole) {
    view.sizes = base.dims;
    return view;
  }
  view.sizes = GetDims();
  if (view.kind == Tag::kReshaped) return view;
  view.strides = GetTaggedDims();
  if (view.kind == Tag::kSliced) {
    view.plan = PlanOver(base, view.dtype, view.sizes, view.strides);
  }
  if (view.kind == Tag::kGathered || view.plan.dynamic) view.offset_position = packs_->next_int++;
  return view;
}

Value CallDecoder::BaseAs(const Base& base, DType dtype) {
  // XLA's simplifier merges neighbouring bitcast_converts, into a wrong shape where widths differ.
  const bool guard = base.changed && dtype != base.type.dtype;
  return Reinterpret(b_, guard ? b_.OptimizationBarrier({base.value})[0] : base.value, dtype);
}

Value CallDecoder::Load(const ViewRef& view) {
  const Value base = BaseAs(bases_[view.base], view.dtype);
  if (view.kind == Tag::kWhole || view.kind == Tag::kReshaped) return b_.Reshape(base, view.sizes);
  return ReadView(b_, base, view.sizes, view.strides, view.plan,
                  view.offset_position < 0 ? Value() : IntOperand(view.offset_position));
}

void CallDecoder::Store(const ViewRef& view, Value value, std::string_view op) {
  Base& base = bases_[view.base];
  TORCH_CHECK(c10::canCast(value.dtype(), view.dtype), "result type ", value.dtype(),
              " can't be cast to the desired output type ", view.dtype);
  // PyTorch's in-place rule: the result's shape must be the output's own.
  TORCH_CHECK(value.dims() == view.sizes, op, ": output with shape ", ToString(view.sizes),
              " doesn't match the broadcast shape ", ToString(value.dims()));
  value = b_.Convert(value, view.dtype);
  DType dtype = view.dtype;
  if (IsBool(dtype) && !IsBool(base.type.dtype)) {
    // As bool, the bytes beside the view's would become 0 or 1.
    dtype = DType::Byte;
    value = b_.Convert(value, dtype);
  }
  if (view.kind == Tag::kWhole || view.kind == Tag::kReshaped) {
    base.value = ReinterpretAs(b_, value, base.type);
  } else {
    const Value whole = BaseAs(base, dtype);
    const Value offset = view.offset_position < 0 ? Value() : IntOperand(view.offset_position);
    base.value = ReinterpretAs(
        b_, WriteView(b_, whole, view.sizes, view.strides, view.plan, offset, value), base.type);
  }
  base.changed = true;
}

Value CallDecoder::ReadTensor() {
  if (static_cast<Tag>(bytes_[at_]) == Tag::kOperand) {
    Get<Tag>();
    return ReadOperand(Get<DType>());
  }
  return Load(ReadViewRef());
}

Arg CallDecoder::ReadArg(Tag tag) {
  Arg arg;
  switch (tag) {
    case Tag::kNone:
      break;
    case Tag::kTensor:
    case Tag::kWrappedTensor:
      arg.kind = Arg::Kind::kTensor;
      arg.wrapped_number = tag == Tag::kWrappedTensor;
      arg.tensor = ReadTensor();
      break;
    case Tag::kTensors:
      arg.kind = Arg::Kind::kTensors;
      for (uint32_t n = Get<uint32_t>(); n > 0; --n) {
        arg.tensors.push_back(Get<Tag>() == Tag::kNone ? Value() : ReadTensor());
      }
      break;
    case Tag::kInt:
      arg.kind = Arg::Kind::kInt;
      arg.integer = Get<int64_t>();
      break;
    case Tag::kInts:
      arg.kind = Arg::Kind::kInts;
      arg.integers = GetDims();
      break;
    case Tag::kBool:
      arg.kind = Arg::Kind::kBool;
      arg.integer = Get<bool>();
      break;
    case Tag::kBools: {
      arg.kind = Arg::Kind::kBools;
      const auto list = GetList<char>();
      arg.integers = Dims(list.begin(), list.end());
      break;
    }
    case Tag::kDoubles:
      arg.kind = Arg::Kind::kDoubles;
      arg.doubles = GetList<double>();
      break;
    case Tag::kStaticNumber:
    case Tag::kNumber:
      arg.kind = Arg::Kind::kNumber;
      arg.numbers.push_back(ReadNumber(tag));
      break;
    case Tag::kNumbers:
      arg.kind = Arg::Kind::kNumbers;
      for (uint32_t n = Get<uint32_t>(); n > 0; --n) arg.numbers.push_back(ReadNumber(Get<Tag>()));
      break;
    case Tag::kDtype:
      arg.kind = Arg::Kind::kDtype;
      arg.integer = static_cast<int64_t>(Get<DType>());
      break;
    case Tag::kString: {
      arg.kind = Arg::Kind::kString;
      const auto list = GetList<char>();
      arg.text = std::string(list.begin(), list.end());
      break;
    }
    default:
      TORCH_INTERNAL_ASSERT(false, "unknown tag ", static_cast<int>(tag));
  }
  return arg;
}

Values CallDecoder::LowerCall(Lowered& lowered) {
  const lowering::OpRow& row = lowering::Rows()[Get<uint16_t>()];
  if (lowered.name.empty()) lowered.name = row.name;
  b_.SetLocation(row.name);
  b_.SetPrecision(hlo::Precision::kHighest);
  std::vector<Arg> args;
  Value state;
  DType default_dtype = DType::Float;
  for (Tag arg = Get<Tag>(); arg != Tag::kEnd; arg = Get<Tag>()) {
    if (arg == Tag::kRandom) {
      const int at = packs_->next_int;
      packs_->next_int += 2;
      state = b_.Convert(b_.Slice(packs_->ints, {at}, {at + 2}), DType::UInt64);
    } else if (arg == Tag::kDefaultDtype) {
      default_dtype = Get<DType>();
    } else if (arg == Tag::kPrecision) {
      b_.SetPrecision(Get<hlo::Precision>());
    } else if (arg == Tag::kExcessPrecision) {
      lowered.excess_precision = true;
    } else {
      args.push_back(ReadArg(arg));
    }
  }
  OpCall call(row.name, std::move(args));
  call.set_default_dtype(default_dtype);
  call.set_random_state(state);
  const Values results = row.Lower(b_, call);
  for (const auto& requirement : call.requirements()) {
    lowered.oks.push_back(requirement.ok);
    lowered.check_messages.push_back(
        {std::string(row.name) + ": " + requirement.message, requirement.index_error});
  }
  return results;
}

CallDecoder::Lowered CallDecoder::Lower(OperandPacks& packs) {
  packs_ = &packs;
  Lowered lowered;
  Values results;
  while (!AtEnd()) {
    const Tag tag = Get<Tag>();
    if (tag == Tag::kCall) {
      for (const Value& value : LowerCall(lowered)) {
        results.push_back(value);
        lowered.results.emplace_back();
        lowered.results.back().defined = value.defined();
        if (value.defined()) lowered.results.back().type = value.type();
      }
      continue;
    }
    const size_t result = Get<uint16_t>();
    if (tag == Tag::kLayout) {
      const Dims permutation = GetTaggedDims();
      // A result of another rank than its operands (none of the elementwise rows) stays row-major.
      if (permutation.size() == lowered.results[result].type.dims.size()) {
        lowered.results[result].permutation = permutation;
      }
      continue;
    }
    TORCH_INTERNAL_ASSERT(tag == Tag::kWrite);
    const ViewRef view = ReadViewRef();
    TORCH_INTERNAL_ASSERT(result < results.size(), lowered.name, ": ", results.size(),
                          " results, number ", result, " is to be written");
    if (!results[result].defined()) continue;
    Store(view, results[result], lowered.name);
    lowered.results[result].written_input = view.base;
  }

  const auto output = [&](Value value, int written_input) {
    lowered.outputs.push_back({value.type(), written_input});
    lowered.values.push_back(value);
    return static_cast<int>(lowered.values.size()) - 1;
  };
  for (size_t i = 0; i < results.size(); ++i) {
    ResultInfo& info = lowered.results[i];
    if (!info.defined || info.written_input >= 0) continue;
    info.output = output(
        info.permutation.empty() ? results[i] : b_.Transpose(results[i], info.permutation), -1);
  }
  for (size_t i = 0; i < bases_.size(); ++i) {
    if (!bases_[i].changed) continue;
    const int at = output(bases_[i].value, static_cast<int>(i));
    for (ResultInfo& info : lowered.results) {
      if (info.written_input == static_cast<int>(i)) info.output = at;
    }
  }
  return lowered;
}

}  // namespace torch_tpu::exec
