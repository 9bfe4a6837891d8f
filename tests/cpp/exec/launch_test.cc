#include "exec/launch.h"

#include <thread>

#include "device.h"
#include "exec/eager_mode.h"

namespace torch_tpu::exec {
namespace {

using Floats = std::vector<float>;

DeviceState& Device(int device = 0) { return Runtime::Get().device(device); }

Launched SelectRows(const Tensor& x, const Tensor& index) {
  ProgramWriter writer(x.device);
  writer.Call(Row("aten::index_select"));
  writer.Tensor(x.View());
  writer.Int(0);
  writer.Tensor(index.View());
  writer.EndCall();
  return Launch(writer, 0);
}

// x[index] = values, in place.
void PutRows(const Tensor& x, const Tensor& index, const Tensor& values) {
  ProgramWriter writer(x.device);
  writer.Call(Row("aten::index_put"));
  writer.Tensor(x.View());
  writer.Tensors(1);
  writer.Tensor(index.View());
  writer.Tensor(values.View());
  writer.Bool(false);
  writer.EndCall();
  writer.Write(0, x.View());
  Launch(writer, 0);
}

TEST(Launch, RunsOnTheDeviceOfItsWriter) {
  for (const int device : {0, 1}) {
    const Tensor x(Floats{1, 2}, {2}, device), y(Floats{10, 20}, {2}, device);
    const Launched sum = RunAdd(x, y);
    EXPECT_EQ(Read<float>(sum.outputs[0]), (Floats{11, 22}));
    EXPECT_EQ(sum.outputs[0]->device(), device);
    EXPECT_EQ(sum.outputs[0]->buffer().device_index(), device);
    EXPECT_STREQ(sum.outputs[0]->producer(), "aten::add.Tensor");
  }
}

TEST(Launch, ASecondDeviceOrNumberCompilesNothing) {
  const Tensor x(Floats{1, 2, 3}, {3}), y(Floats{4, 5, 6}, {3});
  const Tensor x1(Floats{1, 2, 3}, {3}, 1), y1(Floats{4, 5, 6}, {3}, 1);
  RunAdd(x, y);
  const int64_t compiles = GetStats().compiles, launches = GetStats().launches;
  RunAdd(x1, y1);
  EXPECT_EQ(GetStats().compiles, compiles);
  EXPECT_EQ(GetStats().launches, launches + 1);
}

TEST(Launch, RuntimeNumbersReachTheProgram) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{1, 1}, {2});
  for (const double alpha : {0.5, -2.0}) {
    ProgramWriter writer(0);
    PutAdd(writer, x, y, alpha, /*is_static=*/false);
    const float a = static_cast<float>(alpha);
    EXPECT_EQ(Read<float>(Launch(writer, 0).outputs[0]), (Floats{1 + a, 2 + a}));
  }
}

TEST(Launch, ANumberThatComesAgainIsNotUploadedAgain) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{1, 1}, {2});
  const auto run = [&](double alpha) {
    ProgramWriter writer(0);
    PutAdd(writer, x, y, alpha, /*is_static=*/false);
    Launch(writer, 0);
    return GetStats().bytes_to_device.load();
  };
  const int64_t first = run(0.123);
  EXPECT_EQ(run(0.123), first);
  EXPECT_EQ(run(0.124), first + 8);
}

TEST(Launch, SeveralThreadsAtOnceGetTheirOwnResults) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      const float value = static_cast<float>(t);
      const Tensor x(Floats(17, value), {17}), one(Floats(17, 1), {17});
      for (int i = 0; i < 50; ++i) RunAddInPlace(x, one);
      EXPECT_EQ(x.Values<float>(), Floats(17, value + 50));
    });
  }
}

TEST(Donation, AStorageThatNobodyElseHoldsGivesItsBufferAway) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  const DeviceBuffer* before = x.buffer().get();
  const std::weak_ptr<DeviceBuffer> old = x.buffer();
  const uintptr_t address = x.buffer()->buffer().UnsafePointer();
  RunAddInPlace(x, y);
  EXPECT_TRUE(old.expired());
  EXPECT_NE(x.buffer().get(), before);
  EXPECT_EQ(x.buffer()->buffer().UnsafePointer(), address);
  EXPECT_EQ(x.Values<float>(), (Floats{11, 22}));
}

