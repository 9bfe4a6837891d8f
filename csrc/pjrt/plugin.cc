#include "pjrt/plugin.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/settings.h"

namespace torch_tpu::pjrt {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kGoogleVendor = 0x1ae0;
// v4, v5p, v5e, v6e, v7. Google's network and disk devices share the vendor.
constexpr std::array<unsigned, 5> kTpuDevices = {0x005e, 0x0062, 0x0063, 0x006f, 0x0076};

constexpr std::string_view kTpuLibrary = "libtpu/libtpu.so";
constexpr std::string_view kCpuLibrary = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so";

// 0 where the file cannot be read: no device has that vendor.
unsigned ReadHex(const fs::path& file) {
  std::ifstream in(file);
  unsigned value = 0;
  in >> std::hex >> value;
  return in ? value : 0;
}

std::string Find(const std::vector<std::string>& dirs, std::string_view library,
                 std::string_view advice) {
  for (const std::string& dir : dirs) {
    const fs::path path = fs::path(dir) / library;
    std::error_code status;
    if (fs::is_regular_file(path, status)) return path.string();
  }
  std::string tried;
  for (const std::string& dir : dirs) tried += (tried.empty() ? "" : ", ") + dir;
  TORCH_CHECK(false, "tpu: expected ", library, " in one of [", tried, "], got none. ", advice);
}

std::string KindOf(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (name.find("libtpu") != std::string::npos) return "tpu";
  if (name.find("cpu") != std::string::npos) return "cpu";
  return "other";
}

}  // namespace

int CountGoogleDevices(const std::string& sysfs_root) {
  int count = 0;
  std::error_code status;
  for (fs::directory_iterator it(fs::path(sysfs_root) / "bus/pci/devices", status), end;
       !status && it != end; it.increment(status)) {
    if (ReadHex(it->path() / "vendor") != kGoogleVendor) continue;
    const unsigned device = ReadHex(it->path() / "device");
    count += std::find(kTpuDevices.begin(), kTpuDevices.end(), device) != kTpuDevices.end();
  }
  return count;
}

PluginSpec ChoosePlugin(const PluginRequest& request, const std::vector<std::string>& search_dirs,
                        const std::string& sysfs_root) {
  const std::string& platform = request.platform;
  TORCH_CHECK_VALUE(platform == "auto" || platform == "tpu" || platform == "cpu",
                    "TORCH_TPU_PLATFORM: expected one of auto, tpu, cpu, got '", platform, "'");
  if (!request.plugin_path.empty()) {
    return {request.plugin_path, KindOf(request.plugin_path), "TORCH_TPU_PJRT_PLUGIN names it"};
  }
  if (platform == "cpu") {
    return {Find(search_dirs, kCpuLibrary, "Install it: pip install xla-cpu-pjrt"), "cpu",
            "TORCH_TPU_PLATFORM=cpu"};
  }
  const int tpus = CountGoogleDevices(sysfs_root);
  if (tpus > 0) {
    return {Find(search_dirs, kTpuLibrary,
                 "Install it: pip install libtpu, or set TORCH_TPU_PLATFORM=cpu to leave the TPU "
                 "alone"),
            "tpu", std::to_string(tpus) + " TPU chip(s) on the PCI bus"};
  }
  TORCH_CHECK(platform != "tpu",
              "TORCH_TPU_PLATFORM=tpu: expected a TPU, got no TPU on the PCI bus. Run on a TPU VM, "
              "or set TORCH_TPU_PLATFORM=cpu to let the CPU stand in");
  return {Find(search_dirs, kCpuLibrary, "Install it: pip install xla-cpu-pjrt"), "cpu",
          "no TPU on the PCI bus"};
}

PluginSpec ChoosePlugin(const std::vector<std::string>& search_dirs,
                        const std::string& sysfs_root) {
  const Settings& settings = GetSettings();
  return ChoosePlugin({settings.platform, settings.plugin_path}, search_dirs, sysfs_root);
}

}  // namespace torch_tpu::pjrt
