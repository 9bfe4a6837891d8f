// Which plugin this machine should use. Reads the settings and sysfs; loads nothing.
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

struct PluginRequest {
  std::string platform = "auto";  // "auto", "tpu" or "cpu"; c10::ValueError for another
  std::string plugin_path;        // not empty: this one, whatever `platform` says
};

// "tpu" is libtpu and an error without a TPU; "cpu" is XLA's CPU plugin; "auto" is libtpu where
// there is a TPU and the CPU plugin otherwise. `search_dirs` are site-packages folders, tried in
// order.
PluginSpec ChoosePlugin(const PluginRequest& request, const std::vector<std::string>& search_dirs,
                        const std::string& sysfs_root = "/sys");

// The same with the settings TORCH_TPU_PLATFORM and TORCH_TPU_PJRT_PLUGIN.
PluginSpec ChoosePlugin(const std::vector<std::string>& search_dirs,
                        const std::string& sysfs_root = "/sys");

}  // namespace torch_tpu::pjrt
