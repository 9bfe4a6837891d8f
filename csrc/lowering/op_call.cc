#include "lowering/op_call.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

#include "base/settings.h"

namespace torch_tpu::lowering {
namespace {

const Arg& Expect(const OpCall& call, int i, Arg::Kind kind) {
  const Arg& arg = call.arg(i);
  TORCH_INTERNAL_ASSERT(arg.kind == kind, call.name(), ": argument ", i, " is of another kind");
  return arg;
}

}  // namespace

hlo::Value OpCall::Tensor(int i) const { return Expect(*this, i, Arg::Kind::kTensor).tensor; }

hlo::Value OpCall::TensorOrUndefined(int i) const { return IsNone(i) ? hlo::Value() : Tensor(i); }

const hlo::Values& OpCall::Tensors(int i) const {
  return Expect(*this, i, Arg::Kind::kTensors).tensors;
}

int64_t OpCall::Int(int i) const { return Expect(*this, i, Arg::Kind::kInt).integer; }

hlo::Value OpCall::Offset(hlo::Builder& b, int i) const {
  if (arg(i).kind == Arg::Kind::kInt) return b.Constant(DType::Long, Int(i));
  return Number(b, i, DType::Long);
}

Dims OpCall::Ints(int i) const {
  if (arg(i).kind == Arg::Kind::kInt) return {arg(i).integer};
  return Expect(*this, i, Arg::Kind::kInts).integers;
}

Dims OpCall::ReduceDims(int i, int64_t rank) const {
  Dims dims = IsNone(i) ? Dims() : Ints(i);
  if (dims.empty()) {
    dims.resize(rank);
    std::iota(dims.begin(), dims.end(), 0);
    return dims;
  }
  for (int64_t& d : dims) d = WrapDim(d, rank);
  std::sort(dims.begin(), dims.end());
  const auto twice = std::adjacent_find(dims.begin(), dims.end());
  TORCH_CHECK(twice == dims.end(), "dim ", twice == dims.end() ? 0 : *twice,
              " appears multiple times in the list of dims");
  if (rank == 0) dims.clear();
  return dims;
}

Dims OpCall::IntsOfSize(int i, size_t size) const {
  Dims values = Ints(i);
  if (values.size() == 1) values.assign(size, values[0]);
  TORCH_CHECK(values.size() == size, name_, ": expected argument ", i, " to have one or ", size,
              " entries, got ", ToString(values));
  return values;
}

bool OpCall::Bool(int i) const { return Expect(*this, i, Arg::Kind::kBool).integer != 0; }

std::vector<bool> OpCall::Bools(int i) const {
  const Dims& values = Expect(*this, i, Arg::Kind::kBools).integers;
  return std::vector<bool>(values.begin(), values.end());
}

const std::vector<double>& OpCall::Doubles(int i) const {
  return Expect(*this, i, Arg::Kind::kDoubles).doubles;
}

DType OpCall::Dtype(int i) const {
  return static_cast<DType>(Expect(*this, i, Arg::Kind::kDtype).integer);
}

std::string_view OpCall::String(int i) const { return Expect(*this, i, Arg::Kind::kString).text; }

const NumberArg& OpCall::RawNumber(int i) const {
  return Expect(*this, i, Arg::Kind::kNumber).numbers[0];
}

const std::vector<NumberArg>& OpCall::Numbers(int i) const {
  return Expect(*this, i, Arg::Kind::kNumbers).numbers;
}

hlo::Value OpCall::Number(hlo::Builder& b, int i, DType dtype) const {
  return NumberValue(b, RawNumber(i), dtype);
}

hlo::Value OpCall::NumberOr(hlo::Builder& b, int i, const c10::Scalar& otherwise,
                            DType dtype) const {
  return IsNone(i) ? b.Constant(dtype, otherwise) : Number(b, i, dtype);
}

c10::Scalar OpCall::StaticNumber(int i) const {
  const NumberArg& number = RawNumber(i);
  TORCH_INTERNAL_ASSERT(number.constant.has_value(), name_, ": argument ", i,
                        " is not marked static in its row");
  return *number.constant;
}

hlo::Value NumberValue(hlo::Builder& b, const NumberArg& number, DType dtype) {
  if (number.constant) return b.Constant(dtype, *number.constant);
  return b.Convert(number.value, dtype);
}

DType OpCall::ResultType(std::initializer_list<int> args) const {
  PromotionState state;
  for (int i : args) {
    const Arg& a = arg(i);
    switch (a.kind) {
      case Arg::Kind::kNone:
        break;
      case Arg::Kind::kTensor:
        state.Add(a.tensor.dtype(), a.tensor.rank() == 0, a.wrapped_number);
        break;
      case Arg::Kind::kTensors:
        for (const hlo::Value& t : a.tensors) state.Add(t.dtype(), t.rank() == 0, false);
        break;
      case Arg::Kind::kNumber:
        state.Add(a.numbers[0].kind, true, true);
        break;
      default:
        TORCH_INTERNAL_ASSERT(false, name_, ": argument ", i, " takes no part in promotion");
    }
  }
  return state.Result(default_dtype_);
}

DType OpCall::FloatResultType(std::initializer_list<int> args) const {
  const DType type = ResultType(args);
  return c10::isIntegralType(type, /*includeBool=*/true) ? default_dtype_ : type;
}

void PromotionState::Add(DType dtype, bool zero_dim_tensor, bool wrapped_number) {
  auto join = [&](std::optional<DType>& slot) {
    slot = slot ? c10::promoteTypes(*slot, dtype) : dtype;
  };
  if (wrapped_number) {
    join(number);
  } else {
    join(zero_dim_tensor ? zero_dim : dimensioned);
  }
}

DType PromotionState::Result(DType default_dtype) const {
  // The rule of at::native::result_type: a lower operand only matters where its category (bool <
  // int < float < complex) is above that of the higher one, and a float keeps its width as it turns
  // complex.
  auto combine = [](std::optional<DType> higher,
                    std::optional<DType> lower) -> std::optional<DType> {
    if (!higher || !lower) return higher ? higher : lower;
    if (IsComplex(*higher)) return higher;
    if (IsFloat(*higher) && IsComplex(*lower)) {
      // complex32 is PyTorch's answer for float16; XLA has no such type.
      return *higher == DType::Half ? DType::ComplexFloat : c10::toComplexType(*higher);
    }
    if (IsFloat(*higher)) return higher;
    if (IsComplex(*lower)) return lower;
    const bool matters = IsBool(*higher) || IsFloat(*lower);
    return matters ? c10::promoteTypes(*higher, *lower) : higher;
  };
  std::optional<DType> numbers = number;
  if (numbers && IsComplex(*numbers))
    numbers = ComplexType(default_dtype);
  else if (numbers && IsFloat(*numbers))
    numbers = default_dtype;
  const std::optional<DType> result = combine(dimensioned, combine(zero_dim, numbers));
  TORCH_INTERNAL_ASSERT(result.has_value());
  return *result;
}

void OpCall::RequireIndex(hlo::Value ok, std::string message) const {
  if (GetSettings().check_indices) requirements_.push_back({ok, std::move(message)});
}

void OpCall::Require(hlo::Value ok, std::string message) const {
  if (GetSettings().check_indices) requirements_.push_back({ok, std::move(message), false});
}

}  // namespace torch_tpu::lowering
