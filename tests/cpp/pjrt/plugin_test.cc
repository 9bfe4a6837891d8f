#include "pjrt/plugin.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

namespace fs = std::filesystem;

class PluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "sys/bus/pci/devices");
    fs::create_directories(root_ / "first");
  }
  void TearDown() override { fs::remove_all(root_); }

  void AddPci(const std::string& slot, const std::string& vendor, const std::string& device) {
    const fs::path dir = root_ / "sys/bus/pci/devices" / slot;
    fs::create_directories(dir);
    std::ofstream(dir / "vendor") << vendor << '\n';
    std::ofstream(dir / "device") << device << '\n';
  }
  void AddLibrary(const std::string& path) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "";
  }
  std::string sys() const { return (root_ / "sys").string(); }
  PluginSpec Choose(const PluginRequest& request) {
    return ChoosePlugin(request, {(root_ / "first").string(), (root_ / "second").string()}, sys());
  }

  const fs::path root_ = fs::path(::testing::TempDir()) /
                         ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(PluginTest, CountsTpusAndNothingElse) {
  EXPECT_EQ(CountGoogleDevices(sys()), 0);
  AddPci("0000:00:01.0", "0x8086", "0x0063");  // another vendor
  AddPci("0000:00:02.0", "0x1ae0", "0x0042");  // Google's network card
  AddPci("0000:00:03.0", "0x1ae0", "0x0063");
  AddPci("0000:00:04.0", "0x1ae0", "0x006f");
  fs::create_directories(root_ / "sys/bus/pci/devices/0000:00:05.0");  // unreadable
  EXPECT_EQ(CountGoogleDevices(sys()), 2);
  EXPECT_EQ(CountGoogleDevices("/nowhere"), 0);
}

TEST_F(PluginTest, AutoWithoutTpuTakesTheCpuPlugin) {
  AddLibrary("second/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
  AddLibrary("first/libtpu/libtpu.so");
  const PluginSpec spec = Choose({});
  EXPECT_EQ(spec.kind, "cpu");
  EXPECT_EQ(spec.path, (root_ / "second/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so").string());
  EXPECT_EQ(spec.reason, "no TPU on the PCI bus");
}

TEST_F(PluginTest, AutoWithTpuTakesLibtpu) {
  AddPci("0000:00:03.0", "0x1ae0", "0x0076");
  AddLibrary("first/libtpu/libtpu.so");
  const PluginSpec spec = Choose({});
  EXPECT_EQ(spec.kind, "tpu");
  EXPECT_EQ(spec.path, (root_ / "first/libtpu/libtpu.so").string());
  EXPECT_CONTAINS(spec.reason, "1 TPU chip");
}

TEST_F(PluginTest, CpuLeavesATpuAlone) {
  AddPci("0000:00:03.0", "0x1ae0", "0x0076");
  AddLibrary("first/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
  EXPECT_EQ(Choose({.platform = "cpu"}).kind, "cpu");
}

TEST_F(PluginTest, TpuWithoutTpuSaysWhatToDo) {
  AddLibrary("first/libtpu/libtpu.so");
  const auto text = MessageOf<c10::Error>([&] { Choose({.platform = "tpu"}); });
  EXPECT_CONTAINS(text, "TORCH_TPU_PLATFORM=tpu: expected a TPU");
  EXPECT_CONTAINS(text, "TORCH_TPU_PLATFORM=cpu");
}

TEST_F(PluginTest, MissingLibrariesSayWhatToInstall) {
  const auto cpu = MessageOf<c10::Error>([&] { Choose({}); });
  EXPECT_CONTAINS(cpu, "pip install xla-cpu-pjrt");
  EXPECT_CONTAINS(cpu, (root_ / "second").string());
  AddPci("0000:00:03.0", "0x1ae0", "0x005e");
  const auto tpu = MessageOf<c10::Error>([&] { Choose({}); });
  EXPECT_CONTAINS(tpu, "pip install libtpu");
}

TEST_F(PluginTest, ANamedPluginWins) {
  const PluginSpec spec = Choose({.platform = "tpu", .plugin_path = "/opt/libtpu.so"});
  EXPECT_EQ(spec.path, "/opt/libtpu.so");
  EXPECT_EQ(spec.kind, "tpu");
  EXPECT_EQ(Choose({.plugin_path = "/opt/pjrt_cpu.so"}).kind, "cpu");
  EXPECT_EQ(Choose({.plugin_path = "/opt/cuda.so"}).kind, "other");
}

TEST_F(PluginTest, UnknownPlatformIsAValueError) {
  const auto text = MessageOf<c10::ValueError>([&] { Choose({.platform = "gpu"}); });
  EXPECT_CONTAINS(text, "expected one of auto, tpu, cpu, got 'gpu'");
}

TEST_F(PluginTest, SettingsAreTheDefaultRequest) {
  ASSERT_EQ(setenv("TORCH_TPU_PJRT_PLUGIN", "/opt/from_env.so", 1), 0);
  EXPECT_EQ(ChoosePlugin({}, sys()).path, "/opt/from_env.so");
}

}  // namespace
}  // namespace torch_tpu::pjrt
