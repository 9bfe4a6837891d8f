// A program that copies an array into one of other dims: the first elements along each dimension
// stay, what is new is zero.
#pragma once

#include <string>
#include <string_view>

#include "exec/program.h"

namespace torch_tpu::exec {

inline constexpr const char* kResizeName = "tpu::resize";

// Its bytes, as ProgramWriter's are those of a call.
std::string ResizeKey(DType dtype, const Dims& from, const Dims& to);

struct ResizeView {
  explicit ResizeView(std::string_view bytes);
  static bool Is(std::string_view bytes) {
    return !bytes.empty() && static_cast<Tag>(bytes.front()) == Tag::kResize;
  }
  DType dtype;
  Dims from, to;
};

LoweredProgram LowerResize(std::string_view bytes, hlo::Builder& b);

}  // namespace torch_tpu::exec
