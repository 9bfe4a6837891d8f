// What a program is, in words: for people who ask why it was compiled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torch_tpu::exec {

struct ProgramDescription {
  std::string op;    // of its first call
  std::string text;  // "aten::add.Tensor(float32[2, 3], float32[3], 1)"
  // Everything that is part of the key, in order: where ("argument 0") and what ("float32[2, 3]").
  struct Item {
    std::string place, what;
  };
  std::vector<Item> items;
};

ProgramDescription Describe(std::string_view program_bytes);

}  // namespace torch_tpu::exec
