// The fake plugin as a shared library, for rooms that load their plugin by path.
#pragma once

#include "fake_pjrt/fake_pjrt.h"

namespace torch_tpu::fake_pjrt {

// The one behind GetPjrtApi.
FakePlugin& ThePlugin();

}  // namespace torch_tpu::fake_pjrt
