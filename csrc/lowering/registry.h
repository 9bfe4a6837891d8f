// The table of lowerings: one row per functional ATen overload. In-place and out= forms, eager,
// fused, compiled and ahead-of-time use are derived from it.
#pragma once

#include <string_view>
#include <vector>

#include "lowering/op_call.h"

namespace torch_tpu::lowering {

struct OpRow {
  using OneResult = hlo::Value (*)(hlo::Builder&, const OpCall&);
  using ManyResults = hlo::Values (*)(hlo::Builder&, const OpCall&);

  struct Flags {
    bool random = false;          // takes a Philox state
    int random_unless_zero = -1;  // ... unless this number argument (a dropout probability) is 0
    bool elementwise = false;     // result strides follow the operands', as TensorIterator does
    // Bit i: results are stored channels last when tensor argument i is (rank 4 and 5).
    uint32_t channels_last = 0;
    // Bit i: number argument i shapes the program and is part of its key.
    uint32_t static_numbers = 0;
    // Bit i: argument i is static when it is a Python int or one of -2, -1, -0.5, 0, 0.5, 1, 2, 3.
    uint32_t special_numbers = 0;
    // Bit i: int argument i is an offset that shapes nothing: an operand at run time
    // (OpCall::Offset).
    uint32_t offsets = 0;
    // The last results replace these arguments (statistics that an op updates without saying so).
    std::vector<int> mutates = {};
    // For compiled graphs only: eagerly PyTorch's own kernel runs, which minds strides.
    bool graph_only = false;
    // A written tensor may share no memory with another operand; elsewhere it may be the operand.
    // Set for whole families by Rows().
    bool disjoint = false;
    // out= takes a tensor of the result's dtype only.
    bool exact_out = false;
    // This number argument must be a value of the first tensor's dtype; -1: none.
    int fitting_number = -1;
    // Writes one value everywhere: elements of the target may share memory.
    bool one_value = false;
    // Multiplies matrices or convolves: the precision of float32 products is part of its key. Set
    // for whole families by Rows().
    bool products = false;
  };

  OpRow(const char* name, OneResult lower) : name(name), one(lower) {}
  OpRow(const char* name, ManyResults lower) : name(name), many(lower) {}
  OpRow(const char* name, OneResult lower, Flags flags) : name(name), one(lower), flags(flags) {}
  OpRow(const char* name, ManyResults lower, Flags flags) : name(name), many(lower), flags(flags) {}

  // Runs the lowering. Undefined values stand for results that were not asked for.
  hlo::Values Lower(hlo::Builder& b, const OpCall& call) const {
    if (one != nullptr) return {one(b, call)};
    return many(b, call);
  }

  const char* name;  // "aten::add.Tensor"
  OneResult one = nullptr;
  ManyResults many = nullptr;
  Flags flags;
  int index = -1;  // position in Rows()
};

using OpRows = std::vector<OpRow>;

// Every row, in a fixed order.
const OpRows& Rows();
// nullptr when there is none.
const OpRow* FindRow(std::string_view name);

}  // namespace torch_tpu::lowering
