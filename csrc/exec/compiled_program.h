// A program that can be launched.
#pragma once

#include <memory>

#include "exec/program.h"
#include "pjrt/executable.h"

namespace torch_tpu::exec {

struct CompiledProgram {
  LoweredProgram program;  // without its text
  // The program's name, valid as long as the process: buffers and checks outlive their program.
  const char* producer = "";
  std::unique_ptr<pjrt::Executable> executable;
};

}  // namespace torch_tpu::exec
