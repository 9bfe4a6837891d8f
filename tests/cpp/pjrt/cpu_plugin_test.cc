// The same room against XLA's CPU plugin, on two devices.
#include <c10/util/Exception.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>

#include "fake_client.h"

// The address sanitizer's allocator would otherwise abort in OutOfMemoryIsAnErrorAndNoMore.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace torch_tpu::pjrt {
namespace {

constexpr char kAdd[] = R"(module @add {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
})";
constexpr char kDonate[] = R"(module @donate {
  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";

Api CpuApi() {
  const char* path = std::getenv("TORCH_TPU_TEST_CPU_PLUGIN");
  return Api::Load(path != nullptr ? path : TORCH_TPU_TEST_PLUGIN);
}

class CpuPluginTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    client = Client::Create(CpuApi(), {{"cpu_device_count", int64_t{2}}});
  }
  static void TearDownTestSuite() { client.reset(); }

  static Buffer Upload(const std::vector<float>& values, c10::IntArrayRef dims, int device = 0) {
    return client->BufferFromHost(values.data(), DType::Float, dims, std::nullopt, device);
  }
  static std::vector<float> Read(const Buffer& buffer) {
    size_t size = 1;
    for (const int64_t dim : buffer.dims()) size *= static_cast<size_t>(dim);
    std::vector<float> values(size);
    buffer.CopyToHost(values.data(), size * sizeof(float)).Await();
    return values;
  }
  static Executable Compile(std::string_view text, const CompileOptions& options = {}) {
    return client->Compile(text, Serialize(options));
  }
  static std::vector<Buffer> Run(const Executable& executable, const std::vector<Buffer>& args,
                                 int device = 0) {
    std::vector<PJRT_Buffer*> raw;
    for (const Buffer& arg : args) raw.push_back(arg.raw());
    std::vector<PJRT_Buffer*> outputs(executable.num_outputs());
    executable.Execute(raw, device, {}, outputs, nullptr);
    std::vector<Buffer> result;
    for (PJRT_Buffer* output : outputs) result.emplace_back(client, output);
    return result;
  }
  static std::vector<Buffer> Pair(int device) {
    std::vector<Buffer> args;
    args.push_back(Upload({1, 2, 3, 4, 5, 6}, {2, 3}, device));
    args.push_back(Upload({10, 20, 30, 40, 50, 60}, {2, 3}, device));
    return args;
  }

  static inline std::shared_ptr<Client> client;
  const std::vector<float> kSum = {11, 22, 33, 44, 55, 66};
};

TEST_F(CpuPluginTest, HasTwoDevices) {
  EXPECT_EQ(client->platform_name(), "cpu");
  ASSERT_EQ(client->devices().size(), 2u);
  EXPECT_EQ(client->device(1).local_hardware_id(), 1);
  EXPECT_EQ(client->device(0).kind(), "cpu");
  EXPECT_FALSE(client->device(0).memory_stats().has_value());
  EXPECT_FALSE(client->device(0).default_memory().kind().empty());
  EXPECT_CONTAINS(client->Identity(), "processor=");
  EXPECT_CONTAINS(client->Identity(), "plugin_file=");
}

TEST_F(CpuPluginTest, AddsOnEveryDeviceWithOneExecutable) {
  const Executable add = Compile(kAdd);
  EXPECT_EQ(add.num_outputs(), 1u);
  EXPECT_EQ(add.output_types()[0].dtype, DType::Float);
  EXPECT_EQ(add.output_types()[0].dims, (Dims{2, 3}));
  for (const int device : {0, 1}) {
    const auto out = Run(add, Pair(device), device);
    EXPECT_EQ(out[0].device_index(), device);
    EXPECT_EQ(out[0].dtype(), DType::Float);
    EXPECT_EQ(out[0].dims(), c10::IntArrayRef({2, 3}));
    EXPECT_EQ(Read(out[0]), kSum);
  }
}

