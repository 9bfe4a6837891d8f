// The one kernel behind every row: turns a dispatcher call into a program, runs it and wraps what
// comes back. In-place and out= forms differ only in where results go.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "lowering/registry.h"

namespace torch_tpu::eager {

// How one schema argument enters a program; made once per op.
struct ArgPlan {
  enum class Kind {
    kTensor,
    kTensors,
    kInt,
    kInts,
    kBool,
    kBools,
    kDoubles,
    kNumber,
    kNumbers,
    kDtype,
    kString,
    kGenerator,
    kIgnored,  // layout, device, pin_memory, memory_format: no part of the value
    kDevice,
  };
  Kind kind = Kind::kIgnored;
  bool always_static = false;  // numbers: the row says so
  bool is_offset = false;      // ints: a run-time operand
  bool static_if_special = false;
  std::optional<c10::Scalar> default_number;
};

enum class Variant { kFunctional, kInPlace, kOut };

struct OpEntry {
  const lowering::OpRow* row;
  Variant variant;
  std::vector<ArgPlan> args;      // without the out arguments
  std::vector<int> written_args;  // in-place: positions of alias-marked arguments, in order
  size_t num_args = 0;            // on the stack, out arguments included
  size_t num_outs = 0;
  // out= of a factory: its schema lacks dtype, layout, device and pin_memory; dtype is out's.
  bool dtype_from_out = false;
  std::vector<bool> list_returns;  // per return: Tensor[] or Tensor
  std::vector<bool> int_returns;   // per return: int or Tensor

  OpEntry(const lowering::OpRow* row, Variant variant, const c10::FunctionSchema& schema);
};

void RunBoxed(const OpEntry& entry, torch::jit::Stack& stack);

// out= with PyTorch's meaning: resizes `out` (warning when it was not empty), checks the cast, and
// either gives it the result's buffer or copies into it.
void WriteOut(const at::Tensor& out, const at::Tensor& result);

}  // namespace torch_tpu::eager
