// Names that live as long as the process.
#pragma once

#include <string>

namespace torch_tpu {

// The same pointer for equal names. For names of which there are few.
const char* Intern(const std::string& name);

}  // namespace torch_tpu
