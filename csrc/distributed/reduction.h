// Reductions over every dtype and operator, by those that Gloo has.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "base/dtype.h"

namespace torch_tpu::distributed {

// How one reduction is done: what Gloo is given, and how its result is read.
class Reduction {
 public:
  // Raises what PyTorch raises where the operator does not go with the dtype; `size` is the
  // group's. `op` names the collective in messages.
  Reduction(const c10d::ReduceOp& op, DType dtype, int size, const char* collective);

  c10d::ReduceOp gloo_op() const { return gloo_op_; }
  // Whether Gloo may work on the elements as they are, with no Load and no Store.
  bool is_native() const { return !scale_ && carrier_ == dtype_ && !is_average_of_ints_; }
  // The elements as Gloo takes them, in memory of their own.
  at::Tensor Load(const at::Tensor& elements) const;
  // Puts what Gloo made of them into `out`.
  void Store(const at::Tensor& out, const at::Tensor& reduced) const;
  // What premul_sum multiplies by first.
  const std::optional<double>& scale() const { return scale_; }
  // "sum", "max", ...
  const char* name() const { return name_; }

 private:
  DType dtype_, carrier_;
  c10d::ReduceOp gloo_op_;
  std::optional<double> scale_;
  bool is_average_of_ints_ = false;
  bool flips_sign_ = false;  // uint64 ordered as int64
  int size_;
  const char* name_;
};

}  // namespace torch_tpu::distributed