TEST_F(CpuPluginTest, DoneEventAndReadyEvent) {
  const Executable add = Compile(kAdd);
  const auto args = Pair(0);
  PJRT_Buffer* raw[] = {args[0].raw(), args[1].raw()};
  PJRT_Buffer* outputs[1];
  Event done;
  add.Execute(raw, 0, {}, outputs, &done);
  const Buffer out(client, outputs[0], DType::Float, {2, 3});
  done.Await();
  EXPECT_TRUE(done.IsReady());
  out.ReadyEvent().Await();
  EXPECT_TRUE(out.IsReady());
  EXPECT_EQ(out.on_device_size(), 24u);
}

TEST_F(CpuPluginTest, WrongArgumentsThrow) {
  const Executable add = Compile(kAdd);
  std::vector<Buffer> one;
  one.push_back(Upload({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_THROW(Run(add, one), Error);
  one.push_back(Upload({1}, {1}));
  EXPECT_THROW(Run(add, one), Error);
}

TEST_F(CpuPluginTest, CompileErrorCarriesTheParsersWords) {
  try {
    Compile("module { this is no program }");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.function(), "PJRT_Client_Compile");
    EXPECT_CONTAINS(error.message(), "custom op 'this' is unknown");
  }
}

TEST_F(CpuPluginTest, TakesOptionsAndRefusesUnknownOnes) {
  constexpr char kMax[] = R"(module {
    func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.maximum %arg0, %arg1 : tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  })";
  CompileOptions options;
  options.overrides = {{"xla_cpu_enable_fast_min_max", false}};
  const Executable max = Compile(kMax, options);
  std::vector<Buffer> args;
  args.push_back(Upload({std::numeric_limits<float>::quiet_NaN(), 1}, {2}));
  args.push_back(Upload({1, std::numeric_limits<float>::quiet_NaN()}, {2}));
  for (const float value : Read(Run(max, args)[0])) EXPECT_TRUE(std::isnan(value));

  options.overrides = {{"xla_no_such_option", true}};
  const auto text = MessageOf<Error>([&] { Compile(kMax, options); });
  EXPECT_CONTAINS(text, "xla_no_such_option");
}

TEST_F(CpuPluginTest, SerializedExecutableRunsOnBothDevices) {
  const std::string bytes = Compile(kAdd).Serialize();
  EXPECT_FALSE(bytes.empty());
  for (const std::string& options : {std::string(), Serialize(CompileOptions())}) {
    const Executable add = client->Deserialize(bytes, options);
    for (const int device : {0, 1}) EXPECT_EQ(Read(Run(add, Pair(device), device)[0]), kSum);
  }
  EXPECT_THROW(client->Deserialize("garbage"), Error);
  EXPECT_THROW(client->Deserialize(bytes.substr(0, bytes.size() / 2)), Error);
}

TEST_F(CpuPluginTest, SerializedExecutableDoesNotDependOnTheDeviceCount) {
  const std::string bytes = Compile(kAdd).Serialize();
  const auto other = Client::Create(CpuApi(), {{"cpu_device_count", int64_t{1}}});
  const Executable add = other->Deserialize(bytes);
  const std::vector<float> ones(6, 1);
  const Buffer a = other->BufferFromHost(ones.data(), DType::Float, {2, 3}, std::nullopt, 0);
  PJRT_Buffer* args[] = {a.raw(), a.raw()};
  PJRT_Buffer* outputs[1];
  add.Execute(args, 0, {}, outputs, nullptr);
  float out[6];
  Buffer(other, outputs[0]).CopyToHost(out, sizeof(out)).Await();
  EXPECT_EQ(out[5], 2);
}

