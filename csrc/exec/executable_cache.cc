#include "exec/executable_cache.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/intern.h"
#include "base/settings.h"
#include "exec/program_store.h"
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

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

// What this thread used lately, found without a lock.
struct ExecutableCache::Recent {
  std::array<std::shared_ptr<Entry>, 256> slots;
  std::shared_ptr<Entry>& Slot(uint64_t hash) { return slots[hash % slots.size()]; }

  static Recent& OfThread() {
    static thread_local Recent recent;
    return recent;
  }
};

ExecutableCache::ExecutableCache() : limit_(GetSettings().max_programs) {}

ExecutableCache& ExecutableCache::Get() {
  static ExecutableCache& cache = *new ExecutableCache();
  return cache;
}

hlo::Target ExecutableCache::target() {
  const bool cpu = Runtime::Get().client().platform_name() == "cpu";
  return cpu ? hlo::Target::kCpu : hlo::Target::kTpu;
}

std::unique_ptr<CompiledProgram> ExecutableCache::Make(std::string_view key, Origin& origin) {
  ProgramStore& store = ProgramStore::Get();
  const bool dump = !GetSettings().dump_programs.empty();  // of what is loaded, too
  if (!dump) {
    if (auto stored = store.Load(key, origin)) return stored;
  }
  auto made = std::make_unique<CompiledProgram>();
  pjrt::Client& client = Runtime::Get().client();
  made->program = Lower(key, target());
  made->producer = Intern(made->program.name);
  if (dump) Dump(made->program);
  const std::string options = CompileOptionsFor(client, made->program);
  const std::string name = store.ExecutableName(made->program.text, options);
  const size_t num_outputs = made->program.outputs.size();
  // There when only the key is new: another build of ours, or another program of the same text.
  made->executable = store.LoadExecutable(name, num_outputs, origin);
  double seconds = 0;
  if (made->executable == nullptr) {
    const NameLock lock = store.Lock(name);
    made->executable = store.LoadExecutable(name, num_outputs, origin);
    if (made->executable == nullptr) {
      const auto start = std::chrono::steady_clock::now();
      try {
        made->executable =
            std::make_unique<pjrt::Executable>(client.Compile(made->program.text, options));
      } catch (const pjrt::Error& error) {
        pjrt::ThrowAsTorchError(error, made->program.name);
      }
      TORCH_INTERNAL_ASSERT(made->executable->num_outputs() == num_outputs);
      seconds = SecondsSince(start);
      origin = Origin::kCompiled;
      ++GetStats().compiles;
      GetStats().compile_microseconds += static_cast<int64_t>(seconds * 1e6);
      store.SaveExecutable(name, *made->executable);
    }
  }
  store.SaveProgram(key, made->program, name, seconds);
  made->program.text = {};
  return made;
}

std::shared_ptr<const CompiledProgram> ExecutableCache::Find(std::string_view key,
                                                             std::optional<std::string> call_site) {
  const uint64_t hash = HashBytes(key);
  std::shared_ptr<Entry>& recent = Recent::OfThread().Slot(hash);
  if (recent != nullptr && recent->hash == hash && recent->key == key && recent->is_kept)
      [[likely]] {
    recent->last_use.store(clock_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    GetStats().cache_hits.fetch_add(1, std::memory_order_relaxed);
    return recent->compiled;
  }
  std::shared_ptr<Entry> entry;
  for (bool missed = false;; missed = true) {
    std::unique_lock lock(mutex_);
    for (auto [it, end] = entries_.equal_range(hash); it != end; ++it) {
      if (it->second->key != key) continue;
      entry = it->second;
      if (entry->compiled == nullptr) {
        changed_.wait(lock,
                      [&] { return entry->compiled != nullptr || entry->failure != nullptr; });
        if (entry->failure != nullptr) std::rethrow_exception(entry->failure);
      }
      entry->last_use = clock_.load();
      GetStats().cache_hits.fetch_add(1, std::memory_order_relaxed);
      recent = entry;
      return entry->compiled;
    }
    if (missed) {
      entry = std::make_shared<Entry>();
      entry->key = std::string(key);
      entry->hash = hash;
      entries_.emplace(hash, entry);
      break;
    }
    // Takes the interpreter's lock, which a thread that waits for our entry may hold: so before
    // there is one.
    lock.unlock();
    if (!call_site) call_site = FindCallSite();
  }
  const auto start = std::chrono::steady_clock::now();
  Origin origin = Origin::kCompiled;
  std::shared_ptr<const CompiledProgram> made;
  try {
    made = Make(entry->key, origin);
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
  {
    const std::lock_guard lock(mutex_);
    entry->last_use = ++clock_;
    entry->compiled = made;
    changed_.notify_all();
    if (limit_ > 0 && entries_.size() > limit_) DropOldest();
  }
  CompileLog::Get().Add(key, *std::move(call_site), SecondsSince(start), origin);
  return made;
}

template <typename Condition>
void ExecutableCache::Drop(const Condition& condition) {
  std::erase_if(entries_, [&](const auto& item) {
    Entry& entry = *item.second;
    if (entry.compiled == nullptr || !condition(entry)) return false;
    entry.is_kept = false;
    return true;
  });
  Recent::OfThread().slots.fill(nullptr);
}

void ExecutableCache::DropOldest() {
  // Several at once, so that looking for them costs little each.
  const size_t goal = limit_ - limit_ / 16;
  std::vector<std::pair<uint64_t, const Entry*>> uses;
  for (const auto& [hash, entry] : entries_) {
    if (entry->compiled != nullptr) uses.emplace_back(entry->last_use, entry.get());
  }
  const size_t count = std::min(uses.size(), entries_.size() - goal);
  if (count == 0) return;
  std::nth_element(uses.begin(), uses.begin() + (count - 1), uses.end());
  Drop([last = uses[count - 1]](const Entry& entry) {
    return std::pair<uint64_t, const Entry*>(entry.last_use, &entry) <= last;
  });
}

size_t ExecutableCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void ExecutableCache::Clear() {
  const std::lock_guard lock(mutex_);
  Drop([](const Entry&) { return true; });
}

void ExecutableCache::SetLimit(size_t limit) {
  const std::lock_guard lock(mutex_);
  limit_ = limit;
  if (limit_ > 0 && entries_.size() > limit_) DropOldest();
}

}  // namespace torch_tpu::exec
