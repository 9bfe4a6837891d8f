// What the golden texts do not show: inferred types at the edges, and that a misuse is an internal
// error which names the operation.
#include "hlo/builder.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace torch_tpu::hlo {
namespace {

template <class Body>
void ExpectMisuse(const char* named, Body body) {
  try {
    body();
    ADD_FAILURE() << named << ": nothing was thrown";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
  }
}

TEST(Builder, ValuesKnowTheirTypes) {
  Builder b;
  const Value x = b.Parameter({DType::Float, {2, 3, 0}});
  EXPECT_TRUE(x.defined());
  EXPECT_FALSE(Value().defined());
  EXPECT_EQ(&x.builder(), &b);
  EXPECT_EQ(x.rank(), 3);
  EXPECT_EQ(x.dim(-2), 3);
  EXPECT_EQ(x.numel(), 0);
}

TEST(Builder, WindowsThatDoNotFitGiveEmptyResults) {
  Builder b;
  const Value x = b.Parameter({DType::Float, {1, 1, 2}}),
              k = b.Parameter({DType::Float, {1, 1, 3}});
  ConvDims conv;
  conv.strides = conv.lhs_dilation = conv.rhs_dilation = {1};
  conv.padding_low = conv.padding_high = {0};
  EXPECT_EQ(b.Convolution(x, k, conv, DType::Float).dims(), (Dims{1, 1, 0}));
  WindowDims window;
  window.sizes = {1, 1, 3};
  EXPECT_EQ(b.ReduceWindow("add", x, b.Constant(DType::Float, 0), window).dims(), (Dims{1, 1, 0}));
  EXPECT_EQ(
      b.Pad(b.Parameter({DType::Float, {0}}), b.Constant(DType::Float, 0), {1}, {1}, {5}).dims(),
      (Dims{2}));
}

TEST(Builder, LocationsMarkWhatIsEmittedAfterThem) {
  Builder b;
  const Value x = b.Parameter({DType::Float, {}});
  const Value y = b.Neg(x);
  b.SetLocation("aten::exp");
  b.SetResults({b.Exp(y)});
  EXPECT_EQ(b.Text().find("loc(\"aten::exp\")"), b.Text().rfind("loc("));
}

TEST(Builder, MisuseNamesTheOperation) {
  Builder b, other;
  const Value x = b.Parameter({DType::Float, {2, 3}}), n = b.Parameter({DType::Int, {2, 3}});
  ExpectMisuse("add: operand types differ: tensor<2x3xf32> and tensor<2x3xi32>",
               [&] { b.Add(x, n); });
  ExpectMisuse("compare", [&] { b.Lt(x, n); });
  ExpectMisuse("select", [&] { b.Select(b.Parameter({DType::Bool, {3}}), x, x); });
  ExpectMisuse("complex", [&] { b.Complex(x, n); });
  ExpectMisuse("reshape: tensor<2x3xf32> to [7]", [&] { b.Reshape(x, {7}); });
  ExpectMisuse("transpose", [&] { b.Transpose(x, {0}); });
  ExpectMisuse("broadcast", [&] { b.Broadcast(x, {3}); });
  ExpectMisuse("broadcast_in_dim", [&] { b.BroadcastInDim(x, {2, 3}, {0}); });
  ExpectMisuse("slice", [&] { b.Slice(x, {0, 0}, {2, 4}); });
  ExpectMisuse("bitcast_convert",
               [&] { b.BitcastConvert(b.Parameter({DType::Byte, {3}}), DType::Int); });
  ExpectMisuse("another builder", [&] { other.Neg(x); });
}

}  // namespace
}  // namespace torch_tpu::hlo
