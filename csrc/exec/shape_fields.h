// Where sizes stand in a program's bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torch_tpu::exec {

// A program's bytes taken apart: every number that may follow a size (dims of base arrays, sizes
// and strides of views, int arguments), and the bytes without them.
struct ShapeFields {
  explicit ShapeFields(std::string_view program_bytes);

  // The same program with other numbers.
  std::string With(const std::vector<int64_t>& values) const;

  std::string rest;                 // with zeros in the numbers' places
  std::vector<uint32_t> positions;  // of each number, in bytes
  std::vector<int64_t> values;
};

}  // namespace torch_tpu::exec