TEST_F(CpuPluginTest, DonatesUnlessToldNotTo) {
  const Executable donate = Compile(kDonate);
  const Buffer in = Upload({1, 2, 3, 4}, {4});
  PJRT_Buffer* args[] = {in.raw()};
  PJRT_Buffer* outputs[1];
  const int64_t keep[] = {0};
  donate.Execute(args, 0, keep, outputs, nullptr);
  const Buffer first(client, outputs[0]);
  EXPECT_FALSE(in.IsDeleted());
  EXPECT_EQ(Read(in), (std::vector<float>{1, 2, 3, 4}));
  donate.Execute(args, 0, {}, outputs, nullptr);
  const Buffer second(client, outputs[0]);
  EXPECT_TRUE(in.IsDeleted());
  EXPECT_EQ(Read(second), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_THROW(donate.Execute(args, 0, {}, outputs, nullptr), Error);
  EXPECT_EQ(outputs[0], nullptr);
}

TEST_F(CpuPluginTest, DynamicArrayComesBackInItsTrueSize) {
  const Executable cut = Compile(R"(module {
    func.func public @main(%arg0: tensor<2x4xf32>, %arg1: tensor<i32>)
        -> tensor<2x?xf32, #stablehlo.bounds<?, 4>> {
      %0 = "stablehlo.set_dimension_size"(%arg0, %arg1) {dimension = 1 : i64}
        : (tensor<2x4xf32>, tensor<i32>) -> tensor<2x?xf32, #stablehlo.bounds<?, 4>>
      return %0 : tensor<2x?xf32, #stablehlo.bounds<?, 4>>
    }
  })");
  const int32_t size = 3;
  std::vector<Buffer> args;
  args.push_back(Upload({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}));
  args.push_back(client->BufferFromHost(&size, DType::Int, {}, std::nullopt, 0));
  std::vector<Buffer> out = Run(cut, args);
  EXPECT_EQ(out[0].dims(), c10::IntArrayRef({2, 4}));
  const Buffer vouched(client, out[0].Release(), DType::Float, {2, 3});
  EXPECT_EQ(Read(vouched), (std::vector<float>{1, 2, 3, 5, 6, 7}));
}

