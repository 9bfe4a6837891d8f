// Element types. The whole project speaks c10::ScalarType, so no mapping exists between rooms.
#pragma once

#include <c10/core/ScalarType.h>

#include <string>

namespace torch_tpu {

using DType = c10::ScalarType;

// "float32", "bfloat16", "int64", ...: the name a user writes after `torch.`.
std::string DTypeName(DType dtype);

// Whether a device buffer can hold the type at all (quantized and sub-byte types cannot).
bool IsSupportedDType(DType dtype);

// Reductions and products of low-precision floats are carried out in float32.
DType AccumulateType(DType dtype);

inline bool IsFloat(DType t) { return c10::isFloatingType(t); }
inline bool IsComplex(DType t) { return c10::isComplexType(t); }
inline bool IsInteger(DType t) { return c10::isIntegralType(t, /*includeBool=*/false); }
inline bool IsUnsigned(DType t) {
  return t == DType::Byte || t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64;
}
inline bool IsBool(DType t) { return t == DType::Bool; }

// complex64 -> float32 and so on; other types stay.
DType RealType(DType dtype);
// float32 -> complex64 and so on; complex types stay.
DType ComplexType(DType dtype);

}  // namespace torch_tpu
