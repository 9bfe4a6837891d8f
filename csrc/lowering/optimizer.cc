// Fused optimizers: one program for all parameters. They compute as PyTorch's CPU kernels do: in
// float32 for low-precision parameters, corrections of the step in float64.
#include <c10/util/Exception.h>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// What the fused optimizers share: gradients that may be scaled, and steps that may be skipped.
class FusedStep {
 public:
  FusedStep(Builder& b, const OpCall& call, int maximize, int grad_scale, int found_inf)
      : b_(b), call_(call), maximize_(call.Bool(maximize)) {
    if (!call.IsNone(grad_scale)) grad_scale_ = b.Reshape(call.Tensor(grad_scale), {});
    if (!call.IsNone(found_inf)) {
      skip_ = b.Convert(b.Reshape(call.Tensor(found_inf), {}), DType::Bool);
    }
  }

  // Tensor `k` of list argument `i` in the type that is computed in.
  Value Read(int i, size_t k) const {
    const Value x = call_.Tensors(i)[k];
    return b_.Convert(x, AccumulateType(x.dtype()));
  }
  // A number, or a 0-d tensor in its place, as a 0-d value.
  Value Number(int i, DType dtype) const {
    if (call_.arg(i).kind == Arg::Kind::kNumber) return call_.Number(b_, i, dtype);
    return b_.Convert(b_.Reshape(call_.Tensor(i), {}), dtype);
  }
  Value NumberLike(int i, Value like) const {
    return b_.Broadcast(Number(i, like.dtype()), like.dims());
  }
  // The gradient unscaled; and as the step uses it.
  Value Unscaled(int i, size_t k) const {
    const Value grad = Read(i, k);
    if (!grad_scale_.defined()) return grad;
    return grad / b_.Broadcast(b_.Convert(grad_scale_, grad.dtype()), grad.dims());
  }
  Value Directed(Value grad) const { return maximize_ ? -grad : grad; }
  // `updated` in the place of tensor `k` of list `i`, unless the step is skipped.
  Value Write(int i, size_t k, Value updated) const {
    const Value old = call_.Tensors(i)[k];
    updated = b_.Convert(updated, old.dtype());
    return skip_.defined() ? b_.Select(skip_, old, updated) : updated;
  }
  Value WriteGrad(int i, size_t k, Value unscaled) const {
    return grad_scale_.defined() ? Write(i, k, unscaled) : call_.Tensors(i)[k];
  }

 private:
  Builder& b_;
  const OpCall& call_;
  bool maximize_;
  Value grad_scale_, skip_;  // undefined where absent
};

void CheckLengths(const OpCall& call, std::initializer_list<int> lists) {
  const size_t n = call.Tensors(0).size();
  for (int i : lists) {
    TORCH_CHECK(call.Tensors(i).size() == n, call.name(), ": expected lists of ", n,
                " tensors, got ", call.Tensors(i).size(), " in argument ", i);
    for (size_t k = 0; k < n; ++k) {
      const Value x = call.Tensors(i)[k], param = call.Tensors(0)[k];
      TORCH_CHECK(x.dims() == param.dims(), call.name(),
                  ": expected tensors of the parameter's shape ", ToString(param.dims()), ", got ",
                  ToString(x.dims()));
    }
  }
}

