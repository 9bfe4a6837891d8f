// A program that can be launched.
#pragma once

#include <memory>

#include "exec/program.h"
#include "pjrt/executable.h"

namespace torch_tpu::exec {

// Of a program for many sizes: dims of the arrays that it takes and gives, parameter by parameter
// and output by output.
struct Padding {
  std::vector<Dims> inputs, outputs;
};

struct CompiledProgram {
  LoweredProgram program;  // without its text
  // The program's name, valid as long as the process: buffers and checks outlive their program.
  const char* producer = "";
  std::shared_ptr<const pjrt::Executable> executable;
  // Null: its arrays have the dims of their types. Else the executable is that of many programs and
  // takes `size` as its last argument.
  std::shared_ptr<const Padding> padding;
  int64_t size = 0;
};

}  // namespace torch_tpu::exec
