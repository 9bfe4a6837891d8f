// Every call that a whole session makes is made to fail once: the error must come out as
// pjrt::Error naming the function, and every object must be destroyed.
#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

void Session(const fake_pjrt::FakePlugin& plugin) {
  const auto client = Client::Create(Api::FromTable(plugin.table()), {{"count", 2}});
  client->Identity();
  client->device(0).memory_stats();
  client->device(0).default_memory().kind();
  client->device(0).default_memory().id();

  const std::string options = Serialize(CompileOptions());
  const Executable compiled = client->Compile(kDonatingProgram, options);
  const Executable executable = client->Deserialize(compiled.Serialize(), options);
  executable.name();
  executable.output_types();
  executable.CostAnalysis();
  executable.MemoryStats();
  executable.code_size();
  executable.OptimizedProgram();
  executable.Fingerprint();
  executable.device_indices();

  const float values[6] = {1, 2, 3, 4, 5, 6};
  const Buffer in = client->BufferFromHost(values, DType::Float, {2, 3}, std::nullopt, 0);
  PJRT_Buffer* args[] = {in.raw()};
  PJRT_Buffer* outputs[1];
  Event done;
  executable.Execute(args, 0, {}, outputs, &done);
  Buffer out(client, outputs[0]);
  done.OnReady([](std::optional<Error>) {});
  done.Await();
  Buffer moved = out.CopyToDevice(1);
  moved.dtype();
  moved.dims();
  moved.device_index();
  moved.on_device_size();
  moved.UnsafePointer();
  moved.IsReady();
  float back[6];
  moved.CopyToHost(back, sizeof(back)).Await();
  EXPECT_EQ(back[5], 6);
  moved.Delete();
  moved.IsDeleted();
}

TEST(FaultInjection, EveryCallMayFail) {
  int total = 0;
  {
    fake_pjrt::FakePlugin plugin;
    Session(plugin);
    EXPECT_EQ(plugin.Leaks(), "");
    total = plugin.calls();
  }
  ASSERT_GT(total, 60);
  ::testing::internal::CaptureStderr();  // of the failing destroys
  for (int n = 1; n <= total; ++n) {
    fake_pjrt::FakePlugin plugin;
    plugin.FailCall(n, PJRT_Error_Code_INTERNAL, "injected");
    std::string what;
    try {
      Session(plugin);
    } catch (const Error& error) {
      what = error.what();
      EXPECT_EQ(error.code(), PJRT_Error_Code_INTERNAL);
    }
    const std::string& function = plugin.failed_function();
    ASSERT_NE(function, "") << n;
    EXPECT_EQ(what, function.ends_with("_Destroy") ? "" : function + ": injected") << n;
    EXPECT_EQ(plugin.Leaks(), "") << n << " " << function;
  }
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), "_Destroy: injected");
}

TEST(FaultInjection, InlineCopyFallsBackToThePlugin) {
  ::testing::internal::CaptureStderr();
  for (int n = 1;; ++n) {
    fake_pjrt::FakePlugin plugin;
    plugin.set_platform_name("cpu");
    const auto client = Client::Create(Api::FromTable(plugin.table()));
    const float in = 3;
    const Buffer buffer = client->BufferFromHost(&in, DType::Float, {}, std::nullopt, 0);
    plugin.FailCall(n);
    float out = 0;
    buffer.CopyToHost(&out, 4).Await();
    EXPECT_EQ(out, 3) << plugin.failed_function();
    EXPECT_EQ(plugin.live(fake_pjrt::Kind::kReference), 0);
    EXPECT_EQ(plugin.live(fake_pjrt::Kind::kEvent), 0);
    if (plugin.failed_function().empty()) {
      EXPECT_GE(n, 8);
      break;
    }
  }
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), "DecreaseExternalReferenceCount");
}

}  // namespace
}  // namespace torch_tpu::pjrt
