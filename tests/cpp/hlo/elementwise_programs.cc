// Functions, numbers and elementwise operations.
#include "programs.h"

namespace torch_tpu::hlo {
namespace {

constexpr DType kFloats[] = {DType::Half,   DType::BFloat16,    DType::Float,
                             DType::Double, DType::Float8_e5m2, DType::Float8_e4m3fn};
constexpr DType kIntegers[] = {DType::Byte, DType::UInt16, DType::UInt32, DType::UInt64,
                               DType::Char, DType::Short,  DType::Int,    DType::Long};

Values Signature(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2, 3}});
  const Value y = b.Parameter({DType::Long, {}});
  b.SetParameterAttributes(0, "tf.aliasing_output = 1 : i32");
  b.SetLocation("aten::neg");
  return {y, b.Neg(x), x};
}

Values FlatParameters(Builder& b) {
  b.FlattenParameters();
  const Value x = b.Parameter({DType::Float, {2, 3}});
  const Value y = b.Parameter({DType::Float, {2, 3}});
  b.SetParameterAttributes(1, "tf.aliasing_output = 0 : i32");
  return {x + y};
}

Values NoParameters(Builder& b) { return {b.Constant(DType::Float, 1.5)}; }

Values NoResults(Builder& b) {
  b.Parameter({DType::Float, {2}});
  return {};
}

Values Constants(Builder& b) {
  Values v;
  for (DType dtype : kFloats) v.push_back(b.Constant(dtype, 0.5));
  for (DType dtype : kIntegers) v.push_back(b.Constant(dtype, 7, {2}));
  v.push_back(b.Constant(DType::Bool, true));
  v.push_back(b.Constant(DType::Bool, false, {0}));
  v.push_back(b.Constant(DType::ComplexFloat, c10::complex<double>(1, -2), {2, 2}));
  v.push_back(b.Constant(DType::ComplexDouble, 3));
  v.push_back(b.ConstantLike(v[8], -1));
  return v;
}

Values ConstantLists(Builder& b) {
  return {b.ConstantInts(DType::Long, {1, 2, 3, 4, 5, 6}, {1, 2, 3}),
          b.ConstantInts(DType::Byte, {-1, 256}, {2}),
          b.ConstantInts(DType::Int, {9}, {}),
          b.ConstantInts(DType::Bool, {0, 1, 2}, {3, 1}),
          b.ConstantDoubles(DType::Float, {0.1, -0.0, 1e-40, 1e39}, {4}),
          b.ConstantDoubles(DType::Double, {0.1, 1e300}, {2, 1})};
}

Values Iotas(Builder& b) {
  return {b.Iota(DType::Int, {2, 3}, 1), b.Iota(DType::Float, {4}, 0), b.Iota(DType::Bool, {2}, 0)};
}

Values NotFinite(Builder& b) {
  Values v;
  for (DType dtype : kFloats) {
    v.push_back(b.NaN(dtype));
    if (dtype == DType::Float8_e4m3fn) continue;  // a format without infinities
    v.push_back(b.Infinity(dtype, false));
    v.push_back(b.Infinity(dtype, true, {2}));
  }
  return v;
}

Values Bounds(Builder& b) {
  Values v;
  for (DType dtype : {DType::Bool, DType::Float, DType::BFloat16}) {
    v.push_back(b.LowestOf(dtype));
    v.push_back(b.HighestOf(dtype));
  }
  for (DType dtype : kIntegers) {
    v.push_back(b.LowestOf(dtype));
    v.push_back(b.HighestOf(dtype, {2}));
  }
  return v;
}

Values UnaryOps(Builder& b) {
  const Value x = b.Parameter({DType::Float, {3}}), z = b.Parameter({DType::ComplexFloat, {3}});
  const Value p = b.Parameter({DType::Bool, {3}});
  return {b.Abs(x),
          b.Abs(z),
          b.Not(p),
          b.Neg(z),
          b.Exp(x),
          b.Expm1(x),
          b.Log(x),
          b.Log1p(x),
          b.Sqrt(x),
          b.Rsqrt(x),
          b.Tanh(x),
          b.Sigmoid(x),
          b.Sin(x),
          b.Cos(x),
          b.Floor(x),
          b.Ceil(x),
          b.Sign(x),
          b.Unary("round_nearest_even", x),
          b.Unary("chlo.erf", x)};
}

