// Sums, products, quotients, remainders, powers, bounds and interpolation.
#include <c10/util/Exception.h>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

constexpr Promote kKeep = Promote::kKeep;
constexpr Promote kFloat = Promote::kFloat;
const OpRow::Flags kElementwise = {.elementwise = true};

// ---- sums and products

void CheckAlpha(const OpCall& call, const NumberArg& alpha, DType type) {
  TORCH_CHECK(!IsBool(alpha.kind) || IsBool(type), call.name(),
              ": Boolean alpha only supported for Boolean results.");
  TORCH_CHECK(IsFloat(type) || IsComplex(type) || !(IsFloat(alpha.kind) || IsComplex(alpha.kind)),
              call.name(),
              ": For integral input tensors, argument alpha must not be a floating point number.");
  TORCH_CHECK(IsComplex(type) || !IsComplex(alpha.kind), call.name(),
              ": For non-complex input tensors, argument alpha must not be a complex number.");
}

void CheckNoBool(const OpCall& call) {
  for (int i : {0, 1}) {
    const bool number = call.arg(i).kind == Arg::Kind::kNumber;
    TORCH_CHECK(!IsBool(number ? call.RawNumber(i).kind : call.Tensor(i).dtype()), call.name(),
                ": Subtraction, the `-` operator, with a bool tensor is not supported. Use the `^` "
                "or `logical_xor()` operator to compare masks and `~` or `logical_not()` to invert "
                "one.");
  }
}

Value Scaled(Builder& b, const NumberArg& alpha, Value x) {
  if (alpha.constant && alpha.constant->equal(1)) return x;
  const Value factor = b.Broadcast(NumberValue(b, alpha, x.dtype()), x.dims());
  return IsBool(x.dtype()) ? b.And(x, factor) : x * factor;
}

// aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
// aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
Value Add(Builder& b, const OpCall& call) {
  CheckAlpha(call, call.RawNumber(2), call.ResultType({0, 1}));
  return Elementwise(
      b, call, {0, 1}, kKeep,
      [&](Builder& b, const Values& v) {
        const Value other = Scaled(b, call.RawNumber(2), v[1]);
        return IsBool(other.dtype()) ? b.Or(v[0], other) : v[0] + other;
      },
      Accept::kAll, Numbers::kExact);
}

// aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
// aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
// aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
// aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
template <bool reversed>
Value Subtract(Builder& b, const OpCall& call) {
  CheckNoBool(call);
  CheckAlpha(call, call.RawNumber(2), call.ResultType({0, 1}));
  return Elementwise(
      b, call, {0, 1}, kKeep,
      [&](Builder& b, const Values& v) {
        return v[reversed] - Scaled(b, call.RawNumber(2), v[!reversed]);
      },
      Accept::kAll, Numbers::kExact);
}

// aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
Value AddRelu(Builder& b, const OpCall& call) {
  const Value sum = Add(b, call);
  return b.Max(sum, b.ConstantLike(sum, 0));
}

// aten::mul.Tensor(Tensor self, Tensor other) -> Tensor
// aten::mul.Scalar(Tensor self, Scalar other) -> Tensor
Value Multiply(Builder& b, const OpCall& call) {
  return Elementwise(
      b, call, {0, 1}, kKeep,
      [](Builder& b, const Values& v) {
        return IsBool(v[0].dtype()) ? b.And(v[0], v[1]) : v[0] * v[1];
      },
      Accept::kAll, Numbers::kExact);
}

// ---- quotients and remainders

// Moves a remainder with the dividend's sign to the divisor's sign.
Value FloorRemainder(Builder& b, Value x, Value y) {
  const Value rem = b.Rem(x, y), zero = b.ConstantLike(x, 0);
  if (IsUnsigned(x.dtype())) return rem;
  const Value differ = b.And(b.Ne(rem, zero), b.Ne(b.Lt(rem, zero), b.Lt(y, zero)));
  return b.Select(differ, rem + y, rem);
}

