#include "pjrt/element_type.h"

#include <c10/util/Exception.h>

#include <array>

namespace torch_tpu::pjrt {
namespace {

struct Row {
  DType dtype;
  PJRT_Buffer_Type type;
};

constexpr Row kRows[] = {
    {DType::Bool, PJRT_Buffer_Type_PRED},
    {DType::Char, PJRT_Buffer_Type_S8},
    {DType::Short, PJRT_Buffer_Type_S16},
    {DType::Int, PJRT_Buffer_Type_S32},
    {DType::Long, PJRT_Buffer_Type_S64},
    {DType::Byte, PJRT_Buffer_Type_U8},
    {DType::UInt16, PJRT_Buffer_Type_U16},
    {DType::UInt32, PJRT_Buffer_Type_U32},
    {DType::UInt64, PJRT_Buffer_Type_U64},
    {DType::Half, PJRT_Buffer_Type_F16},
    {DType::BFloat16, PJRT_Buffer_Type_BF16},
    {DType::Float, PJRT_Buffer_Type_F32},
    {DType::Double, PJRT_Buffer_Type_F64},
    {DType::ComplexFloat, PJRT_Buffer_Type_C64},
    {DType::ComplexDouble, PJRT_Buffer_Type_C128},
    {DType::Float8_e5m2, PJRT_Buffer_Type_F8E5M2},
    {DType::Float8_e4m3fn, PJRT_Buffer_Type_F8E4M3FN},
    {DType::Float8_e5m2fnuz, PJRT_Buffer_Type_F8E5M2FNUZ},
    {DType::Float8_e4m3fnuz, PJRT_Buffer_Type_F8E4M3FNUZ},
    {DType::Float8_e8m0fnu, PJRT_Buffer_Type_F8E8M0FNU},
};

constexpr auto kByDType = [] {
  std::array<PJRT_Buffer_Type, static_cast<size_t>(DType::NumOptions)> table{};
  for (auto& type : table) type = PJRT_Buffer_Type_INVALID;
  for (const Row& row : kRows) table[static_cast<size_t>(row.dtype)] = row.type;
  return table;
}();

}  // namespace

std::optional<PJRT_Buffer_Type> TryToBufferType(DType dtype) {
  const size_t index = static_cast<size_t>(dtype);
  if (index >= kByDType.size() || kByDType[index] == PJRT_Buffer_Type_INVALID) return std::nullopt;
  return kByDType[index];
}

PJRT_Buffer_Type ToBufferType(DType dtype) {
  const auto type = TryToBufferType(dtype);
  TORCH_CHECK_NOT_IMPLEMENTED(type.has_value(),
                              "tpu: expected a dtype that the device can hold, got torch.",
                              DTypeName(dtype));
  return *type;
}

DType FromBufferType(PJRT_Buffer_Type type) {
  for (const Row& row : kRows) {
    if (row.type == type) return row.dtype;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "tpu: expected an element type that PyTorch has, got PJRT_Buffer_Type ",
      static_cast<int>(type));
}

}  // namespace torch_tpu::pjrt
