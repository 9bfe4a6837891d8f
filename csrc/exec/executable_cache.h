// Compiled programs by key, compiled once however many threads and processes ask.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "exec/compile_log.h"
#include "exec/compiled_program.h"

namespace torch_tpu::exec {

class ExecutableCache {
 public:
  static ExecutableCache& Get();

  // The program for these bytes, loaded from disk or lowered and compiled at the first call. Other
  // threads that ask for the same key wait; a failure is thrown to each of them and nothing is
  // kept. `padded`: some of its arrays are, so that a program for many sizes is better than an
  // exact one. `call_site`: for the compile log; asked of the interpreter where it is not given.
  std::shared_ptr<const CompiledProgram> Find(std::string_view key, bool padded = false,
                                              std::optional<std::string> call_site = {});
  // The executable of a lowered program, from disk or from the compiler.
  static std::shared_ptr<const pjrt::Executable> GetExecutable(const LoweredProgram& program,
                                                               Origin& origin, double& seconds);
  // What the process's plugin compiles for.
  static hlo::Target target();
  size_t size() const;
  // Forgets every program; those that are used stay alive.
  void Clear();
  // How many programs are kept at most (0: no limit), at first TORCH_TPU_MAX_PROGRAMS.
  void SetLimit(size_t limit);

 private:
  struct Entry {
    std::string key;
    uint64_t hash;
    std::atomic<uint64_t> last_use{0};  // in misses of the cache
    std::atomic<bool> is_kept{true};
    std::shared_ptr<const CompiledProgram> compiled;
    std::exception_ptr failure;
    std::atomic<bool> may_have_padded{true};  // another program, for many sizes
  };
  ExecutableCache();
  struct Recent;
  static std::shared_ptr<const CompiledProgram> Make(std::string_view key, Origin& origin);
  std::shared_ptr<const CompiledProgram> FindPadded(Entry& exact,
                                                    std::optional<std::string> call_site);
  void DropOldest();
  template <typename Condition>
  void Drop(const Condition& condition);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_multimap<uint64_t, std::shared_ptr<Entry>> entries_;
  std::atomic<uint64_t> clock_{0};
  size_t limit_;
};

}  // namespace torch_tpu::exec
