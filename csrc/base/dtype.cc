#include "base/dtype.h"

#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/util/Exception.h>

namespace torch_tpu {

std::string DTypeName(DType dtype) { return std::string(c10::getDtypeNames(dtype).first); }

bool IsSupportedDType(DType dtype) {
  switch (dtype) {
    case DType::Bool:
    case DType::Byte:
    case DType::Char:
    case DType::Short:
    case DType::Int:
    case DType::Long:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
    case DType::Half:
    case DType::BFloat16:
    case DType::Float:
    case DType::Double:
    case DType::ComplexFloat:
    case DType::ComplexDouble:
    case DType::Float8_e4m3fn:
    case DType::Float8_e5m2:
    case DType::Float8_e4m3fnuz:
    case DType::Float8_e5m2fnuz:
    case DType::Float8_e8m0fnu:
      return true;
    default:
      return false;
  }
}

DType AccumulateType(DType dtype) {
  if (c10::isReducedFloatingType(dtype)) return DType::Float;
  return dtype;
}

DType RealType(DType dtype) { return IsComplex(dtype) ? c10::toRealValueType(dtype) : dtype; }

DType ComplexType(DType dtype) {
  if (IsComplex(dtype)) return dtype;
  return dtype == DType::Double ? DType::ComplexDouble : DType::ComplexFloat;
}

}  // namespace torch_tpu
