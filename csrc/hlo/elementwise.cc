// Numbers and elementwise operations.
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <limits>

#include "hlo/builder.h"
#include "hlo/printer.h"

namespace torch_tpu::hlo {
namespace {

void CheckSame(std::string_view op, const Value& x, const Value& y) {
  TORCH_INTERNAL_ASSERT(x.type() == y.type(), op, ": operand types differ: ", TypeText(x.type()),
                        " and ", TypeText(y.type()));
}

template <typename T, typename F>
std::string Elements(c10::ArrayRef<T> values, IntArrayRef dims, const F& print) {
  TORCH_INTERNAL_ASSERT(NumElements(dims) == static_cast<int64_t>(values.size()));
  if (dims.empty()) return print(values[0]);
  // dense<[[a, b], [c, d]]>: brackets open and close at multiples of the trailing sizes.
  std::string text;
  const Dims strides = RowMajorStrides(dims);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    for (size_t d = 0; d < dims.size(); ++d) {
      if (i % (strides[d] * dims[d]) == 0) text += "[";
    }
    text += print(values[i]);
    for (size_t d = 0; d < dims.size(); ++d) {
      if ((i + 1) % (strides[d] * dims[d]) == 0) text += "]";
    }
  }
  return text;
}

}  // namespace

Value Builder::Constant(DType dtype, const c10::Scalar& value, IntArrayRef dims) {
  const Type type{dtype, Dims(dims)};
  return Emit1("constant", {}, type,
               fmt::format("value = dense<{}> : {}", NumberText(dtype, value), TypeText(type)));
}

Value Builder::ConstantLike(Value like, const c10::Scalar& value) {
  return Constant(like.dtype(), value, like.dims());
}

Value Builder::ConstantInts(DType dtype, IntArrayRef values, IntArrayRef dims) {
  const Type type{dtype, Dims(dims)};
  const std::string text =
      Elements<int64_t>(values, dims, [&](int64_t v) { return NumberText(dtype, c10::Scalar(v)); });
  return Emit1("constant", {}, type, fmt::format("value = dense<{}> : {}", text, TypeText(type)));
}

Value Builder::ConstantDoubles(DType dtype, c10::ArrayRef<double> values, IntArrayRef dims) {
  const Type type{dtype, Dims(dims)};
  const std::string text =
      Elements<double>(values, dims, [&](double v) { return NumberText(dtype, c10::Scalar(v)); });
  return Emit1("constant", {}, type, fmt::format("value = dense<{}> : {}", text, TypeText(type)));
}

Value Builder::Iota(DType dtype, IntArrayRef dims, int64_t dim) {
  if (IsBool(dtype)) return Convert(Iota(DType::Int, dims, dim), dtype);
  return Emit1("iota", {}, {dtype, Dims(dims)}, fmt::format("iota_dimension = {} : i64", dim));
}

Value Builder::Infinity(DType dtype, bool negative, IntArrayRef dims) {
  const double inf = std::numeric_limits<double>::infinity();
  return Constant(dtype, negative ? -inf : inf, dims);
}

Value Builder::NaN(DType dtype, IntArrayRef dims) {
  return Constant(dtype, std::numeric_limits<double>::quiet_NaN(), dims);
}

Value Builder::LowestOf(DType dtype, IntArrayRef dims) {
  if (IsFloat(dtype)) return Infinity(dtype, true, dims);
  if (IsBool(dtype) || IsUnsigned(dtype)) return Constant(dtype, 0, dims);
  const int bits = static_cast<int>(c10::elementSize(dtype)) * 8;
  return Constant(dtype, static_cast<int64_t>(uint64_t{1} << 63) >> (64 - bits), dims);
}

Value Builder::HighestOf(DType dtype, IntArrayRef dims) {
  if (IsFloat(dtype)) return Infinity(dtype, false, dims);
  if (IsBool(dtype)) return Constant(dtype, true, dims);
  const int bits = static_cast<int>(c10::elementSize(dtype)) * 8;
  const uint64_t highest = ~uint64_t{0} >> (64 - bits + (IsUnsigned(dtype) ? 0 : 1));
  return Constant(dtype, c10::Scalar(highest), dims);
}