// c10::div_floor_floating and c10::div_floor_integer.
Value FloorQuotient(Builder& b, Value x, Value y) {
  const Value zero = b.ConstantLike(x, 0);
  if (!IsFloat(x.dtype())) {
    const Value quotient = b.Div(x, y);
    if (IsUnsigned(x.dtype())) return quotient;
    const Value rem = b.Rem(x, y);
    const Value inexact = b.And(b.Ne(rem, zero), b.Ne(b.Lt(rem, zero), b.Lt(y, zero)));
    return b.Select(inexact, quotient - 1, quotient);
  }
  const Value rem = b.Rem(x, y);
  Value quotient = (x - rem) / y;
  const Value differ = b.And(b.Ne(rem, zero), b.Ne(b.Lt(rem, zero), b.Lt(y, zero)));
  quotient = b.Select(differ, quotient - 1, quotient);
  const Value floor = b.Floor(quotient);
  const Value near = b.Select(b.Gt(quotient - floor, b.ConstantLike(x, 0.5)), floor + 1, floor);
  const Value ratio = x / y;
  // A zero quotient takes the sign of the ratio: 0 * ratio, but for an infinite divisor also exact.
  const Value signed_zero = b.Select(b.Lt(ratio, zero), -zero, ratio * zero);
  return b.Select(b.Eq(y, zero), ratio, b.Select(b.Eq(quotient, zero), signed_zero, near));
}

Value Truncate(Builder& b, Value x) {
  if (!IsFloat(x.dtype())) return x;
  return b.Select(b.Lt(x, b.ConstantLike(x, 0)), b.Ceil(x), b.Floor(x));
}

// A float32 value rounded to what `type` can hold.
Value RoundTo(Builder& b, Value x, DType type) {
  if (type == DType::BFloat16) return b.ReducePrecision(x, 8, 7);
  if (type == DType::Half) return b.ReducePrecision(x, 5, 10);
  return x;
}

Value TrueDivide(Builder& b, const OpCall& call) {
  return Elementwise(
      b, call, {0, 1}, kFloat, [](Builder& b, const Values& v) { return v[0] / v[1]; },
      Accept::kAll, Numbers::kExact);
}

Value FloorDivide(Builder& b, const OpCall& call) {
  return Elementwise(
      b, call, {0, 1}, kKeep,
      [](Builder& b, const Values& v) { return FloorQuotient(b, v[0], v[1]); }, Accept::kRealNumber,
      Numbers::kExact);
}

// aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
// aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
Value DivideRounded(Builder& b, const OpCall& call) {
  if (call.IsNone(2)) return TrueDivide(b, call);
  const std::string_view mode = call.String(2);
  if (mode == "floor") return FloorDivide(b, call);
  TORCH_CHECK(mode == "trunc", call.name(),
              ": expected rounding_mode to be None, 'trunc' or 'floor', got '", mode, "'");
  // The quotient is rounded to its type before it is truncated, as on CPU.
  const DType type = call.ResultType({0, 1});
  return Elementwise(
      b, call, {0, 1}, kKeep,
      [&](Builder& b, const Values& v) { return Truncate(b, RoundTo(b, v[0] / v[1], type)); },
      Accept::kRealNumber, Numbers::kExact);
}

// ---- powers

Value Pow(Builder& b, Value x, Value y) { return b.Pow(x, y); }

// aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
Value PowTensorScalar(Builder& b, const OpCall& call) {
  const NumberArg& exponent = call.RawNumber(1);
  const DType base = call.Tensor(0).dtype();
  if (!exponent.constant || exponent.constant->isComplex()) {
    return Binary<Pow, kKeep, Accept::kNoBool>(b, call);
  }
  const double power = exponent.constant->toDouble();
  TORCH_CHECK(
      !c10::isIntegralType(base, true) || !c10::isIntegralType(exponent.kind, true) || power >= 0,
      call.name(), ": Integers to negative integer powers are not allowed.");
  return Elementwise(
      b, call, {0, 1}, kKeep,
      [&](Builder& b, const Values& v) {
        const Value x = v[0];
        if (power == 0) return b.ConstantLike(x, 1);
        if (power == 1) return x;
        if (power == 2) return x * x;
        if (power == 3) return x * x * x;
        if (power == 0.5) return b.Sqrt(x);
        if (power == -0.5) return 1 / b.Sqrt(x);
        if (power == -1) return 1 / x;
        if (power == -2) return 1 / (x * x);
        return b.Pow(x, v[1]);
      },
      Accept::kNoBool);
}

// ---- bounds

void CheckReal(const OpCall& call, DType type, const char* what) {
  TORCH_CHECK(!IsComplex(type), call.name(), ": ", what, " not implemented for complex tensors.");
}

template <auto f>
Value Extremum(Builder& b, const OpCall& call) {
  CheckReal(call, call.ResultType({0, 1}), "maximum and minimum are");
  return Binary<f>(b, call);
}

