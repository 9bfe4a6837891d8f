// Programs that together use every method of the builder; golden/<name>.mlir holds the text of
// each.
#pragma once

#include <string>
#include <vector>

#include "hlo/builder.h"

namespace torch_tpu::hlo {

struct GoldenProgram {
  std::string name;
  Values (*build)(Builder&);  // what it returns are the results of the program
};

std::vector<GoldenProgram> ElementwisePrograms();
std::vector<GoldenProgram> MovementPrograms();
std::vector<GoldenProgram> StructuredPrograms();

}  // namespace torch_tpu::hlo
