#include "exec/executable_cache.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/settings.h"
#include "exec/stats.h"
#include "pjrt/compile_options.h"
#include "pjrt/error.h"

namespace torch_tpu::exec {
namespace {

// Options that make XLA keep PyTorch's values.
std::string CompileOptionsFor(const pjrt::Client& client, const LoweredProgram& program) {
  pjrt::CompileOptions options;
  if (!GetSettings().fast_math) {
    if (client.platform_name() == "cpu") {
      options.overrides.emplace_back("xla_cpu_enable_fast_min_max", false);
      options.overrides.emplace_back("xla_cpu_enable_fast_math", false);
    }
  }
  if (program.use_xnnpack) {
    // Products as exact as XLA's own and up to three times as fast. Let in by this mode it also
    // takes chains of other operations and drops NaN in them: for programs of products only.
    options.overrides.emplace_back("xla_cpu_use_xnnpack", true);
    options.overrides.emplace_back("xla_cpu_experimental_xnn_graph_fusion_mode",
                                   "XNN_GRAPH_FUSION_MODE_BYPASS_COST_MODEL");
  }
  options.overrides.emplace_back("xla_allow_excess_precision",
                                 GetSettings().fast_math || program.excess_precision);
  return pjrt::Serialize(options);
}

void Dump(const LoweredProgram& program) {
  static std::atomic<int> count{0};
  std::string name = program.name;
  for (char& c : name) c = c == ':' || c == '/' ? '_' : c;
  const std::filesystem::path folder = GetSettings().dump_programs;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / fmt::format("{:06d}_{}.mlir", count++, name)) << program.text;
}

}  // namespace

ExecutableCache& ExecutableCache::Get() {
  static ExecutableCache& cache = *new ExecutableCache();
  return cache;
}

std::unique_ptr<CompiledProgram> ExecutableCache::Compile(std::string_view key) {
  auto compiled = std::make_unique<CompiledProgram>();
  pjrt::Client& client = Runtime::Get().client();
  compiled->program =
      Lower(key, client.platform_name() == "cpu" ? hlo::Target::kCpu : hlo::Target::kTpu);
  if (!GetSettings().dump_programs.empty()) Dump(compiled->program);
  const std::string options = CompileOptionsFor(client, compiled->program);
  const auto start = std::chrono::steady_clock::now();
  try {
    compiled->executable =
        std::make_unique<pjrt::Executable>(client.Compile(compiled->program.text, options));
  } catch (const pjrt::Error& error) {
    pjrt::ThrowAsTorchError(error, compiled->program.name);
  }
  TORCH_INTERNAL_ASSERT(compiled->executable->num_outputs() == compiled->program.outputs.size());
  ++GetStats().compiles;
  GetStats().compile_microseconds += std::chrono::duration_cast<std::chrono::microseconds>(
                                         std::chrono::steady_clock::now() - start)
                                         .count();
  return compiled;
}

const CompiledProgram& ExecutableCache::Find(std::string_view key) {
  const uint64_t hash = HashBytes(key);
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock lock(mutex_);
    for (auto [it, end] = entries_.equal_range(hash); it != end; ++it) {
      if (it->second->key != key) continue;
      entry = it->second;
      if (entry->compiled == nullptr) {
        changed_.wait(lock,
                      [&] { return entry->compiled != nullptr || entry->failure != nullptr; });
        if (entry->failure != nullptr) std::rethrow_exception(entry->failure);
      }
      GetStats().cache_hits.fetch_add(1, std::memory_order_relaxed);
      return *entry->compiled;
    }
    entry = std::make_shared<Entry>();
    entry->key = std::string(key);
    entries_.emplace(hash, entry);
  }
  std::unique_ptr<CompiledProgram> compiled;
  try {
    compiled = Compile(entry->key);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    entry->failure = std::current_exception();
    for (auto [it, end] = entries_.equal_range(hash); it != end; ++it) {
      if (it->second == entry) {
        entries_.erase(it);
        break;
      }
    }
    changed_.notify_all();
    throw;
  }
  const std::lock_guard lock(mutex_);
  entry->compiled = std::move(compiled);
  changed_.notify_all();
  return *entry->compiled;
}

size_t ExecutableCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void ExecutableCache::Clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace torch_tpu::exec
