// CTC loss: PyTorch hands over lengths as lists of numbers. They go to the device as one small
// tensor, so that other lengths are no other program.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "eager/row_call.h"

namespace torch_tpu::eager {
namespace {

struct Sequences {
  at::Tensor targets;  // flat
  at::Tensor lengths;  // int64 [3, N]: inputs, targets, where each sequence's targets start
  int64_t longest = 0;
};

Sequences Describe(const at::Tensor& log_probs, const at::Tensor& targets, at::IntArrayRef inputs,
                   at::IntArrayRef outputs, int64_t blank) {
  TORCH_CHECK(log_probs.dim() == 3, "ctc_loss: expected log_probs of 3 dimensions, got ",
              log_probs.sizes());
  TORCH_CHECK(targets.dim() == 1 || targets.dim() == 2,
              "ctc_loss: expected targets of 1 or 2 dimensions, got ", targets.sizes());
  TORCH_CHECK(targets.scalar_type() == at::kInt || targets.scalar_type() == at::kLong,
              "ctc_loss: expected int32 or int64 targets, got ", targets.scalar_type());
  const int64_t batch = log_probs.size(1), n = static_cast<int64_t>(inputs.size());
  TORCH_CHECK(blank >= 0 && blank < log_probs.size(2), "blank must be in label range");
  TORCH_CHECK(n == batch, "input_lengths must be of size batch_size");
  TORCH_CHECK(outputs.size() == inputs.size(), "target_lengths must be of size batch_size");
  std::vector<int64_t> table(inputs.begin(), inputs.end());
  table.insert(table.end(), outputs.begin(), outputs.end());
  Sequences result;
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    TORCH_CHECK(inputs[i] >= 0 && inputs[i] <= log_probs.size(0),
                "Expected input_lengths to have value at most ", log_probs.size(0),
                ", but got value ", inputs[i]);
    TORCH_CHECK(outputs[i] >= 0, "Expected target_lengths to have value at least 0, but got value ",
                outputs[i]);
    table.push_back(targets.dim() == 1 ? at : i * targets.size(1));
    at += outputs[i];
    result.longest = std::max(result.longest, outputs[i]);
  }
  if (targets.dim() == 1) {
    TORCH_CHECK(targets.size(0) == at, "Expected tensor to have size ", at,
                " at dimension 0, but got size ", targets.size(0));
  } else {
    TORCH_CHECK(targets.size(0) == batch, "Expected tensor to have size ", batch,
                " at dimension 0, but got size ", targets.size(0));
    TORCH_CHECK(targets.size(1) >= result.longest, "Expected tensor to have size at least ",
                result.longest, " at dimension 1, but got size ", targets.size(1));
  }
  result.targets = targets.reshape({-1});
  result.lengths = at::tensor(table, at::kLong).view({3, n}).to(log_probs.device());
  return result;
}

std::tuple<at::Tensor, at::Tensor> CtcLoss(const at::Tensor& log_probs, const at::Tensor& targets,
                                           at::IntArrayRef input_lengths,
                                           at::IntArrayRef target_lengths, int64_t blank, bool) {
  const Sequences s = Describe(log_probs, targets, input_lengths, target_lengths, blank);
  RowCall call("tpu::ctc_loss", log_probs.device().index());
  call.Tensor(log_probs).Tensor(s.targets).Tensor(s.lengths).Int(s.longest).Int(blank);
  const auto r = call.Run();
  return {r[0], r[1]};
}

at::Tensor CtcLossBackward(const at::Tensor& grad, const at::Tensor& log_probs,
                           const at::Tensor& targets, at::IntArrayRef input_lengths,
                           at::IntArrayRef target_lengths, const at::Tensor& loss,
                           const at::Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  const Sequences s = Describe(log_probs, targets, input_lengths, target_lengths, blank);
  RowCall call("tpu::ctc_loss_backward", log_probs.device().index());
  call.Tensor(grad).Tensor(log_probs).Tensor(s.targets).Tensor(s.lengths).Tensor(loss);
  call.Tensor(log_alpha).Int(s.longest).Int(blank).Bool(zero_infinity);
  return call.Run()[0];
}

std::vector<int64_t> OnHost(const at::Tensor& lengths) {
  TORCH_CHECK(c10::isIntegralType(lengths.scalar_type(), /*includeBool=*/false),
              "lengths must be integral");
  const at::Tensor host = lengths.to(at::kCPU, at::kLong).contiguous();
  const int64_t* first = host.const_data_ptr<int64_t>();
  return {first, first + host.numel()};
}

std::tuple<at::Tensor, at::Tensor> CtcLossOfTensors(const at::Tensor& log_probs,
                                                    const at::Tensor& targets,
                                                    const at::Tensor& input_lengths,
                                                    const at::Tensor& target_lengths, int64_t blank,
                                                    bool zero_infinity) {
  return CtcLoss(log_probs, targets, OnHost(input_lengths), OnHost(target_lengths), blank,
                 zero_infinity);
}

at::Tensor CtcLossOfTensorsBackward(const at::Tensor& grad, const at::Tensor& log_probs,
                                    const at::Tensor& targets, const at::Tensor& input_lengths,
                                    const at::Tensor& target_lengths, const at::Tensor& loss,
                                    const at::Tensor& log_alpha, int64_t blank,
                                    bool zero_infinity) {
  return CtcLossBackward(grad, log_probs, targets, OnHost(input_lengths), OnHost(target_lengths),
                         loss, log_alpha, blank, zero_infinity);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_ctc_loss", CtcLoss);
  m.impl("_ctc_loss.Tensor", CtcLossOfTensors);
  m.impl("_ctc_loss_backward", CtcLossBackward);
  m.impl("_ctc_loss_backward.Tensor", CtcLossOfTensorsBackward);
}

}  // namespace torch_tpu::eager