// The other operand where one is NaN.
template <bool maximum>
Value IgnoreNaN(Builder& b, Value x, Value y) {
  const Value extremum = maximum ? b.Max(x, y) : b.Min(x, y);
  if (!IsFloat(x.dtype())) return extremum;
  return b.Select(b.Ne(x, x), y, b.Select(b.Ne(y, y), x, extremum));
}

Value Bounded(Builder& b, const OpCall& call, int low, int high) {
  std::vector<int> present;
  const DType self = call.Tensor(0).dtype();
  TORCH_CHECK_NOT_IMPLEMENTED(!IsComplex(self), call.name(),
                              ": clamp is not supported for complex types");
  // A float tensor keeps its type under bounds that are numbers, as elsewhere; bounds that are
  // tensors take part in promotion.
  const bool both = low >= 0 && high >= 0;
  const std::initializer_list<int> args3 = {0, low, high}, args2 = {0, std::max(low, high)};
  const std::initializer_list<int>& args = both ? args3 : args2;
  const DType type = call.ResultType(args);
  CheckDtype(call.name(), type, Accept::kReal);
  const Values v = Operands(b, call, args, type, type);
  Value x = v[0];
  if (low >= 0 && v[1].defined()) x = b.Max(x, v[1]);
  if (high >= 0 && v.back().defined()) x = b.Min(x, v.back());
  return x;
}

// aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
// aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
Value Clamp(Builder& b, const OpCall& call) {
  TORCH_CHECK(!call.IsNone(1) || !call.IsNone(2), call.name(),
              ": At least one of 'min' or 'max' must not be None");
  return Bounded(b, call, call.IsNone(1) ? -1 : 1, call.IsNone(2) ? -1 : 2);
}

Value ClampMin(Builder& b, const OpCall& call) { return Bounded(b, call, 1, -1); }
Value ClampMax(Builder& b, const OpCall& call) { return Bounded(b, call, -1, 1); }

// ---- interpolation and fused products

// aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor
// aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
Value Lerp(Builder& b, const OpCall& call) {
  const DType type = call.Tensor(0).dtype();
  const bool weighted = call.arg(2).kind == Arg::Kind::kTensor;
  const DType end = call.Tensor(1).dtype();
  TORCH_CHECK(end == type, call.name(), ": expected dtype ", DTypeName(type), " for `end`, got ",
              DTypeName(end));
  if (weighted) {
    const DType weight = call.Tensor(2).dtype();
    TORCH_CHECK(weight == type || call.Tensor(2).rank() == 0, call.name(), ": expected dtype ",
                DTypeName(type), " for `weight`, got ", DTypeName(weight));
  }
  CheckDtype(call.name(), type, Accept::kFloatOrComplex);
  const Values v = Operands(b, call, {0, 1, 2}, type, AccumulateType(type), Numbers::kExact);
  const Value start = v[0], stop = v[1], weight = v[2], reach = stop - start;
  const Value size = b.Abs(weight);
  return b.Convert(b.Select(b.Lt(size, b.ConstantLike(size, 0.5)), start + weight * reach,
                            stop - reach * (1 - weight)),
                   type);
}

// aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
Value Addcmul(Builder& b, const OpCall& call) {
  return Elementwise(
      b, call, {0, 1, 2}, kKeep,
      [&](Builder& b, const Values& v) { return v[0] + Scaled(b, call.RawNumber(3), v[1]) * v[2]; },
      Accept::kNoBool);
}

// aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
Value Addcdiv(Builder& b, const OpCall& call) {
  const DType one = call.Tensor(1).dtype(), two = call.Tensor(2).dtype();
  TORCH_CHECK(!c10::isIntegralType(one, true) || !c10::isIntegralType(two, true), call.name(),
              ": expected tensor1 or tensor2 to be of a floating point dtype, got ", DTypeName(one),
              " and ", DTypeName(two),
              ". Integer division with addcdiv is no longer supported: use addcmul or convert");
  return Elementwise(b, call, {0, 1, 2}, kKeep, [&](Builder& b, const Values& v) {
    return v[0] + Scaled(b, call.RawNumber(3), v[1]) / v[2];
  });
}

// ---- integers

// Euclid's algorithm on all elements at once.
Value Gcd(Builder& b, Value x, Value y) {
  const auto magnitude = [&](Value v) { return IsUnsigned(v.dtype()) ? v : b.Abs(v); };
  const Values steps = b.While(
      {magnitude(x), magnitude(y)},
      [](Builder& b, ValueRef v) -> Values {
        return {Any(b, b.Ne(v[0], b.ConstantLike(v[0], 0)))};
      },
      [](Builder& b, ValueRef v) -> Values {
        const Value zero = b.ConstantLike(v[0], 0), done = b.Eq(v[0], zero);
        const Value rest = b.Rem(v[1], b.Select(done, b.ConstantLike(v[0], 1), v[0]));
        return {b.Select(done, zero, rest), b.Select(done, v[1], v[0])};
      });
  return steps[1];
}