TEST(Donation, AHeldBufferKeepsItsContents) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  const BufferRef held = x.buffer();
  RunAddInPlace(x, y);
  EXPECT_FALSE(held->buffer().IsDeleted());
  EXPECT_EQ(Read<float>(held), (Floats{1, 2}));
  EXPECT_EQ(x.Values<float>(), (Floats{11, 22}));
}

TEST(Donation, AnOperandThatIsAlsoTheTargetIsReadBeforeItIsReplaced) {
  const Tensor x(Floats{1, 2}, {2});
  RunAddInPlace(x, x);
  EXPECT_EQ(x.Values<float>(), (Floats{2, 4}));
}

TEST(Donation, WhatIsOnlyReadStays) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  RunAdd(x, y);
  EXPECT_FALSE(x.buffer()->buffer().IsDeleted());
}

TEST(IndexChecks, AreRaisedWhenTheDeviceIsSynchronized) {
  const Tensor x(Floats{1, 2, 3, 4}, {2, 2}), index(std::vector<int64_t>{0, 2}, {2});
  const Launched rows = SelectRows(x, index);
  const std::string message = MessageOf<c10::IndexError>([] { Device().Synchronize(); });
  EXPECT_CONTAINS(message, "aten::index_select: ");
  EXPECT_CONTAINS(message, "out of range");
  Device().Synchronize();  // once
}

TEST(IndexChecks, AreRaisedByTheNextRead) {
  const Tensor x(Floats{1, 2, 3, 4}, {2, 2}), bad(std::vector<int64_t>{-3, 0}, {2});
  const Launched rows = SelectRows(x, bad);
  EXPECT_THROW(x.Values<float>(), c10::IndexError);
  EXPECT_EQ(x.Values<float>(), (Floats{1, 2, 3, 4}));
}

TEST(IndexChecks, StayWithTheirDevice) {
  const Tensor x(Floats{1, 2}, {2, 1}, 1), bad(std::vector<int64_t>{5}, {1}, 1);
  const Launched rows = SelectRows(x, bad);
  Device(0).Synchronize();
  EXPECT_THROW(Device(1).Synchronize(), c10::IndexError);
}

TEST(IndexChecks, IndicesInRangeRaiseNothing) {
  const Tensor x(Floats{1, 2, 3, 4}, {2, 2}), index(std::vector<int64_t>{1, 0}, {2});
  const Launched rows = SelectRows(x, index);
  Device().Synchronize();
  ASSERT_EQ(rows.outputs.size(), 1u);  // without the flags
  EXPECT_EQ(Read<float>(rows.outputs[0]), (Floats{3, 4, 1, 2}));
}

TEST(IndexChecks, PendingOnesAreBoundedAndCostNoData) {
  const Tensor x(Floats{1, 2}, {2, 1}), bad(std::vector<int64_t>{7}, {1});
  const Tensor value(Floats{5}, {1, 1}), good(std::vector<int64_t>{1}, {1});
  int raised = 0;
  for (int i = 0; i < 600; ++i) {
    try {
      PutRows(x, bad, value);
    } catch (const c10::IndexError&) {
      ++raised;
      EXPECT_FALSE(x.buffer()->buffer().IsDeleted());
    }
  }
  EXPECT_GE(raised, 1);
  EXPECT_LE(raised, 3);
  EXPECT_THROW(Device().Synchronize(), c10::IndexError);
  PutRows(x, good, value);
  EXPECT_EQ(x.Values<float>(), (Floats{1, 5}));
}

class Blocking : public ::testing::Test {
 protected:
  void SetUp() override { SetEagerMode(EagerMode::kBlocking); }
  void TearDown() override { SetEagerMode(EagerMode::kStrict); }
};

TEST_F(Blocking, EachLaunchIsDoneWhenItReturns) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  const Launched sum = RunAdd(x, y);
  EXPECT_TRUE(sum.outputs[0]->buffer().IsReady());
  EXPECT_TRUE(Device().work(0).IsDone());
}

TEST_F(Blocking, AFailedCheckIsRaisedByItsOwnLaunchAndCostsNoData) {
  const Tensor x(Floats{1, 2}, {2, 1}), bad(std::vector<int64_t>{7}, {1}), value(Floats{5}, {1, 1});
  EXPECT_THROW(PutRows(x, bad, value), c10::IndexError);
  Device().Synchronize();
  EXPECT_EQ(x.Values<float>().size(), 2u);
}

}  // namespace
}  // namespace torch_tpu::exec
