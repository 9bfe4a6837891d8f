// What a launch needs to know of a program besides its executable, as bytes: with these and the
// executable a program is loaded with no lowering.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "exec/program.h"

namespace torch_tpu::exec {

struct ProgramRecord {
  std::string key;         // the program's bytes
  std::string executable;  // the name of its blob
  std::string description;
  double compile_seconds = 0;  // 0: compiled for another program of the same text
  LoweredProgram program;      // without its text
};

std::string Serialize(ProgramRecord record);
// nullopt where the bytes are no record.
std::optional<ProgramRecord> ParseProgramRecord(std::string_view bytes);

}  // namespace torch_tpu::exec
