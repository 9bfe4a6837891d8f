// Random numbers by distribution. Same seed and offset, same numbers, wherever the row is lowered.
#include <c10/util/Exception.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/random_stream.h"

namespace torch_tpu::lowering {
namespace {

// Float types are drawn in float32, or float64 for their own.
DType Working(const OpCall& call, DType dtype) {
  CheckDtype(call.name(), dtype, Accept::kFloat);
  return dtype == DType::Double ? DType::Double : DType::Float;
}

int Digits(DType dtype) {
  switch (dtype) {
    case DType::BFloat16:
      return 8;
    case DType::Half:
      return 11;
    case DType::Double:
      return 53;
    default:
      return 24;
  }
}

bool InUnit(double p) { return p >= 0 && p <= 1; }
Value InUnitValue(Builder& b, Value p) {
  return b.And(b.Ge(p, b.ConstantLike(p, 0)), b.Le(p, b.ConstantLike(p, 1)));
}
Value Spread(Builder& b, const OpCall& call, int i, Value like) {
  return b.Broadcast(call.Number(b, i, like.dtype()), like.dims());
}

Value UniformPart(Builder& b, const OpCall& call, RandomStream& random, DType dtype,
                  const Dims& dims) {
  const Value u = random.Uniform(Working(call, dtype), dims, Digits(dtype));
  const NumberArg &from = call.RawNumber(1), &to = call.RawNumber(2);
  if (from.constant && to.constant) {
    TORCH_CHECK(from.constant->toDouble() <= to.constant->toDouble(), call.name(),
                ": expected from <= to, got ", from.constant->toDouble(), " and ",
                to.constant->toDouble());
  } else {
    call.Require(b.Le(NumberValue(b, from, DType::Double), NumberValue(b, to, DType::Double)),
                 "expected from <= to");
  }
  const Value low = Spread(b, call, 1, u), high = Spread(b, call, 2, u);
  const Value x = b.Convert(u * (high - low) + low, dtype);
  // Rounding can reach the bound, which is not in the range.
  const Value lowest = b.Convert(low, dtype);
  return b.Select(b.Ge(x, b.Convert(high, dtype)), lowest, x);
}

// aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor
Value Uniform(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  RandomStream random(b, call);
  const DType part = IsComplex(self.dtype()) ? RealType(self.dtype()) : self.dtype();
  const Value real = UniformPart(b, call, random, part, self.dims());
  if (!IsComplex(self.dtype())) return real;
  return b.Complex(real, UniformPart(b, call, random, part, self.dims()));
}

// mean + std * standard normal, of the dtype of the result. A complex number has two parts that
// share the variance.
Value NormalFrom(Builder& b, const OpCall& call, Value mean, Value deviation, DType dtype,
                 const Dims& dims) {
  RandomStream random(b, call);
  if (IsComplex(dtype)) {
    const DType part = RealType(dtype);
    const Value scale = b.Broadcast(b.Convert(deviation, part), dims) * (1 / std::numbers::sqrt2);
    const Value real = random.Normal(part, dims) * scale, imag = random.Normal(part, dims) * scale;
    return b.Complex(real, imag) + b.Broadcast(b.Convert(mean, dtype), dims);
  }
  const DType compute = Working(call, dtype);
  const Value z = random.Normal(compute, dims);
  return b.Convert(z * b.Broadcast(b.Convert(deviation, compute), dims) +
                       b.Broadcast(b.Convert(mean, compute), dims),
                   dtype);
}

// aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None)
//   -> Tensor
Value Normal(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  RequireNumber(b, call, 2, NotNegative, NotNegativeValue, "expected std >= 0");
  Value mean = call.Number(b, 1, DType::Double);
  if (IsComplex(self.dtype())) mean = b.Complex(mean, mean);  // of either part, as PyTorch does
  return NormalFrom(b, call, mean, call.Number(b, 2, DType::Double), self.dtype(), self.dims());
}

void RequireDeviations(Builder& b, const OpCall& call, Value deviation) {
  TORCH_CHECK(!IsComplex(deviation.dtype()), call.name(), ": expected a real std, got ",
              DTypeName(deviation.dtype()));
  if (deviation.numel() == 0) return;
  call.Require(All(b, b.Ge(deviation, b.ConstantLike(deviation, 0))), "expected all std >= 0");
}

// aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor
Value NormalTensorFloat(Builder& b, const OpCall& call) {
  const Value mean = call.Tensor(0);
  RequireNumber(b, call, 1, NotNegative, NotNegativeValue, "expected std >= 0");
  return NormalFrom(b, call, mean, call.Number(b, 1, DType::Double), mean.dtype(), mean.dims());
}

// aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor
Value NormalFloatTensor(Builder& b, const OpCall& call) {
  const Value deviation = call.Tensor(1);
  RequireDeviations(b, call, deviation);
  return NormalFrom(b, call, call.Number(b, 0, DType::Double), deviation, deviation.dtype(),
                    deviation.dims());
}

// aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor
Value NormalTensorTensor(Builder& b, const OpCall& call) {
  const Value mean = call.Tensor(0), deviation = call.Tensor(1);
  RequireDeviations(b, call, deviation);
  return NormalFrom(b, call, mean, deviation, mean.dtype(),
                    BroadcastShape(call.name(), {mean, deviation}));
}

// 1 with probability p. p = 1 is above every number drawn, p = 0 above none.
Value Bernoulli(Builder& b, const OpCall& call, Value p, const Dims& dims) {
  RandomStream random(b, call);
  const DType compute = p.dtype() == DType::Double ? DType::Double : DType::Float;
  return b.Lt(random.Uniform(compute, dims), b.Broadcast(b.Convert(p, compute), dims));
}

Value CheckedProbabilities(Builder& b, const OpCall& call, Value p) {
  CheckDtype(call.name(), p.dtype(), Accept::kFloat);
  if (p.numel() > 0) {
    const Value zero = b.ConstantLike(p, 0), one = b.ConstantLike(p, 1);
    call.Require(All(b, b.And(b.Ge(p, zero), b.Le(p, one))), "expected 0 <= p <= 1");
  }
  return p;
}

// aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor
Value BernoulliSelf(Builder& b, const OpCall& call) {
  const Value p = CheckedProbabilities(b, call, call.Tensor(0));
  return b.Convert(Bernoulli(b, call, p, p.dims()), p.dtype());
}

// aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor
Value BernoulliTensor(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const Value p =
      ExpandTo(b, call, CheckedProbabilities(b, call, call.Tensor(1)), self.dims(), "p");
  return b.Convert(Bernoulli(b, call, p, self.dims()), self.dtype());
}

// aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor
Value BernoulliNumber(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  RequireNumber(b, call, 1, InUnit, InUnitValue, "expected 0 <= p <= 1");
  return b.Convert(Bernoulli(b, call, call.Number(b, 1, DType::Float), self.dims()), self.dtype());
}

// aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)
Values NativeDropout(Builder& b, const OpCall& call) {
  const Value input = call.Tensor(0);
  if (input.numel() == 0 || (!call.IsNone(2) && !call.Bool(2))) {
    return {input, b.Constant(DType::Bool, true, input.dims())};
  }
  CheckDtype(call.name(), input.dtype(), Accept::kFloatOrComplex);
  RequireNumber(b, call, 1, InUnit, InUnitValue, "expected 0 <= p <= 1");
  const Value keep = 1.0 - call.Number(b, 1, DType::Double);
  const Value mask = Bernoulli(b, call, b.Convert(keep, DType::Float), input.dims());
  const Value one = b.ConstantLike(keep, 1), zero = b.ConstantLike(keep, 0);
  const Value scale = b.Select(b.Eq(keep, zero), zero, one / keep);
  const DType compute = AccumulateType(input.dtype());
  const Value wide = b.Convert(input, compute);
  const Value dropped = wide * b.Convert(mask, compute);
  return {b.Convert(dropped * b.Broadcast(b.Convert(scale, compute), input.dims()), input.dtype()),
          mask};
}

// aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor
Value NativeDropoutBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0);
  const DType type = call.FloatResultType({0}), compute = AccumulateType(type);
  const Value mask = b.Convert(call.Tensor(1), compute);
  TORCH_CHECK(mask.dims() == grad.dims(), call.name(), ": expected a mask of shape ",
              ToString(grad.dims()), ", got ", ToString(mask.dims()));
  return b.Convert(b.Convert(grad, compute) * (mask * Spread(b, call, 2, mask)), type);
}

