// Decodes a program's bytes and runs the lowerings.
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <numeric>

#include "exec/program.h"
#include "exec/program_reader.h"

namespace torch_tpu::exec {
namespace {

using hlo::Builder;
using hlo::Type;
using hlo::Value;
using hlo::Values;
using lowering::Arg;
using lowering::NumberArg;
using lowering::OpCall;

// Where a view lies; decoded twice (reads and writes) from the same bytes.
struct ViewRef {
  int input = -1;
  DType dtype = DType::Float;
  Tag kind = Tag::kWhole;
  Dims sizes, strides;
  ViewPlan plan;
  int offset_position = -1;  // in the int operands
};

struct Input {
  Type type;
  bool written_before = false;  // has a parameter
  Value value;                  // current base
  bool changed = false;
};

class Decoder : private ProgramReader {
 public:
  Decoder(std::string_view bytes, hlo::Target target)
      : ProgramReader(bytes), b_("program", target) {}

  LoweredProgram Run();

 private:
  // Pass one counts the run-time operands, so that parameters come first in the text.
  struct Counted {
    int ints = 0, doubles = 0;
    void Operand(DType dtype) {
      if (IsComplex(dtype) || IsFloat(dtype)) {
        doubles += IsComplex(dtype) ? 2 : 1;
      } else {
        ints += 1;
      }
    }
  };
  void Scan();
  void ScanArg(Tag tag, Counted& counted);
  void ScanView(Counted& counted);

  Value IntOperand(int position) { return Element(int_pack_, position, DType::Long); }
  Value Element(Value pack, int position, DType dtype) {
    return b_.Reshape(b_.Slice(pack, {position}, {position + 1}), {});
  }
  Value NextInt() { return IntOperand(next_int_++); }
  Value NextDouble() { return Element(double_pack_, next_double_++, DType::Double); }
  NumberArg ReadNumber(Tag tag);
  Value ReadOperand(DType dtype);
  ViewRef ReadViewRef();
  Value ReadTensor();
  Arg ReadArg(Tag tag);
  Value BaseAs(const Input& input, DType dtype);
  Value Load(const ViewRef& view);
  void Store(const ViewRef& view, Value value, std::string_view op);

