// The bytes of a program, which are its cache key, and what is lowered from them.
#include "exec/program.h"

#include "device.h"

namespace torch_tpu::exec {
namespace {

// A writer keeps references, so a test compares copies of the bytes.
template <class Put>
std::string KeyOf(Put put) {
  ProgramWriter writer(0);
  put(writer);
  return std::string(writer.bytes());
}

class Key : public ::testing::Test {
 protected:
  std::string Slice(int64_t offset, Dims sizes = {2}, Dims strides = {1},
                    DType dtype = DType::Float) {
    return KeyOf([&](ProgramWriter& writer) {
      writer.Call(Row("tpu::identity"));
      writer.Tensor(x.storage.View(dtype, sizes, strides, offset));
      writer.EndCall();
    });
  }
  std::string Add(const Tensor& a, const Tensor& b, const c10::Scalar& alpha, bool is_static) {
    return KeyOf([&](ProgramWriter& writer) { PutAdd(writer, a, b, alpha, is_static); });
  }

  const Tensor x{std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}};
  const Tensor y{std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}};
  const Tensor row{std::vector<float>{0, 1}, {2}};
  const Tensor ints{std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}};
};

TEST_F(Key, EqualCallsHaveEqualBytes) {
  EXPECT_EQ(Add(x, y, 1, true), Add(y, x, 1, true));
  EXPECT_EQ(Slice(2), Slice(2));
}

TEST_F(Key, OffsetsAndRuntimeNumbersAreNoPartOfIt) {
  EXPECT_EQ(Slice(0), Slice(6));
  EXPECT_EQ(Add(x, y, 2, false), Add(x, y, -7, false));
  EXPECT_EQ(Add(x, y, 0.5, false), Add(x, y, 1e300, false));
}

TEST_F(Key, WhatShapesTheProgramIsPartOfIt) {
  const std::string key = Slice(0);
  EXPECT_NE(key, Slice(0, {3}));
  EXPECT_NE(key, Slice(0, {2}, {2}));
  EXPECT_NE(key, Slice(0, {2}, {1}, DType::Int));
  EXPECT_NE(Slice(0, {4, 2}, {2, 1}), Slice(0, {2, 4}, {1, 2}));
  EXPECT_NE(Add(x, y, 1, true), Add(x, row, 1, true));
  EXPECT_NE(Add(x, y, 1, true), Add(x, ints, 1, true));
  EXPECT_NE(Add(x, y, 1, true), Add(x, y, 2, true));
  EXPECT_NE(Add(x, y, 1, true), Add(x, y, 1, false));
  EXPECT_NE(Add(x, y, 1, false), Add(x, y, 1.0, false));  // an int stays an int
  EXPECT_NE(Add(x, y, true, false), Add(x, y, 1, false));
}

TEST_F(Key, TheSameStorageTwiceIsAnotherProgram) {
  EXPECT_NE(Add(x, x, 1, true), Add(x, y, 1, true));
  ProgramWriter writer(0);
  PutAdd(writer, x, x);
  EXPECT_EQ(writer.inputs().size(), 1u);
}

TEST_F(Key, AnOffsetThatWrapsAroundIsAnotherProgram) {
  // Two rows of two from four by two: from column 1 on, a row would run into the next.
  EXPECT_EQ(Slice(0, {2, 2}, {2, 1}), Slice(2, {2, 2}, {2, 1}));
  EXPECT_NE(Slice(0, {2, 2}, {2, 1}), Slice(1, {2, 2}, {2, 1}));
}

TEST_F(Key, EveryKindOfArgumentHasBytesOfItsOwn) {
  std::vector<std::string> keys;
  const auto add = [&](auto put) { keys.push_back(KeyOf(put)); };
  add([](ProgramWriter& w) { w.None(); });
  add([](ProgramWriter& w) { w.Int(0); });
  add([](ProgramWriter& w) { w.Int(1); });
  add([](ProgramWriter& w) { w.Ints({}); });
  add([](ProgramWriter& w) { w.Ints({0}); });
  add([](ProgramWriter& w) { w.Bool(false); });
  add([](ProgramWriter& w) { w.Bool(true); });
  add([](ProgramWriter& w) { w.Bools({true, false}); });
  add([](ProgramWriter& w) { w.Bools({false, true}); });
  add([](ProgramWriter& w) { w.Doubles({0.5}); });
  add([](ProgramWriter& w) { w.Dtype(DType::Float); });
  add([](ProgramWriter& w) { w.Dtype(DType::Half); });
  add([](ProgramWriter& w) { w.DefaultDtype(DType::Half); });
  add([](ProgramWriter& w) { w.String(""); });
  add([](ProgramWriter& w) { w.String("a"); });
  add([](ProgramWriter& w) { w.Number(0.0, true); });
  add([](ProgramWriter& w) { w.Number(-0.0, true); });
  add([](ProgramWriter& w) { w.Number(c10::complex<double>(0, 1), true); });
  add([](ProgramWriter& w) { w.Number(c10::complex<double>(0, 1), false); });
  add([](ProgramWriter& w) { w.Operand(DType::Float, 1.0, false); });
  add([](ProgramWriter& w) { w.Operand(DType::Float, 1.0, true); });
  add([](ProgramWriter& w) { w.Random(1, 2, 4); });
  add([](ProgramWriter& w) { w.Tensors(0); });
  add([](ProgramWriter& w) { w.Numbers(0); });
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]) << i << " and " << j;
  }
}