// [from, from + range) as int64; range 0 stands for all 2^64 values.
Value Integers(Builder& b, RandomStream& random, const Dims& dims, int64_t from, uint64_t range) {
  Value bits = random.Bits(DType::UInt64, dims);
  if (range != 0) bits = b.Rem(bits, b.Constant(DType::UInt64, c10::Scalar(range), dims));
  const Value offset = b.Convert(bits, DType::Long);
  return offset + b.ConstantLike(offset, from);
}

// The largest number that random_() gives: every integer up to it is exact in the type.
int64_t LargestInteger(DType dtype) {
  if (IsFloat(dtype)) return int64_t{1} << Digits(dtype);
  if (IsBool(dtype)) return 1;
  const int bits = static_cast<int>(c10::elementSize(dtype)) * 8;
  if (bits == 64) return std::numeric_limits<int64_t>::max();
  return (int64_t{1} << (bits - (IsUnsigned(dtype) ? 0 : 1))) - 1;
}

int64_t SmallestInteger(DType dtype) {
  if (IsFloat(dtype)) return -LargestInteger(dtype);
  if (IsBool(dtype) || IsUnsigned(dtype)) return 0;
  return -LargestInteger(dtype) - 1;
}

Value RandomIn(Builder& b, const OpCall& call, const Dims& dims, DType dtype, int64_t from,
               int64_t last) {
  TORCH_CHECK(!IsComplex(dtype), call.name(), ": expected a real type, got ", DTypeName(dtype));
  RandomStream random(b, call);
  const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
  return b.Convert(Integers(b, random, dims, from, range), dtype);
}

