// What the fake plugin understands of a program: the signature of its main function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pjrt_c_api.h"

namespace torch_tpu::fake_pjrt {

struct Shape {
  PJRT_Buffer_Type type;
  std::vector<int64_t> dims;
  size_t bytes() const;
};

struct Program {
  std::vector<bool> donated;
  std::vector<Shape> outputs;
  std::string text;
  std::string options;
};

// Throws std::runtime_error where there is no signature or an unknown type in it.
Program ParseProgram(const std::string& text);

}  // namespace torch_tpu::fake_pjrt
