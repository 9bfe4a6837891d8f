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
#include "exec/growing_shapes.h"
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

std::shared_ptr<const pjrt::Executable> ExecutableCache::GetExecutable(
    const LoweredProgram& program, Origin& origin, double& seconds) {
  ProgramStore& store = ProgramStore::Get();
  pjrt::Client& client = Runtime::Get().client();
  if (!GetSettings().dump_programs.empty()) Dump(program);
  const std::string options = CompileOptionsFor(client, program);
  const std::string name = store.ExecutableName(program.text, options);
  const size_t num_outputs = program.outputs.size();
  // There when only the key is new: another build of ours, or another program of the same text.
  std::shared_ptr<const pjrt::Executable> executable =
      store.LoadExecutable(name, num_outputs, origin);
  if (executable != nullptr) return executable;
  const NameLock lock = store.Lock(name);
  executable = store.LoadExecutable(name, num_outputs, origin);
  if (executable != nullptr) return executable;
  const auto start = std::chrono::steady_clock::now();
  try {
    executable = std::make_shared<pjrt::Executable>(client.Compile(program.text, options));
  } catch (const pjrt::Error& error) {
    pjrt::ThrowAsTorchError(error, program.name);
  }
  TORCH_INTERNAL_ASSERT(executable->num_outputs() == num_outputs);
  seconds = SecondsSince(start);
  origin = Origin::kCompiled;
  ++GetStats().compiles;
  GetStats().compile_microseconds += static_cast<int64_t>(seconds * 1e6);
  store.SaveExecutable(name, *executable);
  return executable;
}

std::shared_ptr<const CompiledProgram> ExecutableCache::Make(std::string_view key, Origin& origin) {
  if (auto padded = GrowingShapes::Get().FindOrCompile(key, origin)) return padded;
  ProgramStore& store = ProgramStore::Get();
  if (GetSettings().dump_programs.empty()) {  // what is loaded is dumped, too
    if (auto stored = store.Load(key, origin)) return stored;
  }
  auto made = std::make_shared<CompiledProgram>();
  made->program = Lower(key, target());
  made->producer = Intern(made->program.name);
  double seconds = 0;
  made->executable = GetExecutable(made->program, origin, seconds);
  const std::string options = CompileOptionsFor(Runtime::Get().client(), made->program);
  store.SaveProgram(key, made->program, store.ExecutableName(made->program.text, options), seconds);
  made->program.text = {};
  return made;
}

// An exact program is there; its place goes to one for many sizes, where there is one.
std::shared_ptr<const CompiledProgram> ExecutableCache::FindPadded(
    Entry& exact, std::optional<std::string> call_site) {
  if (!exact.may_have_padded.exchange(false)) return exact.compiled;
  if (!call_site) call_site = FindCallSite();
  const auto start = std::chrono::steady_clock::now();
  const int64_t before = GetStats().padded_programs;
  Origin origin = Origin::kCompiled;
  const auto padded = GrowingShapes::Get().FindOrCompile(exact.key, origin);
  if (padded == nullptr) return exact.compiled;
  if (GetStats().padded_programs != before) {
    CompileLog::Get().Add(exact.key, *std::move(call_site), SecondsSince(start), origin,
                          /*for_many_sizes=*/true);
  }
  const std::lock_guard lock(mutex_);
  for (auto [it, end] = entries_.equal_range(exact.hash); it != end; ++it) {
    if (it->second.get() != &exact) continue;
    auto entry = std::make_shared<Entry>();
    entry->key = exact.key;
    entry->hash = exact.hash;
    entry->last_use = clock_.load();
    entry->compiled = padded;
    exact.is_kept = false;
    it->second = std::move(entry);
    break;
  }
  return padded;
}

std::shared_ptr<const CompiledProgram> ExecutableCache::Find(std::string_view key, bool padded,
                                                             std::optional<std::string> call_site) {
  const uint64_t hash = HashBytes(key);
  std::shared_ptr<Entry>& recent = Recent::OfThread().Slot(hash);
  if (recent != nullptr && recent->hash == hash && recent->key == key && recent->is_kept)
      [[likely]] {
    recent->last_use.store(clock_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    GetStats().cache_hits.fetch_add(1, std::memory_order_relaxed);
    if (padded && recent->compiled->padding == nullptr) [[unlikely]] {
      const std::shared_ptr<Entry> exact = recent;
      return FindPadded(*exact, std::move(call_site));
    }
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
      lock.unlock();
      return padded && entry->compiled->padding == nullptr
                 ? FindPadded(*entry, std::move(call_site))
                 : entry->compiled;
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
    if (auto found = GrowingShapes::Get().Find(key)) {
      entry = std::make_shared<Entry>();
      entry->key = std::string(key);
      entry->hash = hash;
      entry->compiled = found;
      lock.lock();
      entry->last_use = ++clock_;
      entries_.emplace(hash, entry);
      recent = entry;
      if (limit_ > 0 && entries_.size() > limit_) DropOldest();
      return found;
    }
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
  CompileLog::Get().Add(key, *std::move(call_site), SecondsSince(start), origin,
                        /*for_many_sizes=*/made->padding != nullptr);
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
