#include "base/settings.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <string_view>

namespace torch_tpu {
namespace {

std::string Text(const char* name) {
  for (const SettingRow& row : SettingRows()) {
    if (std::string_view(row.name) != name) continue;
    const char* env = std::getenv(name);
    const std::string value = env == nullptr || *env == '\0' ? row.default_value : env;
    const std::string choices = row.choices;
    if (!choices.empty()) {
      TORCH_CHECK_VALUE(("|" + choices + "|").find("|" + value + "|") != std::string::npos, name,
                        ": expected one of ", choices, ", got '", value, "'");
    }
    return value;
  }
  TORCH_INTERNAL_ASSERT(false, "no such setting: ", name);
}

int64_t Int(const char* name) {
  const std::string text = Text(name);
  char* end = nullptr;
  const int64_t value = std::strtoll(text.c_str(), &end, 10);
  TORCH_CHECK_VALUE(end != text.c_str() && *end == '\0' && value >= 0, name,
                    ": expected a non-negative integer, got '", text, "'");
  return value;
}

bool Bool(const char* name) { return Text(name) == "1"; }

}  // namespace

const std::vector<SettingRow>& SettingRows() {
  static const std::vector<SettingRow> rows = {
      {"TORCH_TPU_PLATFORM", "string", "auto", "auto|tpu|cpu",
       "Which plugin drives the device: a real TPU when Google PCI devices are present and XLA's "
       "CPU plugin otherwise (auto), only a real TPU (tpu), or the CPU plugin as a stand-in "
       "(cpu)."},
      {"TORCH_TPU_PJRT_PLUGIN", "string", "", "",
       "Path of any other PJRT plugin library; takes precedence over TORCH_TPU_PLATFORM."},
      {"TORCH_TPU_NUM_DEVICES", "int", "0", "",
       "Number of devices the CPU plugin offers in one process; 0 means one."},
      {"TORCH_TPU_EAGER_MODE", "string", "strict", "strict|blocking",
       "strict launches each op at once, asynchronously; blocking also waits for each op."},
      {"TORCH_TPU_LAUNCH_BLOCKING", "bool", "0", "0|1",
       "1 is another way to say TORCH_TPU_EAGER_MODE=blocking."},
      {"TORCH_TPU_CHECK_INDICES", "bool", "1", "0|1",
       "Raise IndexError for out-of-range indices at the next synchronization."},
      {"TORCH_TPU_FALLBACK", "string", "warn", "warn|silent|error",
       "What an op without a lowering does: run on the CPU with a warning once per op, run there "
       "silently, or raise NotImplementedError. It is counted in every case."},
      {"TORCH_TPU_MEMORY_LIMIT", "int", "0", "",
       "Bytes one device may hold; 0 takes the device's own limit (host memory for the CPU "
       "plugin)."},
      {"TORCH_TPU_FAST_MATH", "bool", "0", "0|1",
       "Let XLA's simplifier change values (inverse pairs, reciprocals, NaN in min and max)."},
      {"TORCH_TPU_DUMP_PROGRAMS", "string", "", "",
       "Folder to write the StableHLO text of every compiled program to."},
      {"TORCH_TPU_QUIET", "bool", "0", "0|1",
       "Do not print the notice that the CPU plugin stands in for a TPU."},
  };
  return rows;
}

const Settings& GetSettings() {
  static const Settings settings = [] {
    Settings s;
    s.platform = Text("TORCH_TPU_PLATFORM");
    s.plugin_path = Text("TORCH_TPU_PJRT_PLUGIN");
    s.num_devices = Int("TORCH_TPU_NUM_DEVICES");
    s.eager_mode = Bool("TORCH_TPU_LAUNCH_BLOCKING") ? "blocking" : Text("TORCH_TPU_EAGER_MODE");
    s.check_indices = Bool("TORCH_TPU_CHECK_INDICES");
    s.fallback = Text("TORCH_TPU_FALLBACK");
    s.memory_limit = Int("TORCH_TPU_MEMORY_LIMIT");
    s.fast_math = Bool("TORCH_TPU_FAST_MATH");
    s.dump_programs = Text("TORCH_TPU_DUMP_PROGRAMS");
    s.quiet = Bool("TORCH_TPU_QUIET");
    return s;
  }();
  return settings;
}

}  // namespace torch_tpu
