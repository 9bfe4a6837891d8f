// Failures of the plugin, with the fake one: every call of a session is made to fail once, launches
// fail after they were accepted, devices fill up. Nothing may stay allocated and no data be lost.
#include <cstdlib>
#include <thread>

#include "device.h"
#include "exec/eager_mode.h"
#include "fake_pjrt/plugin.h"
#include "pjrt/error.h"

namespace torch_tpu::exec {
namespace {

using fake_pjrt::Kind;
using Floats = std::vector<float>;

const bool set = [] {
  setenv("TORCH_TPU_PJRT_PLUGIN", FAKE_PJRT_PLUGIN, 1);
  setenv("TORCH_TPU_DISK_CACHE", "0", 1);
  unsetenv("TORCH_TPU_MEMORY_LIMIT");
  return true;
}();

fake_pjrt::FakePlugin& Plugin() { return fake_pjrt::ThePlugin(); }
DeviceState& Device(int device = 0) { return Runtime::Get().device(device); }

struct Held {
  int64_t bytes[2] = {Device(0).memory.allocated(), Device(1).memory.allocated()};
  int64_t buffers[2] = {Device(0).memory.num_buffers(), Device(1).memory.num_buffers()};
  int plugin_buffers = Plugin().live(Kind::kBuffer);
  int events = Plugin().live(Kind::kEvent);
  size_t programs = ExecutableCache::Get().size();
  int executables = Plugin().live(Kind::kLoadedExecutable);
  bool operator==(const Held&) const = default;
};

class Fault : public ::testing::Test {
 protected:
  void SetUp() override {
    Runtime::Get();
    ExecutableCache::Get().Clear();
  }
};

// Uploads, compiles, launches with and without donation, copies and reads.
void Session() {
  ExecutableCache::Get().Clear();
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  const Launched sum = RunAdd(x, y);
  RunAddInPlace(x, y);
  ProgramWriter writer(0);
  writer.Call(Row("aten::rand"));
  writer.Ints({2});
  for (int i = 0; i < 4; ++i) writer.None();
  writer.Random(1, 2, 4);
  writer.EndCall();
  Launch(writer, 0);
  const BufferRef copy = Runtime::Get().ToOtherDevice(x.buffer(), 1);
  x.Values<float>();
  Read<float>(copy);
  Device(0).Synchronize();
  Device(1).Synchronize();
}

TEST_F(Fault, AnyCallThatFailsLeavesNothingBehind) {
  Session();  // fills the cache of operands
  ExecutableCache::Get().Clear();
  const Held before;
  int n = 0;
  for (bool failed = true; failed; ++n) {
    ASSERT_LT(n, 500);
    Plugin().FailCall(n + 1);
    try {
      Session();
    } catch (const std::exception& error) {
      EXPECT_CONTAINS(std::string(error.what()), "injected");
    }
    failed = !Plugin().failed_function().empty();
    SCOPED_TRACE(Plugin().failed_function());
    Plugin().FailCall(0);
    Device(0).Synchronize();
    ExecutableCache::Get().Clear();
    EXPECT_EQ(Device(0).memory.allocated(), before.bytes[0]);
    EXPECT_EQ(Device(1).memory.allocated(), before.bytes[1]);
    EXPECT_EQ(Device(0).memory.num_buffers(), before.buffers[0]);
    EXPECT_EQ(Plugin().live(Kind::kBuffer), before.plugin_buffers);
    EXPECT_EQ(Plugin().live(Kind::kEvent), before.events);
    EXPECT_EQ(Plugin().live(Kind::kLoadedExecutable), before.executables);
    EXPECT_EQ(Plugin().live(Kind::kError), 0);
  }
  EXPECT_GT(n, 15);
}

TEST_F(Fault, ARefusedLaunchCostsNoData) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  RunAddInPlace(x, y);
  const Held before;
  const int64_t launches = GetStats().launches;
  Plugin().FailCall(1, PJRT_Error_Code_RESOURCE_EXHAUSTED, "no room");
  const std::string message = MessageOf<c10::OutOfMemoryError>([&] { RunAddInPlace(x, y); });
  EXPECT_EQ(message, "aten::add.Tensor: PJRT_LoadedExecutable_Execute: no room");
  EXPECT_EQ(Held(), before);
  EXPECT_EQ(GetStats().launches, launches);
  EXPECT_EQ(x.Values<float>(), (Floats{1, 2}));
}

TEST_F(Fault, ADeviceThatIsFullerThanWeKnowIsOutOfMemoryToo) {
  Plugin().set_memory_limit(64);
  const Held before;
  EXPECT_THROW(Tensor(Floats(100), {100}), c10::OutOfMemoryError);
  EXPECT_EQ(Held(), before);
  Plugin().set_memory_limit(0);
}

TEST_F(Fault, ACompileErrorNamesTheOpAndKeepsNothing) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  const Held before;
  Plugin().FailCall(1, PJRT_Error_Code_UNIMPLEMENTED, "cannot");
  const std::string message = MessageOf<c10::NotImplementedError>([&] { RunAdd(x, y); });
  EXPECT_EQ(message, "aten::add.Tensor: PJRT_Client_Compile: cannot");
  EXPECT_EQ(Held(), before);
  RunAdd(x, y);
}

