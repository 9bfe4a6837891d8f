// Lines for people on standard error, each written at once so that threads and processes do not
// tear each other's.
#pragma once

#include <string_view>

namespace torch_tpu {

// "torch_tpu: <line>"
void Log(std::string_view line);

}  // namespace torch_tpu
