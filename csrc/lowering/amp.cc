// What torch.amp.GradScaler is made of.
#include <c10/util/Exception.h>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// found_inf becomes 1 where a gradient is not finite; it is never set back here.
// aten::_amp_foreach_non_finite_check_and_unscale(Tensor[] self, Tensor found_inf,
//     Tensor inv_scale) -> (Tensor[] self_out, Tensor found_inf_out)
Values NonFiniteCheckAndUnscale(Builder& b, const OpCall& call) {
  const Value found_inf = call.Tensor(1), inverse = call.Tensor(2);
  TORCH_CHECK(found_inf.numel() == 1 && found_inf.dtype() == DType::Float, call.name(),
              ": expected found_inf to be a 1-element float32 tensor, got ",
              DTypeName(found_inf.dtype()), " of shape ", ToString(found_inf.dims()));
  TORCH_CHECK(inverse.numel() == 1 && inverse.dtype() == DType::Float, call.name(),
              ": expected inv_scale to be a 1-element float32 tensor, got ",
              DTypeName(inverse.dtype()), " of shape ", ToString(inverse.dims()));
  Values results;
  Value found = b.Convert(b.Reshape(found_inf, {}), DType::Bool);
  for (const Value& gradient : call.Tensors(0)) {
    CheckDtype(call.name(), gradient.dtype(), Accept::kFloat);
    const Value wide = b.Convert(gradient, AccumulateType(gradient.dtype()));
    found = b.Or(found, Any(b, b.Not(b.IsFinite(wide))));
    const Value scale = b.Convert(b.Reshape(inverse, {}), wide.dtype());
    results.push_back(b.Convert(wide * b.Broadcast(scale, wide.dims()), gradient.dtype()));
  }
  results.push_back(b.Reshape(b.Convert(found, DType::Float), found_inf.dims()));
  return results;
}

// aten::_amp_update_scale(Tensor self, Tensor growth_tracker, Tensor found_inf,
//     float scale_growth_factor, float scale_backoff_factor, int growth_interval)
//     -> (Tensor, Tensor growth_tracker_out)
Values UpdateScale(Builder& b, const OpCall& call) {
  const Value scale = call.Tensor(0), tracker = call.Tensor(1);
  TORCH_CHECK(tracker.dtype() == DType::Int, call.name(),
              ": expected growth_tracker to be int32, got ", DTypeName(tracker.dtype()));
  TORCH_CHECK(scale.dtype() == DType::Float && call.Tensor(2).dtype() == DType::Float, call.name(),
              ": expected scale and found_inf to be float32, got ", DTypeName(scale.dtype()),
              " and ", DTypeName(call.Tensor(2).dtype()));
  const auto like = [&](Value v, const Value& shape) { return b.Reshape(v, shape.dims()); };
  const Value current = b.Reshape(scale, {}), count = b.Reshape(tracker, {});
  const Value found = b.Convert(b.Reshape(call.Tensor(2), {}), DType::Bool);
  const Value steps = count + 1;
  const Value due = b.Eq(steps, b.ConstantLike(steps, call.Int(5)));
  // Growth stops at the largest finite scale.
  const Value grown = current * call.Number(b, 3, DType::Float);
  const Value next = b.Select(b.And(due, b.IsFinite(grown)), grown, current);
  const Value shrunk = current * call.Number(b, 4, DType::Float);
  const Value zero = b.ConstantLike(count, 0);
  return {like(b.Select(found, shrunk, next), scale),
          like(b.Select(b.Or(found, due), zero, steps), tracker)};
}

}  // namespace

OpRows AmpRows() {
  return {
      {"aten::_amp_foreach_non_finite_check_and_unscale", NonFiniteCheckAndUnscale},
      {"aten::_amp_update_scale", UpdateScale},
  };
}

}  // namespace torch_tpu::lowering
