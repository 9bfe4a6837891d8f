// Functions of one real or complex number, and the few two-argument functions of their kind.
#include <c10/util/Exception.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

constexpr Promote kKeep = Promote::kKeep;
constexpr Promote kFloat = Promote::kFloat;
const OpRow::Flags kElementwise = {.elementwise = true};
const OpRow::Flags kSameOut = {.elementwise = true, .exact_out = true};

// ---- sign and magnitude

// aten::abs(Tensor self) -> Tensor
Value Abs(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckDtype(call.name(), x.dtype(), Accept::kNoBool);
  return IsUnsigned(x.dtype()) ? x : b.Abs(x);
}

// aten::neg(Tensor self) -> Tensor
Value Negative(Builder& b, const OpCall& call) {
  TORCH_CHECK(!IsBool(call.Tensor(0).dtype()), call.name(),
              ": Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
              "to invert a mask, use the `~` or `logical_not()` operator instead.");
  return b.Neg(call.Tensor(0));
}

// (x > 0) - (x < 0): 0 for NaN.
Value RealSign(Builder& b, Value x) {
  if (IsBool(x.dtype())) return x;
  const Value zero = b.ConstantLike(x, 0), positive = b.Convert(b.Gt(x, zero), x.dtype());
  return IsUnsigned(x.dtype()) ? positive : positive - b.Convert(b.Lt(x, zero), x.dtype());
}

// x / |x|, 0 for 0.
Value GeneralSign(Builder& b, Value x) {
  if (!IsComplex(x.dtype())) return RealSign(b, x);
  const Value size = b.Abs(x), zero = b.ConstantLike(size, 0);
  const Value unit = b.Complex(b.Real(x) / size, b.Imag(x) / size);
  return b.Select(b.Eq(size, zero), b.ConstantLike(x, 0), unit);
}

// True for -0.0 and for negative NaN as well.
Value SignBit(Builder& b, Value x) {
  if (!IsFloat(x.dtype())) {
    if (IsBool(x.dtype())) return b.ConstantLike(x, false);
    return b.Lt(x, b.ConstantLike(x, 0));
  }
  const Value bits = x.dtype() == DType::Double
                         ? b.BitcastConvert(x, DType::Long)
                         : b.BitcastConvert(b.Convert(x, AccumulateType(x.dtype())), DType::Int);
  return b.Lt(bits, b.ConstantLike(bits, 0));
}

Value CopySign(Builder& b, Value x, Value y) {
  const Value size = b.Abs(x);
  return b.Select(SignBit(b, y), -size, size);
}

// aten::nextafter(Tensor self, Tensor other) -> Tensor
Value NextAfter(Builder& b, const OpCall& call) {
  const DType type = call.ResultType({0, 1});
  CheckDtype(call.name(), type, Accept::kFloat);
  const Values v = Operands(b, call, {0, 1}, type, type);  // neighbours in the type itself
  return b.Binary("chlo.next_after", v[0], v[1]);
}

// aten::heaviside(Tensor self, Tensor values) -> Tensor
Value Heaviside(Builder& b, const OpCall& call) {
  const DType self = call.Tensor(0).dtype(), values = call.Tensor(1).dtype();
  TORCH_CHECK(!IsComplex(self) && !IsComplex(values), call.name(),
              ": heaviside is not yet implemented for complex tensors.");
  TORCH_CHECK(self == values, call.name(),
              ": heaviside is not yet implemented for tensors with different dtypes.");
  return Elementwise(b, call, {0, 1}, kKeep, [](Builder& b, const Values& v) {
    const Value zero = b.ConstantLike(v[0], 0);
    return b.Select(b.Eq(v[0], zero), v[1], b.Convert(b.Gt(v[0], zero), v[0].dtype()));
  });
}

// ---- rounding

Value Truncate(Builder& b, Value x) {
  return b.Select(b.Lt(x, b.ConstantLike(x, 0)), b.Ceil(x), b.Floor(x));
}

Value RoundEven(Builder& b, Value x) { return b.Unary("round_nearest_even", x); }
Value Floor(Builder& b, Value x) { return b.Floor(x); }
Value Ceil(Builder& b, Value x) { return b.Ceil(x); }
Value Fraction(Builder& b, Value x) { return x - Truncate(b, x); }

// Integers stay as they are.
template <auto f>
Value Rounding(Builder& b, const OpCall& call) {
  return Elementwise(
      b, call, {0}, kKeep,
      [](Builder& b, const Values& v) { return IsFloat(v[0].dtype()) ? f(b, v[0]) : v[0]; },
      Accept::kRealNumber);
}

// aten::round.decimals(Tensor self, *, int decimals) -> Tensor
Value RoundDecimals(Builder& b, const OpCall& call) {
  const int64_t decimals = call.Int(1);
  if (decimals == 0) return Rounding<RoundEven>(b, call);
  return Elementwise(
      b, call, {0}, kKeep,
      [&](Builder& b, const Values& v) {
        const Value x = v[0];
        const Value scale = OpaqueLike(b, x, std::pow(10.0, std::abs(decimals)));
        return decimals > 0 ? RoundEven(b, x * scale) / scale : RoundEven(b, x / scale) * scale;
      },
      Accept::kFloat);
}

