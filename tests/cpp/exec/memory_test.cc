// What a device holds, to the byte, and what happens when it is full.
#include <c10/util/Exception.h>

#include "device.h"

namespace torch_tpu::exec {
namespace {

constexpr int64_t kMiB = 1 << 20, kLimit = 64 * kMiB;

DeviceMemory& Memory(int device = 0) { return Runtime::Get().device(device).memory; }

Tensor Ones(int64_t bytes) { return Tensor(std::vector<float>(bytes / 4, 1), {bytes / 4}); }

// What must be as before where a call failed.
struct Held {
  int64_t allocated = Memory().allocated();
  int64_t buffers = Memory().num_buffers();
  bool operator==(const Held&) const = default;
};

TEST(Memory, LimitComesFromTheSetting) {
  EXPECT_EQ(Memory(0).limit(), kLimit);
  EXPECT_EQ(Memory(1).limit(), kLimit);
}

TEST(Memory, BuffersAreCountedWhileTheyLive) {
  const Held before;
  const int64_t other = Memory(1).allocated();
  {
    const Tensor x(std::vector<float>(3), {3}), y(std::vector<float>(3), {3});
    EXPECT_EQ(Memory().allocated(), before.allocated + 24);
    EXPECT_EQ(Memory().num_buffers(), before.buffers + 2);
    const Launched sum = RunAdd(x, y);
    EXPECT_EQ(Memory().allocated(), before.allocated + 36);
    const BufferRef copy = Runtime::Get().ToOtherDevice(sum.outputs[0], 1);
    EXPECT_EQ(Memory().allocated(), before.allocated + 36);
    EXPECT_EQ(Memory(1).allocated(), other + 12);
  }
  EXPECT_EQ(Held(), before);
  EXPECT_EQ(Memory(1).allocated(), other);
}

TEST(Memory, PeakIsTheMostThatWasEverHeld) {
  Memory().ResetPeak();
  const int64_t before = Memory().allocated();
  EXPECT_EQ(Memory().peak(), before);
  {
    const Tensor x = Ones(kMiB), y = Ones(2 * kMiB);
  }
  EXPECT_EQ(Memory().peak(), before + 3 * kMiB);
  EXPECT_EQ(Memory().allocated(), before);
  Memory().ResetPeak();
  EXPECT_EQ(Memory().peak(), before);
}

TEST(Memory, AnUploadThatDoesNotFitSaysSizesAndAdvice) {
  const Held before;
  const int64_t ooms = Memory().num_ooms();
  const std::string message = MessageOf<c10::OutOfMemoryError>([] { Ones(65 * kMiB); });
  EXPECT_CONTAINS(message, "65.00 MiB");
  EXPECT_CONTAINS(message, "of 64.00 MiB in use");
  EXPECT_CONTAINS(message, "TORCH_TPU_MEMORY_LIMIT");
  EXPECT_EQ(Held(), before);
  EXPECT_EQ(Memory().num_ooms(), ooms + 1);
}

TEST(Memory, ALaunchThatDoesNotFitChangesNothing) {
  const Tensor x = Ones(24 * kMiB), y = Ones(24 * kMiB);
  const Held before;
  const int64_t launches = GetStats().launches;
  EXPECT_THROW(RunAdd(x, y), c10::OutOfMemoryError);
  EXPECT_EQ(Held(), before);
  EXPECT_EQ(GetStats().launches, launches);
  EXPECT_EQ(x.Values<float>().back(), 1);
}

TEST(Memory, WhatFailedFitsOnceRoomIsMade) {
  const Tensor x = Ones(24 * kMiB);
  {
    const Tensor y = Ones(24 * kMiB);
    EXPECT_THROW(RunAdd(x, y), c10::OutOfMemoryError);
  }
  EXPECT_EQ(Read<float>(RunAdd(x, x).outputs[0]).back(), 2);
}

TEST(Memory, AnUpdateInPlaceNeedsNoRoomOfItsOwn) {
  const Tensor x = Ones(40 * kMiB);
  const Tensor one(std::vector<float>{1}, {1});
  const Held before;
  Memory().ResetPeak();
  RunAddInPlace(x, one);
  EXPECT_EQ(Held(), before);
  EXPECT_EQ(Memory().peak(), before.allocated);
  EXPECT_EQ(x.Values<float>().back(), 2);
}

TEST(Memory, AnUpdateOfWhatSomebodyElseHoldsNeedsRoom) {
  const Tensor x = Ones(40 * kMiB);
  const BufferRef held = x.buffer();
  const Tensor one(std::vector<float>{1}, {1});
  EXPECT_THROW(RunAddInPlace(x, one), c10::OutOfMemoryError);
  EXPECT_EQ(x.Values<float>().back(), 1);
}

TEST(Memory, ACopyToAFullDeviceFailsThereOnly) {
  const Tensor x = Ones(40 * kMiB);
  const Tensor full(std::vector<float>(10 * kMiB, 1), {10 * kMiB}, 1);
  const int64_t other = Memory(1).allocated();
  EXPECT_THROW(Runtime::Get().ToOtherDevice(x.buffer(), 1), c10::OutOfMemoryError);
  EXPECT_EQ(Memory(1).allocated(), other);
  EXPECT_EQ(x.Values<float>().back(), 1);
}

TEST(Memory, NothingOfZeroBytesIsLost) {
  const Held before;
  {
    const Tensor empty(std::vector<float>{}, {0, 3});
    EXPECT_EQ(Memory().allocated(), before.allocated);
    EXPECT_EQ(Memory().num_buffers(), before.buffers + 1);
    EXPECT_TRUE(empty.Values<float>().empty());
  }
  EXPECT_EQ(Held(), before);
}

}  // namespace
}  // namespace torch_tpu::exec
