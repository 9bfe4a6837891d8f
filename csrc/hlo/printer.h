// StableHLO's textual forms of types and attributes.
#pragma once

#include <c10/core/Scalar.h>

#include <string>

#include "hlo/type.h"

namespace torch_tpu::hlo {

std::string ElementTypeText(DType dtype);                       // "f32", "ui8", "complex<f32>"
std::string TypeText(const Type& type);                         // "tensor<2x3xf32>"
std::string ArrayAttr(IntArrayRef values);                      // "array<i64: 0, 1>"
std::string ListText(IntArrayRef values);                       // "[0, 1]"
std::string BoolArrayAttr(c10::ArrayRef<bool> values);          // "array<i1: false, true>"
std::string NumberText(DType dtype, const c10::Scalar& value);  // one element of dense<...>

}  // namespace torch_tpu::hlo
