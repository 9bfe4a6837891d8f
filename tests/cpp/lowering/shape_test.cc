// The rules of base/shape.h that every lowering leans on.
#include "base/shape.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "lowering/combinators.h"

namespace torch_tpu::lowering {
namespace {

template <class E, class Body>
std::string MessageOf(Body body) {
  try {
    body();
  } catch (const E& error) {
    return error.what_without_backtrace();
  }
  return "nothing was thrown";
}

TEST(Broadcast, TrailingDimensionsLineUp) {
  EXPECT_EQ(BroadcastDims({2, 1, 3}, {4, 1}, "op"), (Dims{2, 4, 3}));
  EXPECT_EQ(BroadcastDims({}, {2}, "op"), (Dims{2}));
  EXPECT_EQ(BroadcastDims({}, {}, "op"), Dims());
}

TEST(Broadcast, ASizeOfOneYieldsToZero) {
  EXPECT_EQ(BroadcastDims({1}, {0}, "op"), (Dims{0}));
  EXPECT_EQ(BroadcastDims({0}, {1}, "op"), (Dims{0}));
}

TEST(Broadcast, ShapesThatDoNotFitAreNamedWithTheOp) {
  EXPECT_EQ(MessageOf<c10::Error>([] { BroadcastDims({4, 2}, {3}, "aten::add.Tensor"); }),
            "aten::add.Tensor: The size of tensor a (2) must match the size of tensor b (3) at "
            "non-singleton dimension 1, got shapes [4, 2] and [3]");
  EXPECT_THROW(BroadcastDims({0}, {2}, "op"), c10::Error);
}

TEST(Broadcast, ARowThatGetsSuchShapesSaysSo) {
  Builder b;
  std::vector<Arg> args(3);
  for (int i : {0, 1}) {
    args[i].kind = Arg::Kind::kTensor;
    args[i].tensor = b.Parameter({DType::Float, {2 + i}});
  }
  args[2].kind = Arg::Kind::kNumber;
  args[2].numbers = {{DType::Long, c10::Scalar(1), {}}};
  const OpRow& row = *FindRow("aten::add.Tensor");
  const std::string message = MessageOf<c10::Error>([&] { row.Lower(b, OpCall(row.name, args)); });
  EXPECT_NE(message.find("aten::add.Tensor: The size of tensor a (2)"), std::string::npos)
      << message;
}

TEST(Shape, RowMajorIgnoresWhatHasOneElementOrNone) {
  EXPECT_TRUE(IsRowMajor({2, 3}, {3, 1}));
  EXPECT_FALSE(IsRowMajor({2, 3}, {1, 2}));
  EXPECT_TRUE(IsRowMajor({2, 1, 3}, {3, 77, 1}));
  EXPECT_TRUE(IsRowMajor({2, 0}, {5, 5}));
  EXPECT_TRUE(IsRowMajor({}, {}));
  EXPECT_EQ(RowMajorStrides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(RowMajorStrides({2, 0, 4}), (Dims{4, 4, 1}));
}

TEST(Shape, WrapDimCountsFromTheBack) {
  EXPECT_EQ(WrapDim(-1, 3), 2);
  EXPECT_EQ(WrapDim(-1, 0), 0);
  EXPECT_EQ(MessageOf<c10::IndexError>([] { WrapDim(3, 3); }),
            "Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  EXPECT_THROW(WrapDim(1, 0), c10::IndexError);
}

}  // namespace
}  // namespace torch_tpu::lowering