TEST_F(Key, NumbersAreCollectedInOrder) {
  ProgramWriter writer(0);
  writer.Number(3, false);
  writer.Number(0.5, false);
  writer.Number(true, false);
  writer.Operand(DType::ComplexFloat, c10::complex<double>(1, -2), false);
  writer.Number(c10::Scalar(UINT64_MAX), false);
  writer.Random(7, 9, 4);
  EXPECT_EQ(writer.ints(), (std::vector<int64_t>{3, 1, -1, 7, 9}));
  EXPECT_EQ(writer.doubles(), (std::vector<double>{0.5, 1, -2}));
  EXPECT_TRUE(writer.has_random());
}

TEST_F(Key, IsDecodedOnAnyDevice) {
  ProgramWriter first(0), second(1);
  PutAdd(first, x, y);
  PutAdd(second, x, y);
  EXPECT_EQ(first.bytes(), second.bytes());
}

TEST_F(Key, LowersToParametersInOrderAndAnAliasedOutput) {
  const Dims sizes = {2}, strides = {1};
  ProgramWriter writer(0);
  writer.Call(Row("aten::add.Tensor"));
  writer.Tensor(x.storage.View(DType::Float, sizes, strides, 2));
  writer.Tensor(row.View());
  writer.Number(0.5, /*is_static=*/false);
  writer.EndCall();
  writer.Write(0, row.View());
  const LoweredProgram program = Lower(writer.bytes(), hlo::Target::kCpu);
  EXPECT_EQ(program.name, "aten::add.Tensor");
  ASSERT_EQ(program.outputs.size(), 1u);
  EXPECT_EQ(program.outputs[0].written_input, 1);
  // The arrays, then the pack of integers (the offset), then that of floats (alpha).
  EXPECT_CONTAINS(program.text,
                  "@main(%0: tensor<4x2xf32>, %1: tensor<2xf32> {tf.aliasing_output = 0 : i32}, "
                  "%2: tensor<1xi64>, %3: tensor<1xf64>) -> (tensor<2xf32>) {");
  EXPECT_CONTAINS(program.text, "stablehlo.dynamic_slice");
  EXPECT_CONTAINS(program.text, "loc(\"aten::add.Tensor\")");
}

TEST_F(Key, ResultsSayWhereTheyLie) {
  ProgramWriter writer(0);
  PutAdd(writer, x, y);
  writer.Layout(0, {1, 0});
  const LoweredProgram program = Lower(writer.bytes(), hlo::Target::kCpu);
  ASSERT_EQ(program.results.size(), 1u);
  EXPECT_EQ(program.results[0].type.dims, (Dims{4, 2}));
  EXPECT_EQ(program.results[0].permutation, (Dims{1, 0}));
  EXPECT_EQ(program.outputs[0].type.dims, (Dims{2, 4}));
}

TEST_F(Key, ALoweringsErrorPassesThrough) {
  const Tensor three(std::vector<float>{1, 2, 3}, {3});
  const std::string message =
      MessageOf<c10::Error>([&] { Lower(Add(x, three, 1, true), hlo::Target::kCpu); });
  EXPECT_CONTAINS(message, "aten::add.Tensor: The size of tensor a (2)");
}

TEST_F(Key, AWriteOfAnotherShapeIsAnError) {
  const Tensor wide(std::vector<float>(16), {2, 4, 2});
  ProgramWriter writer(0);
  PutAdd(writer, x, wide);
  writer.Write(0, x.View());
  const std::string message =
      MessageOf<c10::Error>([&] { Lower(writer.bytes(), hlo::Target::kCpu); });
  EXPECT_CONTAINS(message, "output with shape [4, 2] doesn't match the broadcast shape [2, 4, 2]");
}

TEST_F(Key, AWriteIntoATypeThatCannotHoldItIsAnError) {
  ProgramWriter writer(0);
  PutAdd(writer, x, y);
  writer.Write(0, ints.View());
  const std::string message =
      MessageOf<c10::Error>([&] { Lower(writer.bytes(), hlo::Target::kCpu); });
  EXPECT_CONTAINS(message, "result type Float can't be cast to the desired output type Long");
}

}  // namespace
}  // namespace torch_tpu::exec
