// Elementwise losses.
#include <c10/util/Exception.h>

#include <numeric>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/reduced_loss.h"

namespace torch_tpu::lowering {

Value ReduceLoss(Builder& b, Value loss, int64_t reduction, DType result) {
  if (reduction == kReductionNone) return b.Convert(loss, result);
  Dims every(loss.rank());
  std::iota(every.begin(), every.end(), 0);
  Value sum = Sum(b, loss, every);
  if (reduction == kReductionMean) {
    TORCH_CHECK(IsFloat(result) || IsComplex(result),
                "mean(): expected a floating point or complex loss, got ", DTypeName(result));
    sum = sum / static_cast<double>(loss.numel());
  }
  return b.Convert(sum, result);
}

Value SpreadLossGrad(Builder& b, Value grad, int64_t reduction, const Dims& dims, DType compute) {
  grad = b.Convert(grad, compute);
  if (reduction == kReductionMean) {
    grad = grad / b.ConstantLike(grad, static_cast<double>(NumElements(dims)));
  }
  return b.Broadcast(grad, dims);
}

namespace {

// Arguments of an elementwise loss: promoted, broadcast, in the computing type.
struct LossArgs {
  DType result, compute;
  Dims dims;
};

LossArgs ArgsOf(const OpCall& call, std::initializer_list<int> args) {
  LossArgs a;
  a.result = call.ResultType(args);
  a.compute = AccumulateType(a.result);
  for (int i : args) {
    const Value v = call.TensorOrUndefined(i);
    if (v.defined()) a.dims = BroadcastDims(a.dims, v.dims(), call.name());
  }
  return a;
}

Value Widened(Builder& b, const OpCall& call, int i, const LossArgs& a) {
  return b.Broadcast(b.Convert(call.Tensor(i), a.compute), a.dims);
}

Value NumberLike(Builder& b, const OpCall& call, int i, Value like) {
  return b.Broadcast(call.Number(b, i, like.dtype()), like.dims());
}

void CheckSameShape(const OpCall& call, Value self, Value target) {
  TORCH_CHECK_VALUE(self.dims() == target.dims(), call.name(),
                    ": expected a target of the input's shape ", ToString(self.dims()), ", got ",
                    ToString(target.dims()));
}

// Losses of (self, target, reduction[, number]): `f` on the difference and the number.
template <auto f>
Value DifferenceLoss(Builder& b, const OpCall& call) {
  const LossArgs a = ArgsOf(call, {0, 1});
  const Value x = Widened(b, call, 0, a) - Widened(b, call, 1, a);
  const Value number = call.size() > 3 ? NumberLike(b, call, 3, x) : Value();
  return ReduceLoss(b, f(b, x, number), call.Int(2), a.result);
}

// Their gradients: (grad_output, self, target, reduction[, number]); `f` gives d loss / d
// difference.
template <auto f>
Value DifferenceLossBackward(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(1);
  const LossArgs a = ArgsOf(call, {1, 2});
  const Value x = Widened(b, call, 1, a) - Widened(b, call, 2, a);
  const Value number = call.size() > 4 ? NumberLike(b, call, 4, x) : Value();
  const Value grad = SpreadLossGrad(b, call.Tensor(0), call.Int(3), a.dims, a.compute);
  return b.Convert(grad * f(b, x, number), self.dtype());
}

// aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
constexpr auto kSquare = [](Builder&, Value x, Value) { return x * x; };
// aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
constexpr auto kSquareSlope = [](Builder&, Value x, Value) { return x * 2.0; };

// aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor
constexpr auto kSmoothL1 = [](Builder& b, Value x, Value beta) {
  const Value size = b.Abs(x);
  return b.Select(b.Lt(size, beta), size * size * 0.5 / beta, size - beta * 0.5);
};
// aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction,
//     float beta) -> Tensor
constexpr auto kSmoothL1Slope = [](Builder& b, Value x, Value beta) {
  const Value one = b.ConstantLike(x, 1);
  return b.Select(b.Le(x, -beta), -one, b.Select(b.Ge(x, beta), one, x / beta));
};

// aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor
constexpr auto kHuber = [](Builder& b, Value x, Value delta) {
  const Value size = b.Abs(x);
  return b.Select(b.Lt(size, delta), size * size * 0.5, delta * (size - delta * 0.5));
};
Value HuberLoss(Builder& b, const OpCall& call) {
  RequireNumber(b, call, 3, Positive, PositiveValue, "expected delta > 0");
  return DifferenceLoss<kHuber>(b, call);
}

// aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction,
//     float delta) -> Tensor
constexpr auto kHuberSlope = [](Builder& b, Value x, Value delta) {
  return b.Select(b.Le(x, -delta), -delta, b.Select(b.Ge(x, delta), delta, x));
};

// Multiplies by an optional weight that broadcasts.
Value Weighted(Builder& b, const OpCall& call, int i, Value x) {
  const Value weight = call.TensorOrUndefined(i);
  if (!weight.defined()) return x;
  BroadcastDims(weight.dims(), x.dims(), call.name());
  return x * b.Broadcast(b.Convert(weight, x.dtype()), x.dims());
}

// aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)
//     -> Tensor
Value BinaryCrossEntropy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), target = call.Tensor(1);
  CheckSameShape(call, self, target);
  TORCH_CHECK(self.dtype() == target.dtype(), call.name(),
              ": expected input and target of the same dtype, got ", DTypeName(self.dtype()),
              " and ", DTypeName(target.dtype()));
  const LossArgs a = ArgsOf(call, {0, 1});
  const Value x = Widened(b, call, 0, a), t = Widened(b, call, 1, a);
  const Value zero = b.ConstantLike(x, 0), one = b.ConstantLike(x, 1);
  call.Require(All(b, b.And(b.Ge(x, zero), b.Le(x, one))),
               "expected all elements of input between 0 and 1");
  const Value floor = b.ConstantLike(x, -100);
  const Value loss = (t - one) * b.Max(b.Log1p(-x), floor) - t * b.Max(b.Log(x), floor);
  return ReduceLoss(b, Weighted(b, call, 2, loss), call.Int(3), a.result);
}

// aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target,
//     Tensor? weight=None, int reduction=1) -> Tensor
Value BinaryCrossEntropyBackward(Builder& b, const OpCall& call) {
  const LossArgs a = ArgsOf(call, {1, 2});
  const Value x = Widened(b, call, 1, a), t = Widened(b, call, 2, a);
  const Value grad = SpreadLossGrad(b, call.Tensor(0), call.Int(4), a.dims, a.compute);
  const Value spread = b.Max((1.0 - x) * x, b.ConstantLike(x, 1e-12));
  return b.Convert(Weighted(b, call, 3, grad * (x - t) / spread), call.Tensor(1).dtype());
}

// aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None,
//     Tensor? pos_weight=None, int reduction=1) -> Tensor
Value BinaryCrossEntropyWithLogits(Builder& b, const OpCall& call) {
  CheckSameShape(call, call.Tensor(0), call.Tensor(1));
  const LossArgs a = ArgsOf(call, {0, 1, 2, 3});
  const Value x = Widened(b, call, 0, a), t = Widened(b, call, 1, a);
  Value log_sigmoid = b.Min(x, b.ConstantLike(x, 0)) - b.Log1p(b.Exp(-b.Abs(x)));
  if (!call.IsNone(3)) log_sigmoid = log_sigmoid * ((Widened(b, call, 3, a) - 1.0) * t + 1.0);
  const Value loss = (1.0 - t) * x - log_sigmoid;
  return ReduceLoss(b, Weighted(b, call, 2, loss), call.Int(4), a.result);
}

// aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
Value SoftMargin(Builder& b, const OpCall& call) {
  const LossArgs a = ArgsOf(call, {0, 1});
  const Value x = Widened(b, call, 0, a), t = Widened(b, call, 1, a);
  return ReduceLoss(b, b.Log1p(b.Exp(-t * x)), call.Int(2), a.result);
}

// aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction)
//     -> Tensor
Value SoftMarginBackward(Builder& b, const OpCall& call) {
  const LossArgs a = ArgsOf(call, {1, 2});
  const Value x = Widened(b, call, 1, a), t = Widened(b, call, 2, a);
  const Value grad = SpreadLossGrad(b, call.Tensor(0), call.Int(3), a.dims, a.compute);
  return b.Convert(-t * grad * b.Sigmoid(-t * x), a.result);
}

}  // namespace

OpRows LossRows() {
  return {
      {"aten::mse_loss", DifferenceLoss<kSquare>},
      {"aten::mse_loss_backward", DifferenceLossBackward<kSquareSlope>},
      {"aten::smooth_l1_loss", DifferenceLoss<kSmoothL1>},
      {"aten::smooth_l1_loss_backward", DifferenceLossBackward<kSmoothL1Slope>},
      {"aten::huber_loss", HuberLoss},
      {"aten::huber_loss_backward", DifferenceLossBackward<kHuberSlope>},
      {"aten::binary_cross_entropy", BinaryCrossEntropy},
      {"aten::binary_cross_entropy_backward", BinaryCrossEntropyBackward},
      {"aten::binary_cross_entropy_with_logits", BinaryCrossEntropyWithLogits},
      {"aten::soft_margin_loss", SoftMargin},
      {"aten::soft_margin_loss_backward", SoftMarginBackward},
  };
}

}  // namespace torch_tpu::lowering
