// Shared libraries for tests of loading. FAKE_MAJOR is the API version they claim; without it the
// library is no plugin at all.
#include "pjrt_c_api.h"

#ifdef FAKE_MAJOR
namespace {
int initialize_calls = 0;
}  // namespace

extern "C" __attribute__((visibility("default"))) int FakeInitializeCalls() {
  return initialize_calls;
}

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api table = [] {
    PJRT_Api t{};
    t.struct_size = PJRT_Api_STRUCT_SIZE;
    t.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
    t.pjrt_api_version.major_version = FAKE_MAJOR;
    t.pjrt_api_version.minor_version = 5;
    t.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args*) {};
    t.PJRT_Error_Message = [](PJRT_Error_Message_Args*) {};
    t.PJRT_Error_GetCode = [](PJRT_Error_GetCode_Args*) -> PJRT_Error* { return nullptr; };
    t.PJRT_Plugin_Initialize = [](PJRT_Plugin_Initialize_Args*) -> PJRT_Error* {
      ++initialize_calls;
      return nullptr;
    };
    return t;
  }();
  return &table;
}
#else
extern "C" __attribute__((visibility("default"))) int NotAPlugin() { return 0; }
#endif