  Builder b_;
  std::vector<Input> inputs_;
  Value int_pack_, double_pack_;
  int next_int_ = 0, next_double_ = 0, next_input_ = 0;
};

// Matrix products of many rows and what cannot change their values.
bool ProductsOnly(const Builder& b) {
  constexpr int64_t kManyRows = 32;
  static const std::set<std::string_view> kHarmless = {
      "dot_general", "add",       "multiply", "constant",      "convert",
      "reshape",     "transpose", "slice",    "dynamic_slice", "broadcast_in_dim"};
  return b.operations().contains("dot_general") && b.least_product_rows() >= kManyRows &&
         std::all_of(b.operations().begin(), b.operations().end(),
                     [](const std::string& op) { return kHarmless.contains(op); });
}

void Decoder::ScanView(Counted& counted) {
  const Tag where = Get<Tag>();
  if (where == Tag::kOperand) {
    return counted.Operand(Get<DType>());
  }
  size_t slot;
  if (where == Tag::kOldInput) {
    slot = Get<uint16_t>();
  } else {
    slot = inputs_.size();
    Input input;
    input.type.dtype = Get<DType>();
    input.type.dims = GetTaggedDims();
    input.written_before = where == Tag::kNewInput;
    inputs_.push_back(std::move(input));
  }
  const DType dtype = Get<DType>();
  const Tag kind = Get<Tag>();
  if (kind == Tag::kWhole) return;
  const Dims sizes = GetDims();
  if (kind == Tag::kReshaped) return;
  const Dims strides = GetTaggedDims();
  if (kind == Tag::kGathered || PlanOver(inputs_[slot].type, dtype, sizes, strides).dynamic) {
    counted.ints += 1;
  }
}

void Decoder::ScanArg(Tag tag, Counted& counted) {
  switch (tag) {
    case Tag::kNone:
      return;
    case Tag::kTensor:
    case Tag::kWrappedTensor:
      return ScanView(counted);
    case Tag::kTensors:
    case Tag::kNumbers:
      for (uint32_t n = Get<uint32_t>(); n > 0; --n) ScanArg(Get<Tag>(), counted);
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
      return counted.Operand(Get<DType>());
    case Tag::kRandom:
      counted.ints += 2;
      return;
    default:
      TORCH_INTERNAL_ASSERT(false, "unknown tag ", static_cast<int>(tag));
  }
}

void Decoder::Scan() {
  Counted counted;
  while (!AtEnd()) {
    const Tag tag = Get<Tag>();
    if (tag == Tag::kCall) {
      Get<uint16_t>();
      for (Tag arg = Get<Tag>(); arg != Tag::kEnd; arg = Get<Tag>()) ScanArg(arg, counted);
    } else if (tag == Tag::kWrite) {
      Get<uint16_t>();
      ScanView(counted);
    } else {
      TORCH_INTERNAL_ASSERT(tag == Tag::kLayout);
      Get<uint16_t>();
      GetTaggedDims();
    }
  }
  for (Input& input : inputs_) {
    if (input.written_before) input.value = b_.Parameter(input.type);
  }
  if (counted.ints > 0) int_pack_ = b_.Parameter({DType::Long, {counted.ints}});
  if (counted.doubles > 0) double_pack_ = b_.Parameter({DType::Double, {counted.doubles}});
  for (Input& input : inputs_) {
    if (!input.written_before) input.value = b_.Constant(input.type.dtype, 0, input.type.dims);
  }
  at_ = 0;
}

NumberArg Decoder::ReadNumber(Tag tag) {
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

Value Decoder::ReadOperand(DType dtype) {
  if (IsComplex(dtype)) {
    const Value real = NextDouble(), imag = NextDouble();
    return b_.Convert(b_.Complex(real, imag), dtype);
  }
  return b_.Convert(IsFloat(dtype) ? NextDouble() : NextInt(), dtype);
}

ViewRef Decoder::ReadViewRef() {
  ViewRef view;
  const Tag where = Get<Tag>();
  TORCH_INTERNAL_ASSERT(where != Tag::kOperand);
  if (where == Tag::kOldInput) {
    view.input = Get<uint16_t>();
  } else {
    Get<DType>();
    GetTaggedDims();
    view.input = next_input_++;
  }
  view.dtype = Get<DType>();
  view.kind = Get<Tag>();
  const Type& base = inputs_[view.input].type;
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
  if (view.kind == Tag::kGathered || view.plan.dynamic) view.offset_position = next_int_++;
  return view;
}

Value Decoder::BaseAs(const Input& input, DType dtype) {
  // XLA's simplifier merges neighbouring bitcast_converts, into a wrong shape where widths differ.
  const bool guard = input.changed && dtype != input.type.dtype;
  return Reinterpret(b_, guard ? b_.OptimizationBarrier({input.value})[0] : input.value, dtype);
}

Value Decoder::Load(const ViewRef& view) {
  const Value base = BaseAs(inputs_[view.input], view.dtype);
  if (view.kind == Tag::kWhole || view.kind == Tag::kReshaped) return b_.Reshape(base, view.sizes);
  return ReadView(b_, base, view.sizes, view.strides, view.plan,
                  view.offset_position < 0 ? Value() : IntOperand(view.offset_position));
}

void Decoder::Store(const ViewRef& view, Value value, std::string_view op) {
  Input& input = inputs_[view.input];
  TORCH_CHECK(c10::canCast(value.dtype(), view.dtype), "result type ", value.dtype(),
              " can't be cast to the desired output type ", view.dtype);
  // PyTorch's in-place rule: the result's shape must be the output's own.
  TORCH_CHECK(value.dims() == view.sizes, op, ": output with shape ", ToString(view.sizes),
              " doesn't match the broadcast shape ", ToString(value.dims()));
  value = b_.Convert(value, view.dtype);
  DType dtype = view.dtype;
  if (IsBool(dtype) && !IsBool(input.type.dtype)) {
    // As bool, the bytes beside the view's would become 0 or 1.
    dtype = DType::Byte;
    value = b_.Convert(value, dtype);
  }
  if (view.kind == Tag::kWhole || view.kind == Tag::kReshaped) {
    input.value = ReinterpretAs(b_, value, input.type);
  } else {
    const Value base = BaseAs(input, dtype);
    const Value offset = view.offset_position < 0 ? Value() : IntOperand(view.offset_position);
    input.value = ReinterpretAs(
        b_, WriteView(b_, base, view.sizes, view.strides, view.plan, offset, value), input.type);
  }
  input.changed = true;
}

Value Decoder::ReadTensor() {
  if (static_cast<Tag>(bytes_[at_]) == Tag::kOperand) {
    Get<Tag>();
    return ReadOperand(Get<DType>());
  }
  return Load(ReadViewRef());
}

Arg Decoder::ReadArg(Tag tag) {
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

LoweredProgram Decoder::Run() {
  Scan();
  LoweredProgram program;
  Values results;
  Values oks;
  struct Written {
    int result;
    int input;
  };
  std::vector<Written> written;
  std::vector<std::pair<int, Dims>> layouts;
  std::string last_op;
  while (!AtEnd()) {
    const Tag tag = Get<Tag>();
    if (tag == Tag::kCall) {
      const lowering::OpRow& row = lowering::Rows()[Get<uint16_t>()];
      last_op = row.name;
      if (program.name.empty()) program.name = row.name;
      b_.SetLocation(row.name);
      b_.SetPrecision(hlo::Precision::kHighest);
      std::vector<Arg> args;
      Value state;
      DType default_dtype = DType::Float;
      for (Tag arg = Get<Tag>(); arg != Tag::kEnd; arg = Get<Tag>()) {
        if (arg == Tag::kRandom) {
          state = b_.Convert(b_.Slice(int_pack_, {next_int_}, {next_int_ + 2}), DType::UInt64);
          next_int_ += 2;
        } else if (arg == Tag::kDefaultDtype) {
          default_dtype = Get<DType>();
        } else if (arg == Tag::kPrecision) {
          b_.SetPrecision(Get<hlo::Precision>());
        } else if (arg == Tag::kExcessPrecision) {
          program.excess_precision = true;
        } else {
          args.push_back(ReadArg(arg));
        }
      }
      OpCall call(row.name, std::move(args));
      call.set_default_dtype(default_dtype);
      call.set_random_state(state);
      for (const Value& v : row.Lower(b_, call)) results.push_back(v);
      for (const auto& requirement : call.requirements()) {
        oks.push_back(requirement.ok);
        program.check_messages.push_back({requirement.message, requirement.index_error});
      }
    } else if (tag == Tag::kWrite) {
      const int result = Get<uint16_t>();
      const ViewRef view = ReadViewRef();
      TORCH_INTERNAL_ASSERT(result < static_cast<int>(results.size()), last_op, ": ",
                            results.size(), " results, number ", result, " is to be written");
      if (results[result].defined()) {
        Store(view, results[result], last_op);
        written.push_back({result, view.input});
      }
    } else {
      const int result = Get<uint16_t>();
      layouts.emplace_back(result, GetTaggedDims());
    }
  }

  Values outputs;
  program.results.resize(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    program.results[i].defined = true;
    program.results[i].type = results[i].type();
  }
  for (const Written& w : written) program.results[w.result].written_input = w.input;
  for (const auto& [result, permutation] : layouts) {
    // A result of another rank than its operands (none of the elementwise rows) stays row-major.
    if (permutation.size() == program.results[result].type.dims.size()) {
      program.results[result].permutation = permutation;
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    ResultInfo& info = program.results[i];
    if (!info.defined || info.written_input >= 0) continue;
    const Value value =
        info.permutation.empty() ? results[i] : b_.Transpose(results[i], info.permutation);
    info.output = static_cast<int>(outputs.size());
    program.outputs.push_back({value.type(), -1});
    outputs.push_back(value);
  }
  int parameter = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    if (input.changed) {
      if (input.written_before) {
        b_.SetParameterAttributes(parameter,
                                  fmt::format("tf.aliasing_output = {} : i32", outputs.size()));
      }
      for (ResultInfo& info : program.results) {
        if (info.written_input == static_cast<int>(i)) {
          info.output = static_cast<int>(outputs.size());
        }
      }
      program.outputs.push_back({input.type, static_cast<int>(i)});
      outputs.push_back(input.value);
    }
    parameter += input.written_before;
  }
  if (!oks.empty()) {
    for (Value& ok : oks) ok = b_.Reshape(ok, {1});
    const Value flags = b_.Concatenate(oks, 0);
    program.outputs.push_back({flags.type(), -1});
    outputs.push_back(flags);
  }
  b_.SetResults(outputs);
  if (b_.target() == hlo::Target::kCpu && ProductsOnly(b_)) {
    // XNNPACK packs a right side that is a parameter only once per address, and eager writes in
    // place. A reshaped parameter is packed at each launch.
    program.use_xnnpack = true;
    b_.FlattenParameters();
  }
  program.text = b_.Text();
  return program;
}

}  // namespace

LoweredProgram Lower(std::string_view bytes, hlo::Target target) {
  return Decoder(bytes, target).Run();
}

}  // namespace torch_tpu::exec
