#include "pjrt/api.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <dlfcn.h>

#include <filesystem>
#include <mutex>
#include <set>

namespace torch_tpu::pjrt {
namespace {

void CheckVersion(const PJRT_Api* table, const std::string& path) {
  const std::string name = path.empty() ? "PJRT plugin" : "PJRT plugin " + path;
  TORCH_CHECK(table != nullptr, name, ": expected a function table, got none from GetPjrtApi");
  const auto& version = table->pjrt_api_version;
  TORCH_CHECK(version.major_version == PJRT_API_MAJOR, name, ": expected PJRT API version ",
              PJRT_API_MAJOR, ".x (built with ", PJRT_API_MAJOR, ".", PJRT_API_MINOR, "), got ",
              version.major_version, ".", version.minor_version,
              ". Install a plugin that speaks this version");
  // The door needs these three to report anything.
  constexpr size_t kEnd = offsetof(PJRT_Api, PJRT_Error_GetCode) + sizeof(void*);
  TORCH_CHECK(table->struct_size >= kEnd && table->PJRT_Error_Destroy != nullptr &&
                  table->PJRT_Error_Message != nullptr && table->PJRT_Error_GetCode != nullptr,
              name, ": expected a table with the error functions, got one of ", table->struct_size,
              " bytes");
}

void Initialize(const PJRT_Api* table) { PJRT_CALL(table, Plugin_Initialize); }

}  // namespace

Api Api::Load(const std::string& path) {
  CheckNotForked();
  std::error_code status;
  TORCH_CHECK(std::filesystem::exists(path, status),
              "PJRT plugin: expected a shared library, got no file at ", path);
  // Never closed again, except where it turns out to be something else: a plugin has threads.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* problem = dlerror();
    TORCH_CHECK(false, "PJRT plugin ", path, ": expected a loadable shared library, got: ",
                problem != nullptr ? problem : "no reason given");
  }
  void* entry = dlsym(library, "GetPjrtApi");
  if (entry == nullptr) {
    dlclose(library);
    TORCH_CHECK(false, "PJRT plugin ", path,
                ": expected a library that exports GetPjrtApi, got one without it");
  }
  const PJRT_Api* table = reinterpret_cast<const PJRT_Api* (*)()>(entry)();
  CheckVersion(table, path);

  static std::mutex mutex;
  static std::set<const PJRT_Api*> initialized;
  {
    const std::lock_guard lock(mutex);
    if (!initialized.contains(table)) {
      Initialize(table);
      initialized.insert(table);
    }
  }
  return Api(table, std::make_shared<const std::string>(path));
}

Api Api::FromTable(const PJRT_Api* table, std::string path) {
  CheckVersion(table, path);
  Initialize(table);
  return Api(table, std::make_shared<const std::string>(std::move(path)));
}

NamedValues Api::Attributes() const {
  if (!PJRT_OFFERS(table_, Plugin_Attributes)) return {};
  const auto got = PJRT_CALL(table_, Plugin_Attributes);
  return ReadNamedValues(got.attributes, got.num_attributes);
}

const PJRT_Extension_Base* Api::FindExtension(PJRT_Extension_Type type) const {
  for (const PJRT_Extension_Base* e = table_->extension_start; e != nullptr; e = e->next) {
    if (e->type == type) return e;
  }
  return nullptr;
}

namespace internal {

void ThrowNotOffered(const char* function) {
  throw Error(PJRT_Error_Code_UNIMPLEMENTED, function, "this plugin does not offer it");
}

void LogError(const PJRT_Api* api, const char* function, PJRT_Error* error) noexcept {
  try {
    const Error taken = TakeError(api, function, error);
    static std::mutex mutex;
    static std::set<std::string> seen;
    const std::lock_guard lock(mutex);
    if (seen.insert(function).second) LOG(WARNING) << taken.what();
  } catch (...) {
    // Out of memory while reporting from a destructor: nothing is left to do.
  }
}

}  // namespace internal
}  // namespace torch_tpu::pjrt