TEST_F(Fault, AFailedLaunchIsRaisedByTheReadOfItsOutputsWithTheNameOfTheOp) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  Plugin().HoldEvents();
  const Launched sum = RunAdd(x, y);
  EXPECT_FALSE(Device().work(0).IsDone());
  Plugin().Finish(PJRT_Error_Code_INTERNAL, "melted");
  Device().Synchronize();  // waits; the error stays with the outputs
  Plugin().FailEvents(PJRT_Error_Code_INTERNAL, "melted");
  const std::string message = MessageOf<c10::Error>([&] { Read<float>(sum.outputs[0]); });
  Plugin().FailEvents(PJRT_Error_Code_OK);
  EXPECT_CONTAINS(message, "aten::add.Tensor: ");
  EXPECT_CONTAINS(message, "melted");
}

TEST_F(Fault, ABlockingLaunchRaisesItsOwnFailure) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  RunAdd(x, y);
  const Held before;
  SetEagerMode(EagerMode::kBlocking);
  Plugin().FailEvents(PJRT_Error_Code_INTERNAL, "melted");
  const std::string message = MessageOf<c10::Error>([&] { RunAdd(x, y); });
  Plugin().FailEvents(PJRT_Error_Code_OK);
  SetEagerMode(EagerMode::kStrict);
  EXPECT_EQ(message, "aten::add.Tensor: PJRT_Event_Await: melted");
  EXPECT_EQ(Held(), before);
}

TEST_F(Fault, DonatedParametersAreNamedToThePlugin) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  const BufferRef old = x.buffer();
  RunAddInPlace(x, y);
  EXPECT_EQ(Plugin().seen().non_donatable, std::vector<int64_t>{0});
  EXPECT_FALSE(old->buffer().IsDeleted());
  RunAddInPlace(x, y);
  EXPECT_TRUE(Plugin().seen().non_donatable.empty());
}

TEST_F(Fault, StreamsWaitForTheirOwnWorkOnly) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  ProgramWriter writer(0);
  PutAdd(writer, x, y);
  Plugin().HoldEvents();
  Launch(writer, /*stream=*/3);
  EXPECT_FALSE(Device().work(3).IsDone());
  EXPECT_TRUE(Device().work(0).IsDone());
  EXPECT_TRUE(Device(1).work(3).IsDone());
  EXPECT_EQ(Device().work(3).Pending().size(), 1u);
  Plugin().Finish();
  EXPECT_TRUE(Device().work(3).IsDone());
  EXPECT_TRUE(Device().work(3).Pending().empty());
}

TEST_F(Fault, FinishedWorkIsForgotten) {
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  for (int i = 0; i < 200; ++i) RunAdd(x, y);
  EXPECT_LT(Plugin().live(Kind::kEvent), 64);
  Device().Synchronize();
  EXPECT_EQ(Plugin().live(Kind::kEvent), 0);
}

TEST_F(Fault, OneCompileHoweverManyThreadsAsk) {
  const Tensor x(Floats(5), {5}), y(Floats(5), {5});
  ProgramWriter writer(0);
  PutAdd(writer, x, y);
  const int before = Plugin().calls("PJRT_Client_Compile");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] { ExecutableCache::Get().Find(writer.bytes()); });
    }
  }
  EXPECT_EQ(Plugin().calls("PJRT_Client_Compile"), before + 1);
}

}  // namespace
}  // namespace torch_tpu::exec