TEST_F(CpuPluginTest, CopiesBetweenDevices) {
  const Buffer here = Upload({1, 2, 3, 4}, {4}, 0);
  const Buffer there = here.CopyToDevice(1);
  EXPECT_EQ(there.device_index(), 1);
  EXPECT_EQ(Read(there), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(Read(there.CopyToDevice(0)), (std::vector<float>{1, 2, 3, 4}));
  const Buffer twin = here.CopyToDevice(0);
  EXPECT_NE(twin.UnsafePointer(), here.UnsafePointer());
  EXPECT_EQ(Read(twin), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_THROW(here.CopyToDevice(2), c10::Error);
}

TEST_F(CpuPluginTest, OutOfMemoryIsAnErrorAndNoMore) {
  const Buffer kept = Upload({1, 2}, {2});
  const auto is_oom = [](auto body) {
    try {
      body();
    } catch (const Error& error) {
      return error.code() == PJRT_Error_Code_RESOURCE_EXHAUSTED;
    }
    return false;
  };
  const float value = 0;
  EXPECT_TRUE(is_oom([&] {
    client->BufferFromHost(&value, DType::Float, {int64_t{1} << 44}, c10::IntArrayRef({0}), 0);
  }));
  const Executable fill = Compile(R"(module {
    func.func public @main(%arg0: tensor<f32>) -> tensor<17592186044416xf32> {
      %0 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<17592186044416xf32>
      return %0 : tensor<17592186044416xf32>
    }
  })");
  std::vector<Buffer> args;
  args.push_back(Upload({1}, {}));
  EXPECT_TRUE(is_oom([&] { Run(fill, args)[0].ReadyEvent().Await(); }));
  EXPECT_EQ(Read(kept), (std::vector<float>{1, 2}));
}

TEST_F(CpuPluginTest, CreateUninitialized) {
  const Buffer buffer = client->CreateUninitialized(DType::Float, {2, 3}, 1);
  EXPECT_EQ(buffer.device_index(), 1);
  EXPECT_EQ(buffer.on_device_size(), 24u);
}

TEST_F(CpuPluginTest, EveryDTypeGoesThere) {
  for (int i = 0; i < static_cast<int>(DType::NumOptions); ++i) {
    const DType dtype = static_cast<DType>(i);
    if (!IsSupportedDType(dtype)) continue;
    std::vector<unsigned char> bytes(3 * c10::elementSize(dtype));
    for (size_t b = 0; b < bytes.size(); ++b) bytes[b] = dtype == DType::Bool ? b % 2 : b + 1;
    const Buffer buffer = client->BufferFromHost(bytes.data(), dtype, {3}, std::nullopt, 1);
    std::vector<unsigned char> back(bytes.size());
    const Buffer asked(client,
                       client->BufferFromHost(bytes.data(), dtype, {3}, std::nullopt, 0).Release());
    EXPECT_EQ(asked.dtype(), dtype) << DTypeName(dtype);
    buffer.CopyToHost(back.data(), back.size()).Await();
    EXPECT_EQ(back, bytes) << DTypeName(dtype);
  }
}

TEST_F(CpuPluginTest, StridedUpload) {
  const std::vector<float> transposed = {1, 4, 2, 5, 3, 6};
  const Buffer buffer =
      client->BufferFromHost(transposed.data(), DType::Float, {2, 3}, c10::IntArrayRef({4, 8}), 0);
  EXPECT_EQ(Read(buffer), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(CpuPluginTest, EmptyAndScalar) {
  EXPECT_TRUE(Read(Upload({}, {0, 3})).empty());
  EXPECT_EQ(Read(Upload({7}, {})), std::vector<float>{7});
}

TEST_F(CpuPluginTest, UploadMayForgetItsSourceAtOnce) {
  std::vector<float> values(1 << 16, 3);
  const Buffer buffer = Upload(values, {1 << 16});
  std::fill(values.begin(), values.end(), -1);
  for (const float value : Read(buffer)) ASSERT_EQ(value, 3);
}

TEST_F(CpuPluginTest, TooSmallDestinationThrows) {
  const Buffer buffer = Upload({1, 2, 3, 4}, {4});
  float out[4];
  EXPECT_THROW(buffer.CopyToHost(out, 8).Await(), Error);
}

TEST_F(CpuPluginTest, TellsAboutAProgram) {
  const Executable add = Compile(kAdd);
  EXPECT_EQ(add.name(), "add");
  EXPECT_EQ(std::get<float>(add.CostAnalysis().at("flops")), 6);
  EXPECT_EQ(add.MemoryStats().argument_bytes, 48);
  EXPECT_EQ(add.MemoryStats().output_bytes, 24);
  const auto program = add.OptimizedProgram();
  EXPECT_CONTAINS(program.format, "hlo");
  EXPECT_CONTAINS(program.code, "add");
}

TEST_F(CpuPluginTest, ReplicasReduceTogether) {
  constexpr char kAllReduce[] = R"(module @all attributes {mhlo.num_replicas = 2 : i32} {
    func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "stablehlo.all_reduce"(%arg0) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %1 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %1 : tensor<f32>
      }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  })";
  CompileOptions options;
  options.portable = false;
  options.num_replicas = 2;
  options.device_assignment = {client->device(0).id(), client->device(1).id()};
  const Executable all = Compile(kAllReduce, options);
  EXPECT_EQ(all.device_indices(), (std::vector<int>{0, 1}));
  const Buffer in0 = Upload({1, 2}, {2}, 0);
  const Buffer in1 = Upload({10, 20}, {2}, 1);
  PJRT_Buffer* args0[] = {in0.raw()};
  PJRT_Buffer* args1[] = {in1.raw()};
  PJRT_Buffer* out0[1];
  PJRT_Buffer* out1[1];
  const std::span<PJRT_Buffer* const> args[] = {args0, args1};
  const std::span<PJRT_Buffer*> outputs[] = {out0, out1};
  Event done[2];
  all.ExecuteAll(args, outputs, {}, done);
  EXPECT_EQ(Read(Buffer(client, out0[0])), (std::vector<float>{11, 22}));
  EXPECT_EQ(Read(Buffer(client, out1[0])), (std::vector<float>{11, 22}));
  done[0].Await();
  done[1].Await();
}

TEST_F(CpuPluginTest, ThreadsShareOneExecutable) {
  const Executable add = Compile(kAdd);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) good += Read(Run(add, Pair(t % 2), t % 2)[0]) == kSum;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 400);
}

TEST_F(CpuPluginTest, CallbackOfACopy) {
  const Buffer buffer = Upload({1, 2, 3, 4}, {4});
  float out[4];
  std::atomic<int> calls = 0;
  const Event event = buffer.CopyToHost(out, sizeof(out));
  event.OnReady([&](std::optional<Error> error) {
    calls = error ? 100 : 1;
    calls.notify_all();
  });
  calls.wait(0);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(out[3], 4);
}

}  // namespace
}  // namespace torch_tpu::pjrt
