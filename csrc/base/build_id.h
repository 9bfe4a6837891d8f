// What tells one build of this library from another.
#pragma once

#include <string>

namespace torch_tpu {

// The linker's build id of the library or program this code lies in, a hash of its contents, in
// hex; empty where it was linked without one.
const std::string& BuildId();

}  // namespace torch_tpu
