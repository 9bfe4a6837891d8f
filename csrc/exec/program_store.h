// Compiled programs on disk, in two kinds of blobs: an executable, named by all that it was
// compiled from, and the record of a program, which says how to launch one and is named by the
// program's own bytes. A new build of this library makes new records at the cost of a lowering
// each; executables whose text is still the same serve on.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "exec/compile_log.h"
#include "exec/compiled_program.h"
#include "exec/disk_cache.h"
#include "exec/program_record.h"

namespace torch_tpu::exec {

inline constexpr std::string_view kProgramSuffix = ".program";
inline constexpr std::string_view kExecutableSuffix = ".executable";
// Whether a blob can have this name: 40 hexadecimal digits and one of the suffixes.
bool IsBlobName(std::string_view name);

// The user's folder as the settings have it; c10::Error where there is no home folder either.
std::string CacheFolder();

class ProgramStore {
 public:
  // With the folders of the settings. One that cannot be used is told once and left out.
  static ProgramStore& Get();

  // A program that needs no lowering, or nullptr.
  std::unique_ptr<CompiledProgram> Load(std::string_view key, Origin& origin);
  void SaveProgram(std::string_view key, const LoweredProgram& program,
                   const std::string& executable, double compile_seconds);

  std::string ExecutableName(std::string_view text, std::string_view options) const;
  std::unique_ptr<pjrt::Executable> LoadExecutable(const std::string& name, size_t num_outputs,
                                                   Origin& origin);
  void SaveExecutable(const std::string& name, const pjrt::Executable& executable);

  // For who is about to compile; see DiskCache::Lock.
  NameLock Lock(const std::string& name);

 private:
  ProgramStore();
  std::optional<std::string> Read(const std::string& name, Origin& origin);
  void Remove(const std::string& name, std::string_view problem);

  std::unique_ptr<DiskCache> own_, shared_;  // null: none
  std::string identity_;                     // of the plugin
  std::atomic<bool> can_serialize_{true};
};

}  // namespace torch_tpu::exec