Values BinaryOps(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2, 3}}), y = b.Parameter({DType::Float, {2, 3}});
  const Value m = b.Parameter({DType::Int, {3}}), n = b.Parameter({DType::Int, {3}});
  return {b.Add(x, y),
          b.Sub(x, y),
          b.Mul(x, y),
          b.Div(x, y),
          b.Rem(x, y),
          b.Pow(x, y),
          b.Max(x, y),
          b.Min(x, y),
          b.And(m, n),
          b.Or(m, n),
          b.Xor(m, n),
          b.Binary("shift_left", m, n),
          b.Binary("chlo.next_after", x, y)};
}

Values Operators(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2}}), y = b.Parameter({DType::Float, {2}});
  return {x + y, x - y, x * y, x / y, -x, x + 1, x - 2, x * 0.5, x / 4, 1 + x, 2 - x, 3 * x, 1 / x};
}

Values Comparisons(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2}}), y = b.Parameter({DType::Float, {2}});
  const Value m = b.Parameter({DType::Long, {2}}), u = b.Parameter({DType::Byte, {2}});
  const Value p = b.Parameter({DType::Bool, {2}}), z = b.Parameter({DType::ComplexDouble, {2}});
  return {b.Eq(x, y),
          b.Ne(x, y),
          b.Lt(x, y),
          b.Le(x, y),
          b.Gt(x, y),
          b.Ge(x, y),
          b.Lt(m, m),
          b.Lt(u, u),
          b.Eq(p, p),
          b.Eq(z, z),
          b.CompareTotalOrder("LT", x, y)};
}

Values Selections(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2, 2}}), y = b.Parameter({DType::Float, {2, 2}});
  const Value each = b.Parameter({DType::Bool, {2, 2}}), one = b.Parameter({DType::Bool, {}});
  const Value low = b.Parameter({DType::Float, {}});
  return {b.Select(each, x, y), b.Select(one, x, y), b.Clamp(low, x, y), b.IsFinite(x),
          b.ReducePrecision(x, 5, 10)};
}

// XLA saturates where C wraps, so narrow and unsigned targets go through a wide type.
Values Conversions(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2}}), m = b.Parameter({DType::Long, {2}});
  const Value z = b.Parameter({DType::ComplexFloat, {2}}), p = b.Parameter({DType::Bool, {2}});
  return {
      b.Convert(x, DType::Half),   b.Convert(x, DType::Char),   b.Convert(x, DType::Byte),
      b.Convert(x, DType::Int),    b.Convert(x, DType::UInt32), b.Convert(x, DType::Bool),
      b.Convert(m, DType::Byte),   b.Convert(p, DType::Float),  b.Convert(z, DType::Float),
      b.Convert(z, DType::Double), b.Convert(z, DType::Bool),   b.Convert(x, DType::ComplexFloat),
      b.Convert(x, DType::Float)};
}

Values Bitcasts(Builder& b) {
  const Value x = b.Parameter({DType::Float, {3}}), bytes = b.Parameter({DType::Byte, {3, 4}});
  return {b.BitcastConvert(x, DType::Int), b.BitcastConvert(x, DType::Short),
          b.BitcastConvert(bytes, DType::Float), b.BitcastConvert(x, DType::Float)};
}

Values ComplexParts(Builder& b) {
  const Value re = b.Parameter({DType::Double, {2}}), im = b.Parameter({DType::Double, {2}});
  const Value z = b.Complex(re, im);
  return {z, b.Real(z), b.Imag(z), b.Real(re)};
}

}  // namespace

std::vector<GoldenProgram> ElementwisePrograms() {
  return {
      {"signature", Signature},
      {"flat_parameters", FlatParameters},
      {"no_parameters", NoParameters},
      {"no_results", NoResults},
      {"constants", Constants},
      {"constant_lists", ConstantLists},
      {"iota", Iotas},
      {"not_finite", NotFinite},
      {"bounds", Bounds},
      {"unary", UnaryOps},
      {"binary", BinaryOps},
      {"operators", Operators},
      {"compare", Comparisons},
      {"select", Selections},
      {"convert", Conversions},
      {"bitcast", Bitcasts},
      {"complex", ComplexParts},
  };
}

}  // namespace torch_tpu::hlo
