// Registers every row of the table with PyTorch's dispatcher, and the in-place and out= forms that
// follow from its schema.
#pragma once

#include <string>
#include <vector>

namespace torch_tpu::eager {

// Once per process; after every static registration of this library has run.
void RegisterRows();

struct RegisteredOp {
  std::string op;   // "aten::add_.Tensor"
  std::string row;  // "aten::add.Tensor"
};
// What RegisterRows registered, for docs/ops.md.
const std::vector<RegisteredOp>& RegisteredOps();

}  // namespace torch_tpu::eager
