// Compiled programs by key, compiled once however many threads ask.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "exec/program.h"
#include "pjrt/executable.h"

namespace torch_tpu::exec {

struct CompiledProgram {
  LoweredProgram program;
  std::unique_ptr<pjrt::Executable> executable;
};

class ExecutableCache {
 public:
  static ExecutableCache& Get();

  // The program for these bytes, lowered and compiled at the first call. Other threads that ask for
  // the same key wait; a failure is thrown to each of them and nothing is kept.
  const CompiledProgram& Find(std::string_view key);
  size_t size() const;
  // Forgets every program. Only where no launch is under way; for tests.
  void Clear();

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<CompiledProgram> compiled;
    std::exception_ptr failure;
  };
  static std::unique_ptr<CompiledProgram> Compile(std::string_view key);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_multimap<uint64_t, std::shared_ptr<Entry>> entries_;
};

}  // namespace torch_tpu::exec
