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
      {"TORCH_TPU_EAGER_MODE", "string", "strict", "strict|blocking|fused",
       "strict launches each op at once, asynchronously; blocking also waits for each op; fused "
       "lets "
       "ops queue up and launches them together when something is read."},
      {"TORCH_TPU_FUSED_CALLS", "int", "256", "", "Fused mode: how many ops are queued at most."},
      {"TORCH_TPU_FUSED_BYTES", "int", "1073741824", "",
       "Fused mode: how many bytes the results of queued ops have at most."},
      {"TORCH_TPU_LAUNCH_BLOCKING", "bool", "0", "0|1",
       "1 is another way to say TORCH_TPU_EAGER_MODE=blocking."},
      {"TORCH_TPU_CHECK_INDICES", "bool", "1", "0|1",
       "Raise IndexError for out-of-range indices at the next synchronization."},
      {"TORCH_TPU_CHECK_COLLECTIVES", "bool", "0", "0|1",
       "Compare every collective (op, shapes, dtypes, order) across the ranks before it runs and "
       "raise on all of them where they differ, instead of waiting for each other. For debugging."},
      {"TORCH_TPU_FALLBACK", "string", "warn", "warn|silent|error",
       "What an op without a lowering does: run on the CPU with a warning once per op, run there "
       "silently, or raise NotImplementedError. It is counted in every case."},
      {"TORCH_TPU_MEMORY_LIMIT", "int", "0", "",
       "Bytes one device may hold; 0 takes the device's own limit (host memory for the CPU "
       "plugin)."},
      {"TORCH_TPU_FAST_MATH", "bool", "0", "0|1",
       "Let XLA's simplifier change values (inverse pairs, reciprocals, NaN in min and max)."},
      {"TORCH_TPU_DISK_CACHE", "bool", "1", "0|1",
       "Keep compiled programs on disk and load them from there."},
      {"TORCH_TPU_CACHE_DIR", "string", "", "",
       "Folder of the compiled programs; empty is torch_tpu in $XDG_CACHE_HOME or ~/.cache. Used "
       "only "
       "if it belongs to the user or root and nobody else can write to it."},
      {"TORCH_TPU_CACHE_BYTES", "int", "4294967296", "",
       "Bytes the folder may hold; the programs that were not used for longest go first. 0 means "
       "no "
       "limit."},
      {"TORCH_TPU_SHARED_CACHE_DIR", "string", "", "",
       "A second such folder that is only read, for programs that many users or machines share."},
      {"TORCH_TPU_MAX_PROGRAMS", "int", "16384", "",
       "Compiled programs one process holds; those that were not used for longest go first. 0 "
       "means "
       "no limit."},
      {"TORCH_TPU_LOG_COMPILES", "bool", "0", "0|1",
       "Print a line for every program that is compiled or loaded: op, shapes, what differs from "
       "the "
       "nearest earlier one, seconds, line of code. TORCH_LOGS=+torch_tpu does the same."},
      {"TORCH_TPU_RECOMPILE_WARNING", "int", "32", "",
       "Warn when one line of code compiles more programs than this for one op; 0 never warns."},
      {"TORCH_TPU_DUMP_PROGRAMS", "string", "", "",
       "Folder to write the StableHLO text of every program to, compiled or loaded."},
      {"TORCH_TPU_GROWING_SHAPES", "int", "3", "",
       "When one call has come with this many sizes of a dimension, one program serves many sizes: "
       "arrays are padded and the real size is an operand. 0 compiles for each size."},
      {"TORCH_TPU_GROWING_MEMORY", "int", "200", "",
       "The most that a padded array may take, in percent of what its elements take; at least "
       "101."},
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
    s.fused_calls = Int("TORCH_TPU_FUSED_CALLS");
    s.fused_bytes = Int("TORCH_TPU_FUSED_BYTES");
    s.check_indices = Bool("TORCH_TPU_CHECK_INDICES");
    s.check_collectives = Bool("TORCH_TPU_CHECK_COLLECTIVES");
    s.fallback = Text("TORCH_TPU_FALLBACK");
    s.memory_limit = Int("TORCH_TPU_MEMORY_LIMIT");
    s.fast_math = Bool("TORCH_TPU_FAST_MATH");
    s.disk_cache = Bool("TORCH_TPU_DISK_CACHE");
    s.cache_dir = Text("TORCH_TPU_CACHE_DIR");
    s.cache_bytes = Int("TORCH_TPU_CACHE_BYTES");
    s.shared_cache_dir = Text("TORCH_TPU_SHARED_CACHE_DIR");
    s.max_programs = Int("TORCH_TPU_MAX_PROGRAMS");
    s.log_compiles = Bool("TORCH_TPU_LOG_COMPILES");
    s.recompile_warning = Int("TORCH_TPU_RECOMPILE_WARNING");
    s.dump_programs = Text("TORCH_TPU_DUMP_PROGRAMS");
    s.growing_shapes = Int("TORCH_TPU_GROWING_SHAPES");
    s.growing_memory = Int("TORCH_TPU_GROWING_MEMORY");
    TORCH_CHECK_VALUE(s.growing_memory > 100,
                      "TORCH_TPU_GROWING_MEMORY: expected at least 101, got ", s.growing_memory);
    s.quiet = Bool("TORCH_TPU_QUIET");
    return s;
  }();
  return settings;
}

}  // namespace torch_tpu
