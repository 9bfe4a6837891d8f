#include "lowering/op_call.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace torch_tpu::lowering {
namespace {

using hlo::Builder;
using hlo::Value;

Arg IntsArg(Dims values) {
  Arg arg;
  arg.kind = Arg::Kind::kInts;
  arg.integers = std::move(values);
  return arg;
}

Arg IntArg(int64_t value) {
  Arg arg;
  arg.kind = Arg::Kind::kInt;
  arg.integer = value;
  return arg;
}

Arg TensorArg(Value value, bool wrapped_number = false) {
  Arg arg;
  arg.kind = Arg::Kind::kTensor;
  arg.tensor = value;
  arg.wrapped_number = wrapped_number;
  return arg;
}

Arg StaticNumber(DType kind, const c10::Scalar& value) {
  Arg arg;
  arg.kind = Arg::Kind::kNumber;
  arg.numbers = {{kind, value, {}}};
  return arg;
}

Arg RuntimeNumber(DType kind, Value value) {
  Arg arg;
  arg.kind = Arg::Kind::kNumber;
  arg.numbers = {{kind, std::nullopt, value}};
  return arg;
}

OpCall Call(std::vector<Arg> args) { return OpCall("aten::op", std::move(args)); }

TEST(ReduceDims, NoneAndEmptyMeanEveryDimension) {
  const OpCall call = Call({Arg(), IntsArg({})});
  EXPECT_EQ(call.ReduceDims(0, 3), (Dims{0, 1, 2}));
  EXPECT_EQ(call.ReduceDims(1, 3), (Dims{0, 1, 2}));
  EXPECT_EQ(call.ReduceDims(1, 0), Dims());
}

TEST(ReduceDims, AreWrappedAndSorted) {
  const OpCall call = Call({IntsArg({-1, 0}), IntArg(-2)});
  EXPECT_EQ(call.ReduceDims(0, 3), (Dims{0, 2}));
  EXPECT_EQ(call.ReduceDims(1, 3), (Dims{1}));
}

TEST(ReduceDims, AZeroDimTensorHasOneDimensionToName) {
  const OpCall call = Call({IntsArg({-1}), IntsArg({1})});
  EXPECT_EQ(call.ReduceDims(0, 0), Dims());
  EXPECT_THROW(call.ReduceDims(1, 0), c10::IndexError);
}

TEST(ReduceDims, ADimensionNamedTwiceIsAnError) {
  const OpCall call = Call({IntsArg({1, -1})});
  try {
    call.ReduceDims(0, 2);
    FAIL() << "nothing was thrown";
  } catch (const c10::Error& error) {
    EXPECT_STREQ(error.what_without_backtrace(),
                 "dim 1 appears multiple times in the list of dims");
  }
}

TEST(OpCall, OneEntryOfAListStandsForAll) {
  const OpCall call = Call({IntsArg({2}), IntArg(3), IntsArg({1, 2})});
  EXPECT_EQ(call.IntsOfSize(0, 3), (Dims{2, 2, 2}));
  EXPECT_EQ(call.IntsOfSize(1, 2), (Dims{3, 3}));
  EXPECT_EQ(call.IntsOfSize(2, 2), (Dims{1, 2}));
  EXPECT_THROW(call.IntsOfSize(2, 3), c10::Error);
}

TEST(OpCall, NoneGivesWhatTheCallerNames) {
  const OpCall call = Call({Arg(), IntArg(5)});
  EXPECT_EQ(call.IntOr(0, 7), 7);
  EXPECT_EQ(call.IntOr(1, 7), 5);
  EXPECT_EQ(call.DtypeOr(0, DType::Half), DType::Half);
  EXPECT_FALSE(call.TensorOrUndefined(0).defined());
}

TEST(OpCall, AnArgumentOfAnotherKindIsABugThatNamesTheOp) {
  const OpCall call = Call({IntArg(5)});
  try {
    call.Tensor(0);
    FAIL() << "nothing was thrown";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("aten::op: argument 0"), std::string::npos);
  }
}

TEST(Numbers, AStaticOneIsAConstantOfTheTypeAskedFor) {
  Builder b;
  const OpCall call = Call({StaticNumber(DType::Long, 3), StaticNumber(DType::Double, 0.5), Arg()});
  b.SetResults({call.Number(b, 0, DType::Float), call.NumberOr(b, 2, 2, DType::Int)});
  const std::string text = b.Text();
  EXPECT_NE(text.find("dense<3.0> : tensor<f32>"), std::string::npos) << text;
  EXPECT_NE(text.find("dense<2> : tensor<i32>"), std::string::npos) << text;
  EXPECT_EQ(call.StaticNumber(1).toDouble(), 0.5);
}

TEST(Numbers, ARuntimeOneIsConvertedFromItsOperand) {
  Builder b;
  const Value operand = b.Parameter({DType::Double, {}});
  const OpCall call = Call({RuntimeNumber(DType::Double, operand)});
  EXPECT_EQ(call.Number(b, 0, DType::BFloat16).dtype(), DType::BFloat16);
  EXPECT_EQ(call.Number(b, 0, DType::Double).dtype(), DType::Double);
  EXPECT_THROW(call.StaticNumber(0), c10::Error);  // its row must mark it static
}

TEST(ResultType, LooksAtTheNamedArguments) {
  Builder b;
  const Value half = b.Parameter({DType::Half, {2}}), ints = b.Parameter({DType::Int, {}});
  OpCall call = Call({TensorArg(half), TensorArg(ints), StaticNumber(DType::Double, 0.5), Arg(),
                      TensorArg(b.Parameter({DType::Double, {}}), /*wrapped_number=*/true)});
  EXPECT_EQ(call.ResultType({0, 2, 3}), DType::Half);
  EXPECT_EQ(call.ResultType({1, 2}), DType::Float);
  EXPECT_EQ(call.ResultType({1, 4}), DType::Float);
  EXPECT_EQ(call.ResultType({1}), DType::Int);
  EXPECT_EQ(call.FloatResultType({1}), DType::Float);
  EXPECT_EQ(call.FloatResultType({0}), DType::Half);
  call.set_default_dtype(DType::Double);
  EXPECT_EQ(call.ResultType({1, 2}), DType::Double);
  EXPECT_EQ(call.FloatResultType({1}), DType::Double);
}

TEST(Requirements, KeepTheirKindAndOrder) {
  Builder b;
  const OpCall call = Call({});
  const Value ok = b.Constant(DType::Bool, true);
  call.RequireIndex(ok, "first");
  call.Require(ok, "second");
  ASSERT_EQ(call.requirements().size(), 2u);
  EXPECT_TRUE(call.requirements()[0].index_error);
  EXPECT_FALSE(call.requirements()[1].index_error);
  EXPECT_EQ(call.requirements()[1].message, "second");
}

}  // namespace
}  // namespace torch_tpu::lowering
