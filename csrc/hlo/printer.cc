#include "hlo/printer.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <limits>

namespace torch_tpu::hlo {
namespace {

// MLIR reads non-finite floats only as the hexadecimal bits of their own format. NaN, infinities
// and everything out of range are therefore printed as bits; finite numbers as shortest decimals.
std::string FloatText(DType dtype, double value) {
  if (std::isfinite(value)) {
    if (dtype == DType::Float) value = static_cast<float>(value);
    if (std::isfinite(value)) {
      const std::string text = dtype == DType::Float ? fmt::format("{}", static_cast<float>(value))
                                                     : fmt::format("{}", value);
      if (text.find_first_of(".") != std::string::npos) return text;
      const size_t exponent = text.find('e');
      if (exponent == std::string::npos) return text + ".0";
      return text.substr(0, exponent) + ".0" + text.substr(exponent);
    }
  }
  const bool negative = std::signbit(value), nan = std::isnan(value);
  switch (dtype) {
    case DType::Double:
      return fmt::format("0x{:016X}", std::bit_cast<uint64_t>(value));
    case DType::Float:
      return fmt::format("0x{:08X}", std::bit_cast<uint32_t>(static_cast<float>(value)));
    case DType::BFloat16:
      return nan ? "0x7FC0" : negative ? "0xFF80" : "0x7F80";
    case DType::Half:
      return nan ? "0x7E00" : negative ? "0xFC00" : "0x7C00";
    case DType::Float8_e5m2:
      return nan ? "0x7F" : negative ? "0xFC" : "0x7C";
    case DType::Float8_e4m3fn:
      return negative ? "0xFF" : "0x7F";
    case DType::Float8_e4m3fnuz:
    case DType::Float8_e5m2fnuz:
      return "0x80";
    case DType::Float8_e8m0fnu:
      return "0xFF";
    default:
      TORCH_INTERNAL_ASSERT(false, "not a float type: ", DTypeName(dtype));
  }
}

}  // namespace

std::string ElementTypeText(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return "i1";
    case DType::Byte:
      return "ui8";
    case DType::UInt16:
      return "ui16";
    case DType::UInt32:
      return "ui32";
    case DType::UInt64:
      return "ui64";
    case DType::Char:
      return "i8";
    case DType::Short:
      return "i16";
    case DType::Int:
      return "i32";
    case DType::Long:
      return "i64";
    case DType::Half:
      return "f16";
    case DType::BFloat16:
      return "bf16";
    case DType::Float:
      return "f32";
    case DType::Double:
      return "f64";
    case DType::ComplexFloat:
      return "complex<f32>";
    case DType::ComplexDouble:
      return "complex<f64>";
    case DType::Float8_e4m3fn:
      return "f8E4M3FN";
    case DType::Float8_e5m2:
      return "f8E5M2";
    case DType::Float8_e4m3fnuz:
      return "f8E4M3FNUZ";
    case DType::Float8_e5m2fnuz:
      return "f8E5M2FNUZ";
    case DType::Float8_e8m0fnu:
      return "f8E8M0FNU";
    default:
      TORCH_CHECK_TYPE(false, "tpu: expected a data type that XLA can hold, got ",
                       DTypeName(dtype));
  }
}

std::string TypeText(const Type& type) {
  std::string text = "tensor<";
  for (int64_t d : type.dims) text += fmt::format("{}x", d);
  return text + ElementTypeText(type.dtype) + ">";
}

std::string ListText(IntArrayRef values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string ArrayAttr(IntArrayRef values) {
  if (values.empty()) return "array<i64>";
  return fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

std::string BoolArrayAttr(c10::ArrayRef<bool> values) {
  if (values.empty()) return "array<i1>";
  std::string text = "array<i1: ";
  for (size_t i = 0; i < values.size(); ++i) {
    text += i == 0 ? "" : ", ";
    text += values[i] ? "true" : "false";
  }
  return text + ">";
}

std::string NumberText(DType dtype, const c10::Scalar& value) {
  if (IsBool(dtype)) return value.toBool() ? "true" : "false";
  if (IsComplex(dtype)) {
    const c10::complex<double> z = value.toComplexDouble();
    const DType part = RealType(dtype);
    return fmt::format("({}, {})", FloatText(part, z.real()), FloatText(part, z.imag()));
  }
  if (IsFloat(dtype)) return FloatText(dtype, value.toDouble());
  if (dtype == DType::UInt64) return fmt::format("{}", value.toUInt64());
  const int64_t number = value.isFloatingPoint()         ? static_cast<int64_t>(value.toDouble())
                         : value.type() == DType::UInt64 ? static_cast<int64_t>(value.toUInt64())
                                                         : value.toLong();
  switch (dtype) {  // wrap to the type's range, as a C cast does
    case DType::Byte:
      return fmt::format("{}", static_cast<uint8_t>(number));
    case DType::UInt16:
      return fmt::format("{}", static_cast<uint16_t>(number));
    case DType::UInt32:
      return fmt::format("{}", static_cast<uint32_t>(number));
    case DType::Char:
      return fmt::format("{}", static_cast<int8_t>(number));
    case DType::Short:
      return fmt::format("{}", static_cast<int16_t>(number));
    case DType::Int:
      return fmt::format("{}", static_cast<int32_t>(number));
    default:
      return fmt::format("{}", number);
  }
}

}  // namespace torch_tpu::hlo
