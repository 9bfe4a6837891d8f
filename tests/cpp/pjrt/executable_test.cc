#include "pjrt/executable.h"

#include <c10/util/Exception.h>

#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

using ExecutableTest = FakeClientTest;
using fake_pjrt::Kind;

TEST_F(ExecutableTest, KnowsItsOutputs) {
  const Executable executable = Compile(
      "func.func public @main(%arg0: tensor<f32>) -> (tensor<2x3xbf16>, tensor<i64>, "
      "tensor<0xcomplex<f32>>) {");
  EXPECT_EQ(executable.num_outputs(), 3u);
  const auto types = executable.output_types();
  EXPECT_EQ(types[0].dtype, DType::BFloat16);
  EXPECT_EQ(types[0].dims, (Dims{2, 3}));
  EXPECT_EQ(types[1].dtype, DType::Long);
  EXPECT_TRUE(types[1].dims.empty());
  EXPECT_EQ(types[2].dtype, DType::ComplexFloat);
  EXPECT_EQ(types[2].dims, Dims{0});
}

TEST_F(ExecutableTest, RunsOnTheDeviceAskedFor) {
  const Executable executable = Compile();
  const Buffer in = Upload({1, 2, 3, 4, 5, 6}, 1);
  PJRT_Buffer* args[] = {in.raw()};
  PJRT_Buffer* outputs[1];
  Event done;
  executable.Execute(args, 1, {}, outputs, &done);
  EXPECT_EQ(plugin_.seen().execute_device, 1);
  EXPECT_TRUE(plugin_.seen().wants_event);
  done.Await();
  const Buffer out(client_, outputs[0]);
  EXPECT_EQ(out.device_index(), 1);
  std::vector<float> values(6);
  out.CopyToHost(values.data(), 24).Await();
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(ExecutableTest, AsksForNoEventThatNobodyWants) {
  const Executable executable = Compile();
  const Buffer in = Upload();
  PJRT_Buffer* args[] = {in.raw()};
  PJRT_Buffer* outputs[1];
  executable.Execute(args, 0, {}, outputs, nullptr);
  const Buffer out(client_, outputs[0]);
  EXPECT_FALSE(plugin_.seen().wants_event);
}

TEST_F(ExecutableTest, DonatesUnlessToldNotTo) {
  const Executable executable = Compile(kDonatingProgram);
  const Buffer in = Upload();
  PJRT_Buffer* args[] = {in.raw()};
  PJRT_Buffer* outputs[1];
  const int64_t keep[] = {0};
  executable.Execute(args, 0, keep, outputs, nullptr);
  const Buffer first(client_, outputs[0]);
  EXPECT_EQ(plugin_.seen().non_donatable, std::vector<int64_t>{0});
  EXPECT_FALSE(in.IsDeleted());
  executable.Execute(args, 0, {}, outputs, nullptr);
  const Buffer second(client_, outputs[0]);
  EXPECT_TRUE(in.IsDeleted());
}

TEST_F(ExecutableTest, FailedLaunchLeavesNullOutputsAndItsArguments) {
  const Executable executable = Compile(kDonatingProgram);
  const Buffer in = Upload();
  PJRT_Buffer* args[] = {in.raw()};
  PJRT_Buffer* outputs[] = {in.raw()};
  Event done;
  plugin_.FailCall(1, PJRT_Error_Code_RESOURCE_EXHAUSTED);
  EXPECT_THROW(executable.Execute(args, 0, {}, outputs, &done), Error);
  EXPECT_EQ(outputs[0], nullptr);
  EXPECT_FALSE(done);
  EXPECT_FALSE(in.IsDeleted());
}

TEST_F(ExecutableTest, WrongNumberOfPlacesThrowsBeforeTheLaunch) {
  const Executable executable = Compile();
  PJRT_Buffer* outputs[2];
  EXPECT_THROW(executable.Execute({}, 0, {}, outputs, nullptr), c10::Error);
  EXPECT_EQ(plugin_.calls("PJRT_LoadedExecutable_Execute"), 0);
}

TEST_F(ExecutableTest, ExecuteAllRunsEveryDevice) {
  const Executable executable = Compile();
  const Buffer in0 = Upload({1, 1, 1, 1, 1, 1}, 0);
  const Buffer in1 = Upload({2, 2, 2, 2, 2, 2}, 1);
  PJRT_Buffer* args0[] = {in0.raw()};
  PJRT_Buffer* args1[] = {in1.raw()};
  PJRT_Buffer* out0[1];
  PJRT_Buffer* out1[1];
  const std::span<PJRT_Buffer* const> args[] = {args0, args1};
  const std::span<PJRT_Buffer*> outputs[] = {out0, out1};
  Event done[2];
  executable.ExecuteAll(args, outputs, {}, done);
  const Buffer result0(client_, out0[0]);
  const Buffer result1(client_, out1[0]);
  float values[6];
  result1.CopyToHost(values, 24).Await();
  EXPECT_EQ(values[0], 2);
  EXPECT_EQ(result1.device_index(), 1);
  EXPECT_TRUE(done[0] && done[1]);
  EXPECT_EQ(executable.device_indices(), (std::vector<int>{0, 1}));
  EXPECT_THROW(executable.ExecuteAll(args, {}, {}, {}), c10::Error);
}

TEST_F(ExecutableTest, SerializesAndComesBack) {
  const Executable executable = Compile();
  const std::string bytes = executable.Serialize();
  EXPECT_EQ(plugin_.live(Kind::kSerialized), 0);
  const Executable loaded = client_->Deserialize(bytes);
  EXPECT_EQ(loaded.num_outputs(), 1u);
  EXPECT_THROW(client_->Deserialize("spoilt"), Error);
}

TEST_F(ExecutableTest, TellsAboutItself) {
  const Executable executable = Compile();
  EXPECT_EQ(executable.name(), "main");
  EXPECT_EQ(executable.CostAnalysis(), (NamedValues{{"flops", 6.0f}}));
  EXPECT_EQ(executable.MemoryStats().temp_bytes, 64);
  EXPECT_GT(executable.code_size(), 0);
  EXPECT_EQ(executable.OptimizedProgram().code, kCopyProgram);
  EXPECT_EQ(executable.OptimizedProgram().format, "mlir");
  EXPECT_EQ(executable.Fingerprint(), "print");
}

TEST_F(ExecutableTest, FreedWithItsParts) {
  {
    const Executable executable = Compile();
    EXPECT_EQ(plugin_.live(Kind::kLoadedExecutable), 1);
    EXPECT_EQ(plugin_.live(Kind::kExecutable), 1);
    client_.reset();
    EXPECT_EQ(plugin_.live(Kind::kClient), 1);
  }
  EXPECT_EQ(plugin_.Leaks(), "");
}

}  // namespace
}  // namespace torch_tpu::pjrt