Value Builder::Unary(std::string_view op, Value x) {
  Type type = x.type();
  if (op == "abs") type.dtype = RealType(type.dtype);
  return Emit1(op, {x}, type);
}

Value Builder::Binary(std::string_view op, Value x, Value y) {
  CheckSame(op, x, y);
  return Emit1(op, {x, y}, x.type());
}

Value Builder::Compare(std::string_view direction, Value x, Value y) {
  CheckSame("compare", x, y);
  const DType t = x.dtype();
  const std::string_view kind = IsFloat(t) || IsComplex(t)   ? "FLOAT"
                                : IsUnsigned(t) || IsBool(t) ? "UNSIGNED"
                                                             : "SIGNED";
  return Emit1("compare", {x, y}, {DType::Bool, x.dims()},
               fmt::format("comparison_direction = #stablehlo<comparison_direction {}>, "
                           "compare_type = #stablehlo<comparison_type {}>",
                           direction, kind));
}

Value Builder::CompareTotalOrder(std::string_view direction, Value x, Value y) {
  CheckSame("compare", x, y);
  return Emit1("compare", {x, y}, {DType::Bool, x.dims()},
               fmt::format("comparison_direction = #stablehlo<comparison_direction {}>, "
                           "compare_type = #stablehlo<comparison_type TOTALORDER>",
                           direction));
}

Value Builder::Select(Value predicate, Value on_true, Value on_false) {
  CheckSame("select", on_true, on_false);
  TORCH_INTERNAL_ASSERT(predicate.rank() == 0 || predicate.dims() == on_true.dims(),
                        "select: predicate ", TypeText(predicate.type()), " does not fit ",
                        TypeText(on_true.type()));
  return Emit1("select", {predicate, on_true, on_false}, on_true.type());
}

Value Builder::Clamp(Value low, Value x, Value high) {
  return Emit1("clamp", {low, x, high}, x.type());
}

Value Builder::Convert(Value x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (IsBool(dtype)) return Ne(x, ConstantLike(x, 0));
  if (IsComplex(x.dtype()) && !IsComplex(dtype)) x = Real(x);
  if (x.dtype() == dtype) return x;
  // XLA saturates float -> integer; C and PyTorch on CPU wrap through int64 for narrow targets.
  if (IsFloat(x.dtype()) && IsInteger(dtype) && c10::elementSize(dtype) < 4) {
    x = Emit1("convert", {x}, {DType::Int, x.dims()});
  } else if (IsFloat(x.dtype()) && IsUnsigned(dtype)) {
    x = Emit1("convert", {x}, {DType::Long, x.dims()});
  }
  return Emit1("convert", {x}, {dtype, x.dims()});
}

Value Builder::BitcastConvert(Value x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const int64_t from = c10::elementSize(x.dtype()), to = c10::elementSize(dtype);
  Dims dims = x.dims();
  if (from > to) dims.push_back(from / to);
  if (from < to) {
    TORCH_INTERNAL_ASSERT(!dims.empty() && dims.back() == to / from, "bitcast_convert");
    dims.pop_back();
  }
  return Emit1("bitcast_convert", {x}, {dtype, dims});
}

Value Builder::Complex(Value real, Value imag) {
  CheckSame("complex", real, imag);
  return Emit1("complex", {real, imag}, {ComplexType(real.dtype()), real.dims()});
}

Value Builder::Real(Value x) {
  return IsComplex(x.dtype()) ? Emit1("real", {x}, {RealType(x.dtype()), x.dims()}) : x;
}

Value Builder::Imag(Value x) { return Emit1("imag", {x}, {RealType(x.dtype()), x.dims()}); }

Value Builder::IsFinite(Value x) { return Emit1("is_finite", {x}, {DType::Bool, x.dims()}); }

Value Builder::ReducePrecision(Value x, int exponent_bits, int mantissa_bits) {
  return Emit1("reduce_precision", {x}, x.type(),
               fmt::format("exponent_bits = {} : i32, mantissa_bits = {} : i32", exponent_bits,
                           mantissa_bits));
}

}  // namespace torch_tpu::hlo
