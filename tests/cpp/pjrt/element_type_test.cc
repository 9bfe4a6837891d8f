#include "pjrt/element_type.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <set>

namespace torch_tpu::pjrt {
namespace {

constexpr DType kHeld[] = {DType::Bool,
                           DType::Char,
                           DType::Short,
                           DType::Int,
                           DType::Long,
                           DType::Byte,
                           DType::UInt16,
                           DType::UInt32,
                           DType::UInt64,
                           DType::Half,
                           DType::BFloat16,
                           DType::Float,
                           DType::Double,
                           DType::ComplexFloat,
                           DType::ComplexDouble,
                           DType::Float8_e5m2,
                           DType::Float8_e4m3fn,
                           DType::Float8_e5m2fnuz,
                           DType::Float8_e4m3fnuz,
                           DType::Float8_e8m0fnu};

TEST(ElementType, EveryHeldDTypeHasItsOwn) {
  std::set<PJRT_Buffer_Type> seen;
  for (const DType dtype : kHeld) {
    EXPECT_EQ(FromBufferType(ToBufferType(dtype)), dtype);
    seen.insert(ToBufferType(dtype));
  }
  EXPECT_EQ(seen.size(), std::size(kHeld));
  EXPECT_EQ(ToBufferType(DType::Bool), PJRT_Buffer_Type_PRED);
  EXPECT_EQ(ToBufferType(DType::BFloat16), PJRT_Buffer_Type_BF16);
  EXPECT_EQ(ToBufferType(DType::ComplexFloat), PJRT_Buffer_Type_C64);
}

TEST(ElementType, AgreesWithTheBaseRoom) {
  for (int i = 0; i < static_cast<int>(DType::NumOptions); ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(TryToBufferType(dtype).has_value(), IsSupportedDType(dtype)) << i;
  }
}

TEST(ElementType, OthersAreNotImplemented) {
  for (int i = 0; i < static_cast<int>(DType::NumOptions); ++i) {
    const DType dtype = static_cast<DType>(i);
    if (IsSupportedDType(dtype) || dtype == DType::Undefined) continue;
    EXPECT_THROW(ToBufferType(dtype), c10::NotImplementedError) << i;
  }
  EXPECT_FALSE(TryToBufferType(DType::Undefined).has_value());
  EXPECT_THROW(FromBufferType(PJRT_Buffer_Type_S4), c10::NotImplementedError);
  EXPECT_THROW(FromBufferType(PJRT_Buffer_Type_TOKEN), c10::NotImplementedError);
}

}  // namespace
}  // namespace torch_tpu::pjrt
