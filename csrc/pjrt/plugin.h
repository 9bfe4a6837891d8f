// Which plugin this machine should use. Reads the environment and sysfs; loads nothing.
#pragma once

#include <string>
#include <vector>

namespace torch_tpu::pjrt {

struct PluginSpec {
  std::string path;
  std::string kind;    // "tpu", "cpu" or "other"
  std::string reason;  // for people: why this one
};

// How many TPU chips the PCI bus shows. Cheap: starts no plugin.
int CountGoogleDevices(const std::string& sysfs_root = "/sys");

// TORCH_TPU_PJRT_PLUGIN=/path wins. Else TORCH_TPU_PLATFORM decides: "tpu" (libtpu; c10::Error
// without a TPU), "cpu" (XLA's CPU plugin), "auto" or unset (libtpu where there is a TPU, the CPU
// plugin otherwise). `search_dirs` are site-packages folders, tried in order.
PluginSpec ChoosePlugin(const std::vector<std::string>& search_dirs,
                        const std::string& sysfs_root = "/sys");

}  // namespace torch_tpu::pjrt