Value Lcm(Builder& b, Value x, Value y) {
  const Value gcd = Gcd(b, x, y), zero = b.ConstantLike(x, 0);
  const Value product = x / b.Select(b.Eq(gcd, zero), b.ConstantLike(x, 1), gcd) * y;
  return b.Select(b.Eq(gcd, zero), zero, IsUnsigned(x.dtype()) ? product : b.Abs(product));
}

Value Fmod(Builder& b, Value x, Value y) { return b.Rem(x, y); }
Value Maximum(Builder& b, Value x, Value y) { return b.Max(x, y); }
Value Minimum(Builder& b, Value x, Value y) { return b.Min(x, y); }

}  // namespace

OpRows ArithmeticRows() {
  constexpr Accept kRealNumber = Accept::kRealNumber, kInteger = Accept::kInteger;
  OpRow::Flags power = kElementwise;
  power.special_numbers = 1u << 1;
  return {
      {"aten::add.Tensor", Add, kElementwise},
      {"aten::add.Scalar", Add, kElementwise},
      {"aten::_add_relu.Tensor", AddRelu, kElementwise},
      {"aten::_add_relu.Scalar", AddRelu, kElementwise},
      {"aten::sub.Tensor", Subtract<false>, kElementwise},
      {"aten::sub.Scalar", Subtract<false>, kElementwise},
      {"aten::rsub.Tensor", Subtract<true>, kElementwise},
      {"aten::rsub.Scalar", Subtract<true>, kElementwise},
      {"aten::mul.Tensor", Multiply, kElementwise},
      {"aten::mul.Scalar", Multiply, kElementwise},
      {"aten::div.Tensor", TrueDivide, kElementwise},
      {"aten::div.Scalar", TrueDivide, kElementwise},
      {"aten::div.Tensor_mode", DivideRounded, kElementwise},
      {"aten::div.Scalar_mode", DivideRounded, kElementwise},
      {"aten::floor_divide", FloorDivide, kElementwise},
      {"aten::floor_divide.Scalar", FloorDivide, kElementwise},
      {"aten::remainder.Tensor", Binary<FloorRemainder, kKeep, kRealNumber>, kElementwise},
      {"aten::remainder.Scalar", Binary<FloorRemainder, kKeep, kRealNumber>, kElementwise},
      {"aten::remainder.Scalar_Tensor", Binary<FloorRemainder, kKeep, kRealNumber>, kElementwise},
      {"aten::fmod.Tensor", Binary<Fmod, kKeep, kRealNumber>, kElementwise},
      {"aten::fmod.Scalar", Binary<Fmod, kKeep, kRealNumber>, kElementwise},
      {"aten::pow.Tensor_Tensor", Binary<Pow, kKeep, Accept::kNoBool>, kElementwise},
      {"aten::pow.Scalar", Binary<Pow, kKeep, Accept::kNoBool>, kElementwise},
      {"aten::pow.Tensor_Scalar", PowTensorScalar, power},
      {"aten::maximum", Extremum<Maximum>, kElementwise},
      {"aten::minimum", Extremum<Minimum>, kElementwise},
      {"aten::fmax", Extremum<IgnoreNaN<true>>, kElementwise},
      {"aten::fmin", Extremum<IgnoreNaN<false>>, kElementwise},
      {"aten::clamp", Clamp, kElementwise},
      {"aten::clamp.Tensor", Clamp, kElementwise},
      {"aten::clamp_min", ClampMin, kElementwise},
      {"aten::clamp_min.Tensor", ClampMin, kElementwise},
      {"aten::clamp_max", ClampMax, kElementwise},
      {"aten::clamp_max.Tensor", ClampMax, kElementwise},
      {"aten::lerp.Tensor", Lerp, kElementwise},
      {"aten::lerp.Scalar", Lerp, kElementwise},
      {"aten::addcmul", Addcmul, kElementwise},
      {"aten::addcdiv", Addcdiv, kElementwise},
      {"aten::gcd", Binary<Gcd, kKeep, kInteger>, kElementwise},
      {"aten::lcm", Binary<Lcm, kKeep, kInteger>, kElementwise},
  };
}

}  // namespace torch_tpu::lowering