// ---- exponentials and logarithms

Value Reciprocal(Builder& b, Value x) { return 1 / x; }
Value Rsqrt(Builder& b, Value x) { return 1 / b.Sqrt(x); }
Value Exp2(Builder& b, Value x) { return b.Pow(b.ConstantLike(x, 2), x); }
Value Log2(Builder& b, Value x) { return b.Log(x) * std::numbers::log2e; }
Value Log10(Builder& b, Value x) { return b.Log(x) * std::numbers::log10e; }

// log(exp(x) + exp(y)) without overflow, also where both are infinite.
Value LogAddExp(Builder& b, Value x, Value y) {
  if (IsComplex(x.dtype())) {
    const Value larger = b.Ge(b.Real(x), b.Real(y));
    const Value max = b.Select(larger, x, y), min = b.Select(larger, y, x);
    const Value infinite =
        b.And(b.Eq(b.Abs(b.Real(max)), b.Infinity(RealType(x.dtype()), false, x.dims())),
              b.Eq(b.Real(max), b.Real(min)));
    return b.Select(infinite, b.Log(b.Exp(min) + b.Exp(max)), max + b.Log1p(b.Exp(min - max)));
  }
  const Value sum = b.Max(x, y) + b.Log1p(b.Exp(-b.Abs(x - y)));
  const Value infinite = b.Eq(b.Abs(x), b.Infinity(x.dtype(), false, x.dims()));
  return b.Select(b.And(infinite, b.Eq(x, y)), x, sum);
}

Value LogAddExp2(Builder& b, Value x, Value y) {
  const Value gap = -b.Abs(x - y) * std::numbers::ln2;
  const Value sum = b.Max(x, y) + b.Log1p(b.Exp(gap)) * std::numbers::log2e;
  const Value infinite = b.Eq(b.Abs(x), b.Infinity(x.dtype(), false, x.dims()));
  return b.Select(b.And(infinite, b.Eq(x, y)), x, sum);
}

// aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
Values Frexp(Builder& b, const OpCall& call) {
  const DType type = call.Tensor(0).dtype();
  CheckDtype(call.name(), type, Accept::kFloat);
  const Value x = b.Convert(call.Tensor(0), AccumulateType(type));
  const bool wide = type == DType::Double;
  const int64_t mantissa_bits = wide ? 52 : 23, exponents = wide ? 0x7FF : 0xFF;
  const Value bits = b.BitcastConvert(x, wide ? DType::Long : DType::Int);
  const auto number = [&](int64_t v) { return b.ConstantLike(bits, v); };
  const Value field =
      b.And(b.Binary("shift_right_logical", bits, number(mantissa_bits)), number(exponents));
  const Value keep = number(~(exponents << mantissa_bits));
  const Value half = number((exponents / 2 - 1) << mantissa_bits);
  const Value scaled = b.BitcastConvert(b.Or(b.And(bits, keep), half), x.dtype());
  // Zero (with what the device flushes to it), infinities and NaN keep their value.
  const Value special = b.Or(b.Eq(field, number(0)), b.Eq(field, number(exponents)));
  const Value exponent = b.Select(special, number(0), field - number(exponents / 2 - 1));
  return {b.Convert(b.Select(special, x, scaled), type), b.Convert(exponent, DType::Int)};
}

// ---- geometry

// sqrt(x^2 + y^2), scaled by the larger one.
Value Hypot(Builder& b, Value x, Value y) {
  x = b.Abs(x);
  y = b.Abs(y);
  const Value max = b.Max(x, y), min = b.Min(x, y), zero = b.ConstantLike(x, 0);
  const Value infinity = b.Infinity(x.dtype(), false, x.dims());
  const Value ratio = min / b.Select(b.Eq(max, zero), b.ConstantLike(x, 1), max);
  const Value length = max * b.Sqrt(ratio * ratio + 1);
  const Value infinite = b.Or(b.Eq(x, infinity), b.Eq(y, infinity));
  return b.Select(infinite, infinity, length);
}

template <double factor>
Value Times(Builder& b, const OpCall& call) {
  TORCH_CHECK(!IsComplex(call.Tensor(0).dtype()), call.name(), ": expected a real dtype, got ",
              DTypeName(call.Tensor(0).dtype()));
  return Unary<[](Builder& b, Value x) { return x * factor; }, kFloat>(b, call);
}

// aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor
Value NanToNum(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  const DType type = RealType(x.dtype());
  if (!IsFloat(type)) return x;
  const auto number = [&](int i, const c10::Scalar& otherwise) {
    return b.Broadcast(call.NumberOr(b, i, otherwise, type), x.dims());
  };
  const double largest = type == DType::Double     ? std::numeric_limits<double>::max()
                         : type == DType::Half     ? 65504.0
                         : type == DType::BFloat16 ? 0x1.FEp127
                                                   : std::numeric_limits<float>::max();
  const Value nan = number(1, 0.0), high = number(2, largest), low = number(3, -largest);
  const auto replace = [&](Value part) {
    const Value infinity = b.Infinity(type, false, x.dims());
    Value result = b.Select(b.Ne(part, part), nan, part);
    result = b.Select(b.Eq(part, infinity), high, result);
    return b.Select(b.Eq(part, -infinity), low, result);
  };
  if (IsComplex(x.dtype())) return b.Complex(replace(b.Real(x)), replace(b.Imag(x)));
  return replace(x);
}

}  // namespace

OpRows ElementwiseRows() {
  constexpr Accept kReal = Accept::kReal, kFloats = Accept::kFloat;
  return {
      {"aten::abs", Abs, kSameOut},
      {"aten::neg", Negative, kSameOut},
      {"aten::sign", Unary<RealSign, kKeep, kReal>, kSameOut},
      {"aten::sgn", Unary<GeneralSign>, kSameOut},
      {"aten::signbit",
       Unary<SignBit, Promote::kBool, kReal>,
       {.elementwise = true, .exact_out = true}},
      {"aten::copysign.Tensor", Binary<CopySign, kFloat, kReal>, kElementwise},
      {"aten::copysign.Scalar", Binary<CopySign, kFloat, kReal>, kElementwise},
      {"aten::nextafter", NextAfter, kElementwise},
      {"aten::heaviside", Heaviside, kSameOut},
      {"aten::floor", Rounding<Floor>, kSameOut},
      {"aten::ceil", Rounding<Ceil>, kSameOut},
      {"aten::trunc", Rounding<Truncate>, kSameOut},
      {"aten::round", Rounding<RoundEven>, kSameOut},
      {"aten::round.decimals", RoundDecimals, kSameOut},
      {"aten::frac", Unary<Fraction, kKeep, kFloats>, kSameOut},
      {"aten::reciprocal", Unary<Reciprocal, kFloat>, kElementwise},
      {"aten::sqrt", UnaryOp<"sqrt", kFloat>, kElementwise},
      {"aten::rsqrt", Unary<Rsqrt, kFloat>, kElementwise},
      {"aten::exp", UnaryOp<"exponential", kFloat>, kElementwise},
      {"aten::exp2", Unary<Exp2, kFloat>, kElementwise},
      {"aten::expm1", UnaryOp<"exponential_minus_one", kFloat>, kElementwise},
      {"aten::log", UnaryOp<"log", kFloat>, kElementwise},
      {"aten::log1p", UnaryOp<"log_plus_one", kFloat>, kElementwise},
      {"aten::log2", Unary<Log2, kFloat>, kElementwise},
      {"aten::log10", Unary<Log10, kFloat>, kElementwise},
      {"aten::sin", UnaryOp<"sine", kFloat>, kElementwise},
      {"aten::cos", UnaryOp<"cosine", kFloat>, kElementwise},
      {"aten::tan", UnaryOp<"chlo.tan", kFloat>, kElementwise},
      {"aten::asin", UnaryOp<"chlo.asin", kFloat>, kElementwise},
      {"aten::acos", UnaryOp<"chlo.acos", kFloat>, kElementwise},
      {"aten::atan", UnaryOp<"chlo.atan", kFloat>, kElementwise},
      {"aten::sinh", UnaryOp<"chlo.sinh", kFloat>, kElementwise},
      {"aten::cosh", UnaryOp<"chlo.cosh", kFloat>, kElementwise},
      {"aten::tanh", UnaryOp<"tanh", kFloat>, kElementwise},
      {"aten::asinh", UnaryOp<"chlo.asinh", kFloat>, kElementwise},
      {"aten::acosh", UnaryOp<"chlo.acosh", kFloat>, kElementwise},
      {"aten::atanh", UnaryOp<"chlo.atanh", kFloat>, kElementwise},
      {"aten::sigmoid", UnaryOp<"logistic", kFloat>, kElementwise},
      {"aten::atan2", BinaryOp<"atan2", kFloat, kReal>, kElementwise},
      {"aten::hypot", Binary<Hypot, kKeep, kFloats>, kElementwise},
      {"aten::logaddexp", Binary<LogAddExp, kKeep, Accept::kFloatOrComplex>, kElementwise},
      {"aten::logaddexp2", Binary<LogAddExp2, kKeep, kFloats>, kElementwise},
      {"aten::frexp.Tensor", Frexp, kElementwise},
      {"aten::deg2rad", Times<std::numbers::pi / 180>, kElementwise},
      {"aten::rad2deg", Times<180 / std::numbers::pi>, kElementwise},
      {"aten::nan_to_num", NanToNum, kSameOut},
  };
}

}  // namespace torch_tpu::lowering
