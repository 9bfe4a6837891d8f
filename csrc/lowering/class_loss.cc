// Losses whose target names classes.
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <numeric>

#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/reduced_loss.h"

namespace torch_tpu::lowering {
namespace {

// Scores [N, C, ...] (or [C], seen as [1, C]) with one class for each [N, ...].
struct ClassTarget {
  Value scores;   // in the computing type
  Value target;   // int64, [N, ...]
  Value ignored;  // bool, [N, ...]
  Value safe;     // target with ignored entries at class 0
  Dims slots;     // [N, ...]
  Dims column;    // [N, 1, ...]
  bool single;    // the scores had no batch
  DType compute;
  int64_t classes() const { return scores.dim(1); }
};

ClassTarget TargetOf(Builder& b, const OpCall& call, Value self, Value target,
                     std::optional<int64_t> ignore_index) {
  TORCH_CHECK(target.dtype() == DType::Long || target.dtype() == DType::Byte, call.name(),
              ": expected a target of type int64 or uint8, got ", DTypeName(target.dtype()));
  TORCH_CHECK(IsFloat(self.dtype()), call.name(), ": expected floating point scores, got ",
              DTypeName(self.dtype()));
  ClassTarget c;
  c.single = self.rank() <= 1;
  Dims dims = self.dims();
  if (dims.empty()) dims.push_back(1);
  if (c.single) dims.insert(dims.begin(), 1);
  c.slots = dims;
  c.slots.erase(c.slots.begin() + 1);
  const bool fits = c.single ? target.numel() == 1 && target.rank() <= 1 : target.dims() == c.slots;
  TORCH_CHECK(fits, call.name(), ": expected a target of shape ",
              ToString(c.single ? Dims{} : c.slots), " for scores of shape ", ToString(self.dims()),
              ", got ", ToString(target.dims()));
  c.compute = AccumulateType(self.dtype());
  c.scores = b.Convert(b.Reshape(self, dims), c.compute);
  c.column = dims;
  c.column[1] = 1;
  c.target = b.Convert(b.Reshape(target, c.slots), DType::Long);
  const Value zero = b.ConstantLike(c.target, 0);
  c.ignored = ignore_index ? b.Eq(c.target, b.ConstantLike(c.target, *ignore_index))
                           : b.Constant(DType::Bool, false, c.slots);
  c.safe = b.Select(c.ignored, zero, c.target);
  if (c.target.numel() > 0) {
    const Value limit = b.ConstantLike(c.target, c.classes());
    call.RequireIndex(All(b, b.Or(c.ignored, b.And(b.Ge(c.target, zero), b.Lt(c.target, limit)))),
                      fmt::format("target out of range: expected 0 <= target < {}", c.classes()));
  }
  return c;
}

// The score of each target class: [N, ...].
Value Picked(Builder& b, const ClassTarget& c) {
  if (c.classes() == 0) return Zeros(b, c.compute, c.slots);
  return b.Reshape(GatherAlong(b, c.scores, 1, b.Reshape(c.safe, c.column)), c.slots);
}

// Each target's class weight: 0 where ignored.
Value TargetWeights(Builder& b, const OpCall& call, int i, const ClassTarget& c) {
  const Value weight = call.TensorOrUndefined(i);
  const Value zero = Zeros(b, c.compute, c.slots);
  if (!weight.defined()) return b.Select(c.ignored, zero, b.ConstantLike(zero, 1));
  TORCH_CHECK(weight.rank() == 1 && weight.dim(0) == c.classes(), call.name(),
              ": expected one weight for each of ", c.classes(), " classes, got shape ",
              ToString(weight.dims()));
  if (c.classes() == 0) return zero;
  const Value taken = TakeAlong(b, b.Convert(weight, c.compute), 0, c.safe);
  return b.Select(c.ignored, zero, taken);
}

// [N, C, ...]: whether the class is the target's.
Value IsTarget(Builder& b, const ClassTarget& c) {
  const Dims& dims = c.scores.dims();
  const Value number = b.Iota(DType::Long, dims, 1);
  return b.Eq(number, b.Broadcast(b.Reshape(c.target, c.column), dims));
}

Dims Every(Value x) {
  Dims dims(x.rank());
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

void CheckScores(const OpCall& call, Value self) {
  TORCH_CHECK(self.rank() >= 1, call.name(), ": expected scores of 1 or more dimensions, got 0");
}

// aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction,
//     SymInt ignore_index) -> (Tensor output, Tensor total_weight)
// aten::nll_loss2d_forward(...)
Values NllLoss(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckScores(call, self);
  const ClassTarget c = TargetOf(b, call, self, call.Tensor(1), call.Int(4));
  const Value weights = TargetWeights(b, call, 2, c);
  const Value loss = b.Select(c.ignored, Zeros(b, c.compute, c.slots), -(weights * Picked(b, c)));
  if (call.Int(3) == kReductionNone && !c.single) {
    return {b.Convert(loss, self.dtype()), b.Constant(self.dtype(), 0)};
  }
  const Value total = Sum(b, weights, Every(weights));
  Value sum = Sum(b, loss, Every(loss));
  if (call.Int(3) == kReductionMean) sum = sum / total;
  return {b.Convert(sum, self.dtype()), b.Convert(total, self.dtype())};
}

// aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight,
//     int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor
// aten::nll_loss2d_backward(...)
Value NllLossBackward(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(1);
  CheckScores(call, self);
  const ClassTarget c = TargetOf(b, call, self, call.Tensor(2), call.Int(5));
  Value grad = b.Convert(call.Tensor(0), c.compute);
  if (call.Int(4) == kReductionMean) grad = grad / b.Convert(call.Tensor(6), c.compute);
  grad = c.single ? b.Reshape(grad, {1}) : b.Broadcast(grad, c.slots);
  const Value each = -(grad * TargetWeights(b, call, 3, c));
  const Value chosen =
      b.And(IsTarget(b, c), b.Broadcast(b.Reshape(b.Not(c.ignored), c.column), c.scores.dims()));
  const Value out = b.Select(chosen, b.Broadcast(b.Reshape(each, c.column), c.scores.dims()),
                             b.ConstantLike(c.scores, 0));
  return b.Convert(b.Reshape(out, self.dims()), self.dtype());
}

// margin - x[target] + x[i] for every class i, 0 where it is not positive and at the target.
Value Hinges(Builder& b, const ClassTarget& c, Value margin) {
  const Dims& dims = c.scores.dims();
  const Value picked = b.Broadcast(b.Reshape(Picked(b, c), c.column), dims);
  const Value hinge = b.Broadcast(margin, dims) - picked + c.scores;
  const Value zero = b.ConstantLike(hinge, 0);
  return b.Select(IsTarget(b, c), zero, b.Max(hinge, zero));
}

ClassTarget MarginTarget(Builder& b, const OpCall& call, Value self, Value target, int64_t p) {
  TORCH_CHECK(p == 1 || p == 2, call.name(), ": expected p to be 1 or 2, got ", p);
  TORCH_CHECK(self.rank() <= 2 && self.numel() > 0, call.name(),
              ": expected a non-empty vector or matrix, got shape ", ToString(self.dims()));
  return TargetOf(b, call, self, target, std::nullopt);
}

// aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1,
//     Tensor? weight=None, int reduction=1) -> Tensor
Value MultiMargin(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), target = call.Tensor(1);
  const int64_t p = call.StaticNumber(2).toLong();
  const ClassTarget c = MarginTarget(b, call, self, target, p);
  const Value hinge = Hinges(b, c, call.Number(b, 3, c.compute));
  const Value sum = Sum(b, p == 1 ? hinge : hinge * hinge, {1});
  const Value loss = sum * TargetWeights(b, call, 4, c) / static_cast<double>(c.classes());
  const Value out = ReduceLoss(b, loss, call.Int(5), self.dtype());
  return target.rank() == 0 ? b.Reshape(out, {}) : out;
}

// aten::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p,
//     Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor
Value MultiMarginBackward(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(1);
  const int64_t p = call.StaticNumber(3).toLong();
  const ClassTarget c = MarginTarget(b, call, self, call.Tensor(2), p);
  const Dims& dims = c.scores.dims();
  const Value hinge = Hinges(b, c, call.Number(b, 4, c.compute));
  const Value zero = b.ConstantLike(hinge, 0);
  const Value slope =
      p == 1 ? b.Select(b.Gt(hinge, zero), b.ConstantLike(hinge, 1), zero) : hinge * 2.0;
  Value grad = call.Tensor(0);
  if (grad.numel() == 1) grad = b.Reshape(grad, {});
  const Value each = SpreadLossGrad(b, grad, call.Int(6), c.slots, c.compute) *
                     TargetWeights(b, call, 5, c) / static_cast<double>(c.classes());
  const Value others = slope * b.Broadcast(b.Reshape(each, c.column), dims);
  const Value own = b.Broadcast(b.Reshape(-Sum(b, others, {1}), c.column), dims);
  return b.Convert(b.Reshape(b.Select(IsTarget(b, c), own, others), self.dims()), self.dtype());
}

// Scores [N, C] with, for each row, a list of classes that ends at the first -1.
struct LabelLists {
  Value scores;     // [N, C]
  Value listed;     // bool [N, C]: list entry k counts
  Value one_hot;    // bool [N, k, C]: entry k counts and names the class
  Value is_target;  // bool [N, C]
  Dims cube;        // [N, C, C]
};

LabelLists ListsOf(Builder& b, const OpCall& call, Value self, Value target) {
  TORCH_CHECK(self.rank() <= 2 && self.dims() == target.dims(), call.name(),
              ": expected a vector or matrix and a target of its shape, got ",
              ToString(self.dims()), " and ", ToString(target.dims()));
  TORCH_CHECK(target.dtype() == DType::Long, call.name(), ": expected a target of type int64, got ",
              DTypeName(target.dtype()));
  TORCH_CHECK(IsFloat(self.dtype()), call.name(), ": expected floating point scores, got ",
              DTypeName(self.dtype()));
  const int64_t classes = self.rank() == 0 ? 1 : self.dim(-1);
  const int64_t rows = self.rank() == 2 ? self.dim(0) : 1;
  LabelLists l;
  const Dims flat = {rows, classes};
  l.cube = {rows, classes, classes};
  l.scores = b.Convert(b.Reshape(self, flat), AccumulateType(self.dtype()));
  const Value t = b.Reshape(target, flat);
  const Value ends = b.Lt(t, b.ConstantLike(t, 0));
  if (t.numel() > 0) {
    call.Require(All(b, b.And(b.Ge(t, b.ConstantLike(t, -1)), b.Lt(t, b.ConstantLike(t, classes)))),
                 fmt::format("target out of range: expected -1 <= target < {}", classes));
  }
  const Value position = b.Iota(DType::Long, flat, 1);
  const Value end = MinOver(b, b.Select(ends, position, b.ConstantLike(t, classes)), {1}, true);
  l.listed = b.Lt(position, b.Broadcast(end, flat));
  const Value names = b.Eq(b.BroadcastInDim(t, l.cube, {0, 1}), b.Iota(DType::Long, l.cube, 2));
  l.one_hot = b.And(b.BroadcastInDim(l.listed, l.cube, {0, 1}), names);
  l.is_target = b.Reduce("or", l.one_hot, b.Constant(DType::Bool, false), {1});
  return l;
}

// [N, k, C]: 1 - x[list[k]] + x[i] where entry k counts and i is no target, else 0.
Value LabelHinges(Builder& b, const LabelLists& l, Value is_target) {
  const Value scores = b.BroadcastInDim(l.scores, l.cube, {0, 2});
  const Value zero = b.ConstantLike(scores, 0);
  const Value own = Sum(b, b.Select(l.one_hot, scores, zero), {2});
  const Value hinge = (scores + 1.0) - b.BroadcastInDim(own, l.cube, {0, 1});
  const Value counts = b.And(b.BroadcastInDim(l.listed, l.cube, {0, 1}),
                             b.Not(b.BroadcastInDim(is_target, l.cube, {0, 2})));
  return b.Select(counts, b.Max(hinge, zero), zero);
}

// aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction)
//     -> (Tensor output, Tensor is_target)
Values MultilabelMargin(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), target = call.Tensor(1);
  const LabelLists l = ListsOf(b, call, self, target);
  const Value loss =
      Sum(b, LabelHinges(b, l, l.is_target), {1, 2}) / static_cast<double>(l.scores.dim(1));
  const Value out = ReduceLoss(b, loss, call.Int(2), self.dtype());
  return {self.rank() < 2 ? b.Reshape(out, {}) : out,
          b.Convert(b.Reshape(l.is_target, self.dims()), self.dtype())};
}

// aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target,
//     int reduction, Tensor is_target) -> Tensor
Value MultilabelMarginBackward(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(1);
  const LabelLists l = ListsOf(b, call, self, call.Tensor(2));
  const Value hinge = LabelHinges(b, l, l.is_target);
  const Value zero = b.ConstantLike(hinge, 0), one = b.ConstantLike(hinge, 1);
  const Value active = b.Select(b.Gt(hinge, zero), one, zero);
  const Value pulls = b.BroadcastInDim(Sum(b, active, {2}), l.cube, {0, 1});
  const Value slope = Sum(b, active, {1}) - Sum(b, b.Select(l.one_hot, pulls, zero), {1});
  const int64_t rows = l.scores.dim(0);
  Value grad = call.Tensor(0);
  grad = grad.numel() == 1 ? b.Reshape(grad, {}) : b.Reshape(grad, {rows, 1});
  Value each = b.Broadcast(b.Convert(grad, l.scores.dtype()), l.scores.dims());
  const int64_t count = call.Int(3) == kReductionMean ? rows : 1;
  each = each / static_cast<double>(count * l.scores.dim(1));
  return b.Convert(b.Reshape(each * slope, self.dims()), self.dtype());
}

}  // namespace

OpRows ClassLossRows() {
  return {
      {"aten::nll_loss_forward", NllLoss},
      {"aten::nll_loss_backward", NllLossBackward},
      {"aten::nll_loss2d_forward", NllLoss},
      {"aten::nll_loss2d_backward", NllLossBackward},
      {"aten::multi_margin_loss", MultiMargin, {.static_numbers = 1u << 2}},
      {"aten::multi_margin_loss_backward", MultiMarginBackward, {.static_numbers = 1u << 3}},
      {"aten::multilabel_margin_loss_forward", MultilabelMargin},
      {"aten::multilabel_margin_loss_backward", MultilabelMarginBackward},
  };
}

}  // namespace torch_tpu::lowering
