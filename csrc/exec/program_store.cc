#include "exec/program_store.h"

#include <c10/util/hash.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/build_id.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/settings.h"
#include "exec/describe.h"
#include "exec/stats.h"
#include "pjrt/error.h"

namespace torch_tpu::exec {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigits = 40;

std::unique_ptr<DiskCache> Open(const std::string& folder, DiskCache::Mode mode) {
  try {
    return std::make_unique<DiskCache>(folder, mode, GetSettings().cache_bytes);
  } catch (const c10::Error& error) {
    Log(fmt::format("no programs are kept in or loaded from {}", error.what_without_backtrace()));
    return nullptr;
  }
}

std::unique_ptr<DiskCache> OpenOwn() {
  if (!GetSettings().disk_cache) return nullptr;
  std::string folder;
  try {
    folder = CacheFolder();
  } catch (const c10::Error& error) {
    Log(error.what_without_backtrace());
    return nullptr;
  }
  return Open(folder, DiskCache::Mode::kReadWrite);
}

std::unique_ptr<DiskCache> OpenShared() {
  const Settings& settings = GetSettings();
  if (!settings.disk_cache || settings.shared_cache_dir.empty()) return nullptr;
  return Open(settings.shared_cache_dir, DiskCache::Mode::kReadOnly);
}

// Of parts that may hold anything: each is preceded by its length.
std::string Digest(std::initializer_list<std::string_view> parts) {
  std::string bytes;
  for (const std::string_view part : parts) {
    bytes += fmt::format("{}:", part.size());
    bytes += part;
  }
  return c10::sha1(bytes).str();
}

// What a lowering depends on besides the program's bytes.
std::string ProgramName(std::string_view key, std::string_view identity) {
  const Settings& settings = GetSettings();
  const std::string options = fmt::format("{}{}", settings.check_indices, settings.fast_math);
  return Digest({BuildId(), identity, options, key}) + std::string(kProgramSuffix);
}

}  // namespace

bool IsBlobName(std::string_view name) {
  if (name.size() < kDigits) return false;
  const std::string_view digits = name.substr(0, kDigits), suffix = name.substr(kDigits);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         (suffix == kProgramSuffix || suffix == kExecutableSuffix);
}

std::string CacheFolder() {
  if (!GetSettings().cache_dir.empty()) return GetSettings().cache_dir;
  // A relative path is to be ignored, says the XDG specification.
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "torch_tpu";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    const passwd* user = ::getpwuid(::geteuid());
    home = user == nullptr ? nullptr : user->pw_dir;
  }
  TORCH_CHECK(home != nullptr && *home == '/',
              "expected a home folder to keep compiled programs in, got none. Set "
              "TORCH_TPU_CACHE_DIR");
  return fs::path(home) / ".cache" / "torch_tpu";
}

ProgramStore& ProgramStore::Get() {
  static ProgramStore& store = *new ProgramStore();
  return store;
}

ProgramStore::ProgramStore() : own_(OpenOwn()), shared_(OpenShared()) {
  if (own_ == nullptr && shared_ == nullptr) return;
  try {
    identity_ = Runtime::Get().client().Identity();
  } catch (const pjrt::Error& error) {
    pjrt::ThrowAsTorchError(error, "tpu");
  }
}

std::optional<std::string> ProgramStore::Read(const std::string& name, Origin& origin) {
  if (own_ != nullptr) {
    if (auto blob = own_->Read(name)) {
      origin = Origin::kDisk;
      return blob;
    }
  }
  if (shared_ != nullptr) {
    if (auto blob = shared_->Read(name)) {
      origin = Origin::kSharedDisk;
      return blob;
    }
  }
  return std::nullopt;
}

void ProgramStore::Remove(const std::string& name, std::string_view problem) {
  ++GetStats().disk_bad_files;
  Log(fmt::format("{} is not used: {}", name, problem));
  if (own_ != nullptr) own_->Remove(name);
}

std::unique_ptr<CompiledProgram> ProgramStore::Load(std::string_view key, Origin& origin) {
  if ((own_ == nullptr && shared_ == nullptr) || BuildId().empty()) return nullptr;
  const std::string name = ProgramName(key, identity_);
  const auto bytes = Read(name, origin);
  if (!bytes) return nullptr;
  auto record = ParseProgramRecord(*bytes);
  if (!record || record->key != key) {
    Remove(name, "it is no record of this program");
    return nullptr;
  }
  auto stored = std::make_unique<CompiledProgram>();
  stored->executable = LoadExecutable(record->executable, record->program.outputs.size(), origin);
  if (stored->executable == nullptr) return nullptr;
  stored->program = std::move(record->program);
  stored->producer = Intern(stored->program.name);
  return stored;
}

void ProgramStore::SaveProgram(std::string_view key, const LoweredProgram& program,
                               const std::string& executable, double compile_seconds) {
  if (own_ == nullptr || BuildId().empty()) return;
  LoweredProgram without_text = program;
  without_text.text = {};
  own_->Write(ProgramName(key, identity_), Serialize({.key = std::string(key),
                                                      .executable = executable,
                                                      .description = Describe(key).text,
                                                      .compile_seconds = compile_seconds,
                                                      .program = std::move(without_text)}));
}

std::string ProgramStore::ExecutableName(std::string_view text, std::string_view options) const {
  return Digest({identity_, options, text}) + std::string(kExecutableSuffix);
}

std::unique_ptr<pjrt::Executable> ProgramStore::LoadExecutable(const std::string& name,
                                                               size_t num_outputs, Origin& origin) {
  const auto bytes = Read(name, origin);
  if (!bytes) return nullptr;
  try {
    auto executable =
        std::make_unique<pjrt::Executable>(Runtime::Get().client().Deserialize(*bytes));
    if (executable->num_outputs() == num_outputs) {
      ++GetStats().disk_hits;
      return executable;
    }
    Remove(name, fmt::format("expected an executable of {} outputs, got {}", num_outputs,
                             executable->num_outputs()));
  } catch (const pjrt::Error& error) {
    Remove(name, error.what());
  }
  return nullptr;
}

void ProgramStore::SaveExecutable(const std::string& name, const pjrt::Executable& executable) {
  if (own_ == nullptr || !can_serialize_) return;
  try {
    own_->Write(name, executable.Serialize());
  } catch (const pjrt::Error& error) {
    if (error.code() == PJRT_Error_Code_UNIMPLEMENTED) can_serialize_ = false;
    Log(fmt::format("a program is not kept on disk: {}", error.what()));
  }
}

NameLock ProgramStore::Lock(const std::string& name) {
  return own_ == nullptr ? NameLock() : own_->Lock(name);
}

}  // namespace torch_tpu::exec
