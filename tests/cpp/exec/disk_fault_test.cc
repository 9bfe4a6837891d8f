// Failures of the plugin while programs are compiled, serialized, stored and loaded, with the fake
// one.
#include <cstdlib>

#include "device.h"
#include "disk_environment.h"
#include "exec/disk_cache.h"
#include "fake_pjrt/plugin.h"

namespace torch_tpu::exec {
namespace {

using fake_pjrt::Kind;
using Floats = std::vector<float>;

fake_pjrt::FakePlugin& Plugin() { return fake_pjrt::ThePlugin(); }

class DiskFault : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("TORCH_TPU_PJRT_PLUGIN", FAKE_PJRT_PLUGIN, 1); }

  static void Run(bool cold) {
    ExecutableCache::Get().Clear();
    if (cold) DiskCache(OwnFolder(), DiskCache::Mode::kReadWrite).Clear();
    const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
    RunAdd(x, y);
    RunAddInPlace(x, y);
    Runtime::Get().device(0).Synchronize();
  }
};

TEST_F(DiskFault, AnyCallThatFailsIsAMissOrAnErrorAndLeavesNothingBehind) {
  for (const bool cold : {true, false}) {
    Run(cold);
    ExecutableCache::Get().Clear();
    const int loaded = Plugin().live(Kind::kLoadedExecutable);
    const int executables = Plugin().live(Kind::kExecutable);
    int n = 0;
    for (bool failed = true; failed; ++n) {
      ASSERT_LT(n, 500);
      ::testing::internal::CaptureStderr();
      Plugin().FailCall(n + 1);
      try {
        Run(cold);
      } catch (const std::exception& error) {
        EXPECT_CONTAINS(std::string(error.what()), "injected");
      }
      failed = !Plugin().failed_function().empty();
      SCOPED_TRACE(Plugin().failed_function());
      Plugin().FailCall(0);
      ::testing::internal::GetCapturedStderr();
      ExecutableCache::Get().Clear();
      EXPECT_EQ(Plugin().live(Kind::kLoadedExecutable), loaded);
      EXPECT_EQ(Plugin().live(Kind::kExecutable), executables);
      EXPECT_EQ(Plugin().live(Kind::kSerialized), 0);
      EXPECT_EQ(Plugin().live(Kind::kError), 0);
      Run(/*cold=*/false);
    }
    EXPECT_GT(n, 10);
    const int64_t compiles = GetStats().compiles;
    Run(/*cold=*/false);
    EXPECT_EQ(GetStats().compiles, compiles);
  }
}

TEST_F(DiskFault, APluginThatCannotSerializeIsToldOnceAndWorks) {
  Run(/*cold=*/true);
  ExecutableCache::Get().Clear();
  DiskCache(OwnFolder(), DiskCache::Mode::kReadWrite).Clear();
  const Tensor x(Floats{1, 2}, {2}), y(Floats{10, 20}, {2});
  ::testing::internal::CaptureStderr();
  const int before = Plugin().calls("PJRT_Executable_Serialize");
  for (int n = 1; Plugin().failed_function() != "PJRT_Executable_Serialize"; ++n) {
    ASSERT_LT(n, 100);
    ExecutableCache::Get().Clear();
    DiskCache(OwnFolder(), DiskCache::Mode::kReadWrite).Clear();
    Plugin().FailCall(n, PJRT_Error_Code_UNIMPLEMENTED, "cannot");
    try {
      RunAdd(x, y);
    } catch (const c10::Error&) {
    }
    if (Plugin().failed_function() != "PJRT_Executable_Serialize") Plugin().FailCall(0);
  }
  Plugin().FailCall(0);
  const int asked = Plugin().calls("PJRT_Executable_Serialize") - before;
  RunAddInPlace(x, y);
  EXPECT_EQ(Plugin().calls("PJRT_Executable_Serialize") - before, asked);
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), "not kept on disk");
}

}  // namespace
}  // namespace torch_tpu::exec
