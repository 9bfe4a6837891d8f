#include "hlo/printer.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace torch_tpu::hlo {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(NumberText, FiniteFloatsAreShortestDecimalsWithAPoint) {
  EXPECT_EQ(NumberText(DType::Float, 0.1), "0.1");
  EXPECT_EQ(NumberText(DType::Double, 0.1), "0.1");
  EXPECT_EQ(NumberText(DType::Float, 1.0 / 3), "0.33333334");
  EXPECT_EQ(NumberText(DType::Double, 1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(NumberText(DType::Float, 1), "1.0");
  EXPECT_EQ(NumberText(DType::Float, true), "1.0");
  EXPECT_EQ(NumberText(DType::Float, 1e-40), "1.0e-40");
  EXPECT_EQ(NumberText(DType::Double, 1e300), "1.0e+300");
  EXPECT_EQ(NumberText(DType::Double, 1.5e300), "1.5e+300");
  EXPECT_EQ(NumberText(DType::BFloat16, 2.5), "2.5");
  EXPECT_EQ(NumberText(DType::Float8_e4m3fn, -448), "-448.0");
}

TEST(NumberText, NegativeZeroKeepsItsSign) {
  EXPECT_EQ(NumberText(DType::Float, -0.0), "-0.0");
  EXPECT_EQ(NumberText(DType::Double, -0.0), "-0.0");
  EXPECT_EQ(NumberText(DType::Half, -0.0), "-0.0");
}

TEST(NumberText, NotFiniteFloatsAreTheBitsOfTheirFormat) {
  struct Row {
    DType dtype;
    const char *nan, *positive, *negative;
  };
  for (const Row& row :
       {Row{DType::Double, "0x7FF8000000000000", "0x7FF0000000000000", "0xFFF0000000000000"},
        Row{DType::Float, "0x7FC00000", "0x7F800000", "0xFF800000"},
        Row{DType::BFloat16, "0x7FC0", "0x7F80", "0xFF80"},
        Row{DType::Half, "0x7E00", "0x7C00", "0xFC00"},
        Row{DType::Float8_e5m2, "0x7F", "0x7C", "0xFC"},
        // Without infinities: what overflows is NaN.
        Row{DType::Float8_e4m3fn, "0x7F", "0x7F", "0xFF"},
        Row{DType::Float8_e4m3fnuz, "0x80", "0x80", "0x80"},
        Row{DType::Float8_e5m2fnuz, "0x80", "0x80", "0x80"},
        Row{DType::Float8_e8m0fnu, "0xFF", "0xFF", "0xFF"}}) {
    SCOPED_TRACE(DTypeName(row.dtype));
    EXPECT_EQ(NumberText(row.dtype, kNaN), row.nan);
    EXPECT_EQ(NumberText(row.dtype, kInf), row.positive);
    EXPECT_EQ(NumberText(row.dtype, -kInf), row.negative);
  }
}

TEST(NumberText, WhatOverflowsFloat32IsInfinite) {
  EXPECT_EQ(NumberText(DType::Float, 1e39), "0x7F800000");
  EXPECT_EQ(NumberText(DType::Float, -1e39), "0xFF800000");
  EXPECT_EQ(NumberText(DType::Float, 3.4028234663852886e38), "3.4028235e+38");
}

TEST(NumberText, IntegersWrapAsACCastDoes) {
  EXPECT_EQ(NumberText(DType::Byte, 256), "0");
  EXPECT_EQ(NumberText(DType::Byte, -1), "255");
  EXPECT_EQ(NumberText(DType::Char, 128), "-128");
  EXPECT_EQ(NumberText(DType::Short, 0x18000), "-32768");
  EXPECT_EQ(NumberText(DType::UInt16, -1), "65535");
  EXPECT_EQ(NumberText(DType::Int, int64_t{1} << 31), "-2147483648");
  EXPECT_EQ(NumberText(DType::UInt32, -1), "4294967295");
  EXPECT_EQ(NumberText(DType::Long, INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(NumberText(DType::UInt64, c10::Scalar(UINT64_MAX)), "18446744073709551615");
  EXPECT_EQ(NumberText(DType::UInt64, -1), "18446744073709551615");
  EXPECT_EQ(NumberText(DType::Long, c10::Scalar(UINT64_MAX)), "-1");
}

TEST(NumberText, FloatsBecomeIntegersByDroppingTheFraction) {
  EXPECT_EQ(NumberText(DType::Int, 3.9), "3");
  EXPECT_EQ(NumberText(DType::Long, -3.9), "-3");
  EXPECT_EQ(NumberText(DType::UInt64, 3.9), "3");
  EXPECT_EQ(NumberText(DType::Long, true), "1");
}

TEST(NumberText, Bools) {
  EXPECT_EQ(NumberText(DType::Bool, true), "true");
  EXPECT_EQ(NumberText(DType::Bool, 0), "false");
  EXPECT_EQ(NumberText(DType::Bool, 2), "true");
  EXPECT_EQ(NumberText(DType::Bool, 0.5), "true");
}

TEST(NumberText, ComplexNumbersArePairs) {
  EXPECT_EQ(NumberText(DType::ComplexFloat, c10::complex<double>(0.1, -0.0)), "(0.1, -0.0)");
  EXPECT_EQ(NumberText(DType::ComplexDouble, c10::complex<double>(kNaN, kInf)),
            "(0x7FF8000000000000, 0x7FF0000000000000)");
  EXPECT_EQ(NumberText(DType::ComplexFloat, c10::complex<double>(1e39, 0)), "(0x7F800000, 0.0)");
  EXPECT_EQ(NumberText(DType::ComplexFloat, 2), "(2.0, 0.0)");
}

TEST(TypeText, ElementTypesAndDimensions) {
  EXPECT_EQ(TypeText({DType::Float, {}}), "tensor<f32>");
  EXPECT_EQ(TypeText({DType::BFloat16, {2, 0, 3}}), "tensor<2x0x3xbf16>");
  EXPECT_EQ(TypeText({DType::ComplexDouble, {1}}), "tensor<1xcomplex<f64>>");
  EXPECT_EQ(TypeText({DType::Bool, {1}}), "tensor<1xi1>");
  EXPECT_EQ(TypeText({DType::Float8_e4m3fnuz, {1}}), "tensor<1xf8E4M3FNUZ>");
}

TEST(TypeText, ATypeThatXlaCannotHoldIsATypeErrorThatNamesIt) {
  try {
    ElementTypeText(DType::QInt8);
    FAIL() << "nothing was thrown";
  } catch (const c10::TypeError& error) {
    EXPECT_NE(std::string(error.what()).find("got qint8"), std::string::npos) << error.what();
  }
}

TEST(Attributes, ListsAndTheirEmptyForms) {
  EXPECT_EQ(ArrayAttr({}), "array<i64>");
  EXPECT_EQ(ArrayAttr({0, -1}), "array<i64: 0, -1>");
  EXPECT_EQ(ListText({}), "[]");
  EXPECT_EQ(ListText({2, 3}), "[2, 3]");
  EXPECT_EQ(BoolArrayAttr({}), "array<i1>");
  EXPECT_EQ(BoolArrayAttr({true, false}), "array<i1: true, false>");
}

}  // namespace
}  // namespace torch_tpu::hlo
