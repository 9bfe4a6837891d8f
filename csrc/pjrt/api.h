// A loaded plugin, and the one door through which all calls to it go.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "pjrt/error.h"
#include "pjrt/fork_guard.h"
#include "pjrt/named_value.h"
#include "pjrt_c_api.h"

namespace torch_tpu::pjrt {

// A cheap value. Plugins stay loaded until the process ends, so it never dangles.
class Api {
 public:
  // Loads the plugin at `path`. A plugin is initialized once per process, however often and by
  // whatever path it is loaded. Throws c10::Error where the file is missing, is not a plugin, or
  // speaks another major version.
  static Api Load(const std::string& path);

  // Takes a table that is already in memory, checks its version and initializes it. `path` only
  // serves messages and the client's identity.
  static Api FromTable(const PJRT_Api* table, std::string path = "");

  const PJRT_Api* table() const { return table_; }
  const std::string& path() const { return *path_; }
  int major_version() const { return table_->pjrt_api_version.major_version; }
  int minor_version() const { return table_->pjrt_api_version.minor_version; }

  // E.g. xla_version, stablehlo_current_version. Empty where the plugin offers none.
  NamedValues Attributes() const;

  // The first extension of this type in the plugin's chain, or nullptr.
  const PJRT_Extension_Base* FindExtension(PJRT_Extension_Type type) const;

 private:
  Api(const PJRT_Api* table, std::shared_ptr<const std::string> path)
      : table_(table), path_(std::move(path)) {}

  const PJRT_Api* table_;
  std::shared_ptr<const std::string> path_;
};

namespace internal {

[[noreturn]] void ThrowNotOffered(const char* function);
// For destructors: destroys `error` and logs it once per function.
void LogError(const PJRT_Api* api, const char* function, PJRT_Error* error) noexcept;

// A plugin older than the header has a shorter table; slots past its end must not be read.
template <auto kSlot>
bool Offers(const PJRT_Api* api, size_t slot_end) {
  return slot_end <= api->struct_size && api->*kSlot != nullptr;
}

template <auto kSlot, class Args>
void Call(const PJRT_Api* api, const char* function, size_t slot_end, Args& args) {
  CheckNotForked();
  if (!Offers<kSlot>(api, slot_end)) [[unlikely]]
    ThrowNotOffered(function);
  if constexpr (std::is_void_v<decltype((api->*kSlot)(&args))>) {
    (api->*kSlot)(&args);
  } else if (PJRT_Error* error = (api->*kSlot)(&args)) [[unlikely]] {
    throw TakeError(api, function, error);
  }
}

template <auto kSlot, class Args>
void CallNoThrow(const PJRT_Api* api, const char* function, size_t slot_end, Args& args) noexcept {
  if (InForkedChild() || !Offers<kSlot>(api, slot_end)) [[unlikely]]
    return;
  if constexpr (std::is_void_v<decltype((api->*kSlot)(&args))>) {
    (api->*kSlot)(&args);
  } else if (PJRT_Error* error = (api->*kSlot)(&args)) [[unlikely]] {
    LogError(api, function, error);
  }
}

}  // namespace internal
}  // namespace torch_tpu::pjrt

// A macro since C++ cannot get from a type to its PJRT_*_STRUCT_SIZE, nor from a slot to its name.
#define PJRT_DOOR_(call, api, Name, ...)                                                          \
  [&] {                                                                                           \
    PJRT_##Name##_Args pjrt_args_{.struct_size =                                                  \
                                      PJRT_##Name##_Args_STRUCT_SIZE __VA_OPT__(, ) __VA_ARGS__}; \
    ::torch_tpu::pjrt::internal::call<&PJRT_Api::PJRT_##Name>(                                    \
        (api), "PJRT_" #Name, offsetof(PJRT_Api, PJRT_##Name) + sizeof(void*), pjrt_args_);       \
    return pjrt_args_;                                                                            \
  }()

// Fills struct_size, calls, throws pjrt::Error, returns the args:
//   auto got = PJRT_CALL(table, Client_PlatformName, .client = client);
#define PJRT_CALL(api, Name, ...) PJRT_DOOR_(Call, api, Name __VA_OPT__(, ) __VA_ARGS__)
// The same for destructors: never throws, does nothing in a forked child.
#define PJRT_CALL_NO_THROW(api, Name, ...) \
  PJRT_DOOR_(CallNoThrow, api, Name __VA_OPT__(, ) __VA_ARGS__)
// Whether the plugin has the function at all.
#define PJRT_OFFERS(api, Name)                                 \
  ::torch_tpu::pjrt::internal::Offers<&PJRT_Api::PJRT_##Name>( \
      (api), offsetof(PJRT_Api, PJRT_##Name) + sizeof(void*))