void CheckRange(const OpCall& call, DType dtype, int64_t from, int64_t to) {
  TORCH_CHECK(from < to, call.name(), ": expected from < to, got ", from, " and ", to);
  if (IsFloat(dtype)) return;
  const int64_t low = SmallestInteger(dtype), high = LargestInteger(dtype);
  TORCH_CHECK(from >= low && from <= high, call.name(), ": expected from in the range of ",
              DTypeName(dtype), ", got ", from);
  TORCH_CHECK(to - 1 >= low && to - 1 <= high, call.name(), ": expected to - 1 in the range of ",
              DTypeName(dtype), ", got ", to - 1);
}

// aten::random(Tensor self, *, Generator? generator=None) -> Tensor
Value Random(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  return RandomIn(b, call, self.dims(), self.dtype(), 0, LargestInteger(self.dtype()));
}

// aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor
Value RandomTo(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckRange(call, self.dtype(), 0, call.Int(1));
  return RandomIn(b, call, self.dims(), self.dtype(), 0, call.Int(1) - 1);
}

// aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor
Value RandomFrom(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const int64_t from = call.Int(1);
  if (!call.IsNone(2)) {
    CheckRange(call, self.dtype(), from, call.Int(2));
    return RandomIn(b, call, self.dims(), self.dtype(), from, call.Int(2) - 1);
  }
  // From the smallest int64 on, everything.
  const int64_t last = LargestInteger(self.dtype());
  TORCH_CHECK(from <= last, call.name(), ": expected from <= ", last, ", got ", from);
  return RandomIn(b, call, self.dims(), self.dtype(), from, last);
}

// aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, ...) -> Tensor, .generator
// aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, ...),
// .low_generator
template <bool with_low, bool with_generator>
Value RandInt(Builder& b, const OpCall& call) {
  constexpr int high = with_low ? 1 : 0;
  const int64_t from = with_low ? call.Int(0) : 0;
  const DType dtype = call.DtypeOr(high + 2 + (with_generator ? 1 : 0), DType::Long);
  CheckRange(call, dtype, from, call.Int(high));
  return RandomIn(b, call, call.Ints(high + 1), dtype, from, call.Int(high) - 1);
}

// aten::rand(SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor, .generator; randn
template <bool normal, int dtype_arg>
Value RandSized(Builder& b, const OpCall& call) {
  const DType dtype = call.DtypeOr(dtype_arg, call.default_dtype());
  if (normal) {
    return NormalFrom(b, call, b.Constant(DType::Double, 0), b.Constant(DType::Double, 1), dtype,
                      call.Ints(0));
  }
  RandomStream random(b, call);
  return b.Convert(random.Uniform(Working(call, dtype), call.Ints(0), Digits(dtype)), dtype);
}

// aten::rand_like(Tensor self, *, ScalarType? dtype=None, ...) -> Tensor; randn_like
template <bool normal>
Value RandLike(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const DType dtype = call.DtypeOr(1, self.dtype());
  if (normal) {
    return NormalFrom(b, call, b.Constant(DType::Double, 0), b.Constant(DType::Double, 1), dtype,
                      self.dims());
  }
  RandomStream random(b, call);
  return b.Convert(random.Uniform(Working(call, dtype), self.dims(), Digits(dtype)), dtype);
}

// aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, ...) -> Tensor
// aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None,
// ...)
template <bool with_low>
Value RandIntLike(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const int64_t from = with_low ? call.Int(1) : 0, to = call.Int(with_low ? 2 : 1);
  const DType dtype = call.DtypeOr(with_low ? 3 : 2, self.dtype());
  CheckRange(call, dtype, from, to);
  return RandomIn(b, call, self.dims(), dtype, from, to - 1);
}

// aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None,
//     ScalarType? dtype=None, ...) -> Tensor
Value NormalFloatFloat(Builder& b, const OpCall& call) {
  RequireNumber(b, call, 1, NotNegative, NotNegativeValue, "expected std >= 0");
  return NormalFrom(b, call, call.Number(b, 0, DType::Double), call.Number(b, 1, DType::Double),
                    call.DtypeOr(4, call.default_dtype()), call.Ints(2));
}

// aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor
Value Exponential(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  RequireNumber(b, call, 1, Positive, PositiveValue, "expected lambd > 0");
  RandomStream random(b, call);
  const Value x = random.Exponential(Working(call, self.dtype()), self.dims());
  return b.Convert(x / Spread(b, call, 1, x), self.dtype());
}

// aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) ->
// Tensor
Value Cauchy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  RequireNumber(b, call, 2, Positive, PositiveValue, "expected sigma > 0");
  RandomStream random(b, call);
  const Value u = random.OpenUniform(Working(call, self.dtype()), self.dims());
  const Value angle = (u - 0.5) * std::numbers::pi;
  const Value tangent = b.Sin(angle) / b.Cos(angle);
  return b.Convert(Spread(b, call, 1, u) + Spread(b, call, 2, u) * tangent, self.dtype());
}

// aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) ->
// Tensor
Value LogNormal(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  RequireNumber(b, call, 2, Positive, PositiveValue, "expected std > 0");
  RandomStream random(b, call);
  const Value z = random.Normal(Working(call, self.dtype()), self.dims());
  return b.Convert(b.Exp(z * Spread(b, call, 2, z) + Spread(b, call, 1, z)), self.dtype());
}

// aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor
Value Geometric(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  TORCH_CHECK(!IsComplex(self.dtype()) && !IsBool(self.dtype()), call.name(),
              ": expected a real number type, got ", DTypeName(self.dtype()));
  RequireNumber(
      b, call, 1, [](double p) { return p > 0 && p < 1; },
      [](Builder& b, Value p) {
        return b.And(b.Gt(p, b.ConstantLike(p, 0)), b.Lt(p, b.ConstantLike(p, 1)));
      },
      "expected 0 < p < 1");
  const bool narrow = IsFloat(self.dtype()) && self.dtype() != DType::Double;
  RandomStream random(b, call);
  const Value u = random.OpenUniform(narrow ? DType::Float : DType::Double, self.dims());
  const Value failures = b.Log1p(b.Neg(call.Number(b, 1, u.dtype())));
  return b.Convert(b.Ceil(b.Log(u) / b.Broadcast(failures, u.dims())), self.dtype());
}

const OpRow::Flags kRandom = {.random = true};
const OpRow::Flags kRandomLike = {.random = true, .graph_only = true};

}  // namespace

OpRows RandomRows() {
  return {
      {"aten::uniform", Uniform, kRandom},
      {"aten::normal_functional", Normal, kRandom},
      {"aten::normal.Tensor_float", NormalTensorFloat, kRandom},
      {"aten::normal.float_Tensor", NormalFloatTensor, kRandom},
      {"aten::normal.Tensor_Tensor", NormalTensorTensor, kRandom},
      {"aten::bernoulli", BernoulliSelf, kRandom},
      {"aten::bernoulli.Tensor", BernoulliTensor, kRandom},
      {"aten::bernoulli.p", BernoulliNumber, kRandom},
      {"aten::native_dropout", NativeDropout, kRandom},
      {"aten::native_dropout_backward", NativeDropoutBackward},
      {"aten::random", Random, kRandom},
      {"aten::random.to", RandomTo, kRandom},
      {"aten::random.from", RandomFrom, kRandom},
      {"aten::randint", RandInt<false, false>, kRandom},
      {"aten::randint.generator", RandInt<false, true>, kRandom},
      {"aten::randint.low", RandInt<true, false>, kRandom},
      {"aten::randint.low_generator", RandInt<true, true>, kRandom},
      {"aten::rand", RandSized<false, 1>, kRandom},
      {"aten::rand.generator", RandSized<false, 2>, kRandom},
      {"aten::randn", RandSized<true, 1>, kRandom},
      {"aten::randn.generator", RandSized<true, 2>, kRandom},
      {"aten::rand_like", RandLike<false>, kRandomLike},
      {"aten::randn_like", RandLike<true>, kRandomLike},
      {"aten::randint_like", RandIntLike<false>, kRandomLike},
      {"aten::randint_like.low_dtype", RandIntLike<true>, kRandomLike},
      {"aten::normal.float_float", NormalFloatFloat, kRandom},
      {"aten::exponential", Exponential, kRandom},
      {"aten::cauchy", Cauchy, kRandom},
      {"aten::log_normal", LogNormal, kRandom},
      {"aten::geometric", Geometric, kRandom},
  };
}

}  // namespace torch_tpu::lowering
