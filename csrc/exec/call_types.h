// What single calls return, known without compiling them: for calls that are written down instead
// of being launched.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "exec/program.h"

namespace torch_tpu::exec {

struct CallTypes {
  std::string bytes;
  LoweredProgram program;     // without its text
  const char* producer = "";  // the program's name, valid as long as the process
  std::string first_site;     // "file:line" of the user's code where it was first called
};

// Lowers at the first call with these bytes; the lowering's errors pass through.
std::shared_ptr<const CallTypes> TypesOf(std::string_view bytes);

}  // namespace torch_tpu::exec