Values Joined(std::initializer_list<Values> lists) {
  Values all;
  for (const Values& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// The steps of all parameters as one float64 vector, so that what depends on them is computed once.
Value Steps(Builder& b, const OpCall& call, int i) {
  Values steps;
  for (const Value& step : call.Tensors(i)) {
    steps.push_back(b.Convert(b.Reshape(step, {1}), DType::Double));
  }
  return b.Concatenate(steps, 0);
}

Value Element(Builder& b, Value vector, size_t k, Value like) {
  const int64_t place = static_cast<int64_t>(k);
  const Value element = b.Reshape(b.SliceDim(vector, 0, place, place + 1), {});
  return b.Broadcast(b.Convert(element, like.dtype()), like.dims());
}

// aten::_fused_adam(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs,
//     Tensor[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2,
//     float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None,
//     Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out, Tensor[] exp_avgs_out,
//     Tensor[] exp_avg_sqs_out, Tensor[] max_exp_avg_sqs_out), and with a Tensor lr; _fused_adamw
template <bool decoupled>
Values FusedAdam(Builder& b, const OpCall& call) {
  const bool amsgrad = call.Bool(11);
  CheckLengths(call, {1, 2, 3});
  if (amsgrad) CheckLengths(call, {4});
  const size_t n = call.Tensors(0).size();
  TORCH_CHECK(call.Tensors(5).size() == n, call.name(), ": expected ", n, " state_steps, got ",
              call.Tensors(5).size());
  if (n == 0) return {};
  const FusedStep step(b, call, 12, 13, 14);
  const Value steps = Steps(b, call, 5);
  auto corrections = [&](int beta) {
    return 1.0 - b.Pow(b.Broadcast(step.Number(beta, DType::Double), steps.dims()), steps);
  };
  const Value step_sizes =
      b.Broadcast(step.Number(6, DType::Double), steps.dims()) / corrections(7);
  const Value root_corrections = b.Sqrt(corrections(8));
  // 1 - beta is taken in float64: in float32 it would have lost half its digits.
  const Value rest1 = 1.0 - step.Number(7, DType::Double);
  const Value rest2 = 1.0 - step.Number(8, DType::Double);
  Values params, grads, averages, squares, maxima;
  for (size_t k = 0; k < n; ++k) {
    Value param = step.Read(0, k);
    const Value unscaled = step.Unscaled(1, k);
    Value grad = b.Convert(step.Directed(unscaled), param.dtype());
    const Value decay = step.NumberLike(9, param);
    if (decoupled) {
      param = param - step.NumberLike(6, param) * decay * param;
    } else {
      grad = grad + param * decay;
    }
    auto spread = [&](Value number) {
      return b.Broadcast(b.Convert(number, param.dtype()), param.dims());
    };
    const Value old = b.Convert(step.Read(2, k), param.dtype());
    const Value average = old + spread(rest1) * (grad - old);
    const Value square = b.Convert(step.Read(3, k), param.dtype()) * step.NumberLike(8, param) +
                         spread(rest2) * grad * grad;
    Value variance = square;
    if (amsgrad) {
      variance = b.Max(b.Convert(step.Read(4, k), param.dtype()), square);
      maxima.push_back(step.Write(4, k, variance));
    }
    const Value denominator =
        b.Sqrt(variance) / Element(b, root_corrections, k, param) + step.NumberLike(10, param);
    param = param - Element(b, step_sizes, k, param) * average / denominator;
    params.push_back(step.Write(0, k, param));
    grads.push_back(step.WriteGrad(1, k, unscaled));
    averages.push_back(step.Write(2, k, average));
    squares.push_back(step.Write(3, k, square));
  }
  return Joined({params, grads, averages, squares, maxima});
}

// aten::_fused_sgd(Tensor[] self, Tensor[] grads, Tensor[] momentum_buffer_list, *,
//     float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize,
//     bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None)
//     -> (Tensor[] self_out, Tensor[] grads_out, Tensor[] momentum_buffer_list_out)
Values FusedSgd(Builder& b, const OpCall& call) {
  const bool with_momentum = !call.Tensors(2).empty(), nesterov = call.Bool(7);
  CheckLengths(call, {1});
  if (with_momentum) CheckLengths(call, {2});
  const FusedStep step(b, call, 8, 10, 11);
  Values params, grads, buffers;
  for (size_t k = 0; k < call.Tensors(0).size(); ++k) {
    const Value param = step.Read(0, k), unscaled = step.Unscaled(1, k);
    Value grad = b.Convert(step.Directed(unscaled), param.dtype());
    grad = grad + param * step.NumberLike(3, param);
    if (with_momentum) {
      const Value momentum = step.NumberLike(4, param);
      Value buffer = grad;
      if (!call.Bool(9)) {
        buffer = b.Convert(step.Read(2, k), param.dtype()) * momentum +
                 grad * (1.0 - step.NumberLike(6, param));
      }
      grad = nesterov ? grad + buffer * momentum : buffer;
      buffers.push_back(step.Write(2, k, buffer));
    }
    params.push_back(step.Write(0, k, param - step.NumberLike(5, param) * grad));
    grads.push_back(step.WriteGrad(1, k, unscaled));
  }
  return Joined({params, grads, buffers});
}

// aten::_fused_adagrad(Tensor[] self, Tensor[] grads, Tensor[] state_sums, Tensor[] state_steps, *,
//     float lr, float lr_decay, float weight_decay, float eps, bool maximize,
//     Tensor? grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out,
//     Tensor[] state_sums_out, Tensor[] state_steps_out)
Values FusedAdagrad(Builder& b, const OpCall& call) {
  CheckLengths(call, {1, 2});
  const size_t n = call.Tensors(0).size();
  TORCH_CHECK(call.Tensors(3).size() == n, call.name(), ": expected ", n, " state_steps, got ",
              call.Tensors(3).size());
  if (n == 0) return {};
  const FusedStep step(b, call, 8, 9, 10);
  const Value steps = Steps(b, call, 3);
  auto all = [&](int i) { return b.Broadcast(step.Number(i, DType::Double), steps.dims()); };
  const Value rates = all(4) / ((steps - 1.0) * all(5) + 1.0);
  Values params, grads, sums;
  for (size_t k = 0; k < n; ++k) {
    const Value param = step.Read(0, k), unscaled = step.Unscaled(1, k);
    Value grad = b.Convert(step.Directed(unscaled), param.dtype());
    grad = grad + param * step.NumberLike(6, param);
    const Value sum = b.Convert(step.Read(2, k), param.dtype()) + grad * grad;
    const Value denominator = b.Sqrt(sum) + step.NumberLike(7, param);
    params.push_back(step.Write(0, k, param - Element(b, rates, k, param) * grad / denominator));
    grads.push_back(step.WriteGrad(1, k, unscaled));
    sums.push_back(step.Write(2, k, sum));
  }
  return Joined({params, grads, sums, call.Tensors(3)});
}

}  // namespace

OpRows OptimizerRows() {
  return {
      {"aten::_fused_adam", FusedAdam<false>}, {"aten::_fused_adam.tensor_lr", FusedAdam<false>},
      {"aten::_fused_adamw", FusedAdam<true>}, {"aten::_fused_adamw.tensor_lr", FusedAdam<true>},
      {"aten::_fused_sgd", FusedSgd},          {"aten::_fused_sgd.tensor_lr", FusedSgd},
      {"aten::_fused_adagrad", FusedAdagrad},  {"aten::_fused_adagrad.tensor_lr", FusedAdagrad},
  };
}

}  // namespace torch_tpu::lowering
