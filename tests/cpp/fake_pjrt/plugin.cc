#include "fake_pjrt/plugin.h"

namespace torch_tpu::fake_pjrt {

FakePlugin& ThePlugin() {
  static FakePlugin& plugin = *new FakePlugin();  // the client that uses it is never destroyed
  return plugin;
}

}  // namespace torch_tpu::fake_pjrt

extern "C" const PJRT_Api* GetPjrtApi() { return torch_tpu::fake_pjrt::ThePlugin().table(); }
