// Every environment setting of the project, read once. The table in settings.cc is the only place
// that names them; docs/settings.md is generated from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torch_tpu {

struct Settings {
  std::string platform;          // TORCH_TPU_PLATFORM
  std::string plugin_path;       // TORCH_TPU_PJRT_PLUGIN
  int64_t num_devices;           // TORCH_TPU_NUM_DEVICES
  std::string eager_mode;        // TORCH_TPU_EAGER_MODE, TORCH_TPU_LAUNCH_BLOCKING
  int64_t fused_calls;           // TORCH_TPU_FUSED_CALLS
  int64_t fused_bytes;           // TORCH_TPU_FUSED_BYTES
  bool check_indices;            // TORCH_TPU_CHECK_INDICES
  bool check_collectives;        // TORCH_TPU_CHECK_COLLECTIVES
  std::string fallback;          // TORCH_TPU_FALLBACK
  int64_t memory_limit;          // TORCH_TPU_MEMORY_LIMIT
  bool fast_math;                // TORCH_TPU_FAST_MATH
  bool disk_cache;               // TORCH_TPU_DISK_CACHE
  std::string cache_dir;         // TORCH_TPU_CACHE_DIR
  int64_t cache_bytes;           // TORCH_TPU_CACHE_BYTES
  std::string shared_cache_dir;  // TORCH_TPU_SHARED_CACHE_DIR
  int64_t max_programs;          // TORCH_TPU_MAX_PROGRAMS
  bool log_compiles;             // TORCH_TPU_LOG_COMPILES
  int64_t recompile_warning;     // TORCH_TPU_RECOMPILE_WARNING
  std::string dump_programs;     // TORCH_TPU_DUMP_PROGRAMS
  int64_t growing_shapes;        // TORCH_TPU_GROWING_SHAPES
  int64_t growing_memory;        // TORCH_TPU_GROWING_MEMORY
  bool quiet;                    // TORCH_TPU_QUIET
};

struct SettingRow {
  const char* name;           // environment variable
  const char* type;           // "string" | "int" | "bool"
  const char* default_value;  // as text
  const char* choices;        // "a|b|c", empty when free
  const char* doc;
};

const std::vector<SettingRow>& SettingRows();

// Reads the environment at the first call. ValueError naming the variable, what it accepts and what
// it got when a value does not fit.
const Settings& GetSettings();

}  // namespace torch_tpu
