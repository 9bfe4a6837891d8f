// Layer, RMS, group and weight normalization. Statistics are taken in float32 or wider, in two
// passes.
//
// The dtypes of saved statistics are those of PyTorch's accelerators and fake kernels, which
// compiled graphs rely on: float32 for low-precision inputs, where CPU PyTorch would round them.
#include <c10/util/Exception.h>

#include <limits>
#include <numeric>

#include "lowering/distance.h"
#include "lowering/dot.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// The input as [rows, columns], columns being the normalized trailing dimensions.
struct Rows2d {
  int64_t rows = 1, columns = 1;
  Dims normalized;  // shape of weight and bias
  Dims kept;        // shape of the statistics: trailing dimensions are 1
  Dims flat() const { return {rows, columns}; }
};

Rows2d RowsOf(const OpCall& call, Value x, const Dims& normalized) {
  const int64_t rank = x.rank(), count = static_cast<int64_t>(normalized.size());
  bool fits = count >= 1 && count <= rank;
  for (int64_t i = 1; fits && i <= count; ++i) fits = x.dim(-i) == normalized[count - i];
  TORCH_CHECK(fits, call.name(), ": expected an input whose trailing dimensions are ",
              ToString(normalized), ", got shape ", ToString(x.dims()));
  Rows2d r;
  r.normalized = normalized;
  r.kept = x.dims();
  for (int64_t i = 0; i < rank; ++i) {
    if (i < rank - count) {
      r.rows *= x.dim(i);
    } else {
      r.columns *= x.dim(i);
      r.kept[i] = 1;
    }
  }
  return r;
}

// An affine parameter in the computing type; undefined when it is None.
Value Parameter(Builder& b, const OpCall& call, int i, const Dims& dims, DType input,
                DType compute) {
  const Value p = call.TensorOrUndefined(i);
  if (!p.defined()) return p;
  TORCH_CHECK(p.dims() == dims, call.name(), ": expected weight and bias of shape ", ToString(dims),
              ", got ", ToString(p.dims()));
  TORCH_CHECK(p.dtype() == input || p.dtype() == compute, call.name(),
              ": expected weight and bias of the input's dtype ", DTypeName(input), " or ",
              DTypeName(compute), ", got ", DTypeName(p.dtype()));
  return b.Convert(p, compute);
}

Value Mean(Builder& b, Value x, IntArrayRef dims) {
  const int64_t count = CountOver(x.dims(), dims);
  return Sum(b, x, dims, true) / static_cast<double>(count);
}

struct Moments {
  Value centered, rstd, mean;  // statistics keep reduced dimensions as 1
};

Moments MomentsOf(Builder& b, Value x, IntArrayRef dims, Value eps) {
  const Value mean = Mean(b, x, dims);
  const Value centered = x - b.Broadcast(mean, x.dims());
  const Value variance = Mean(b, centered * centered, dims);
  return {centered, b.Rsqrt(variance + b.Broadcast(eps, variance.dims())), mean};
}

// aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias,
//     float eps) -> (Tensor, Tensor, Tensor)
Values LayerNorm(Builder& b, const OpCall& call) {
  const Value input = call.Tensor(0);
  const DType compute = AccumulateType(input.dtype());
  const Rows2d r = RowsOf(call, input, call.Ints(1));
  const Value weight = Parameter(b, call, 2, r.normalized, input.dtype(), compute);
  const Value bias = Parameter(b, call, 3, r.normalized, input.dtype(), compute);
  const Value x = b.Convert(b.Reshape(input, r.flat()), compute);
  const Moments m = MomentsOf(b, x, {1}, call.Number(b, 4, compute));
  Value out = m.centered * b.Broadcast(m.rstd, r.flat());
  if (weight.defined()) out = out * b.Broadcast(b.Reshape(weight, {r.columns}), r.flat());
  if (bias.defined()) out = out + b.Broadcast(b.Reshape(bias, {r.columns}), r.flat());
  return {b.Convert(b.Reshape(out, input.dims()), input.dtype()), b.Reshape(m.mean, r.kept),
          b.Reshape(m.rstd, r.kept)};
}

// aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape,
//     Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask)
//     -> (Tensor, Tensor, Tensor)
Values LayerNormBackward(Builder& b, const OpCall& call) {
  const Value input = call.Tensor(1);
  const DType compute = AccumulateType(input.dtype());
  const Rows2d r = RowsOf(call, input, call.Ints(2));
  const std::vector<bool> wanted = call.Bools(7);
  const Dims column = {r.rows, 1};
  const Value weight = Parameter(b, call, 5, r.normalized, input.dtype(), compute);
  const Value grad = b.Convert(b.Reshape(call.Tensor(0), r.flat()), compute);
  const Value x = b.Convert(b.Reshape(input, r.flat()), compute);
  const Value mean = b.Reshape(b.Convert(call.Tensor(3), compute), column);
  const Value rstd = b.Reshape(b.Convert(call.Tensor(4), compute), column);
  const Value normal = (x - b.Broadcast(mean, r.flat())) * b.Broadcast(rstd, r.flat());
  Values out(3);
  if (wanted[0]) {
    const Value g =
        weight.defined() ? grad * b.Broadcast(b.Reshape(weight, {r.columns}), r.flat()) : grad;
    const Value shift = b.Broadcast(Mean(b, g, {1}), r.flat());
    const Value slope = b.Broadcast(Mean(b, g * normal, {1}), r.flat());
    const Value dx = (g - shift - normal * slope) * b.Broadcast(rstd, r.flat());
    out[0] = b.Convert(b.Reshape(dx, input.dims()), input.dtype());
  }
  const auto parameter_grad = [&](int i, Value terms) {
    const Value p = call.TensorOrUndefined(i);
    const DType type = p.defined() ? p.dtype() : input.dtype();
    return b.Convert(b.Reshape(Sum(b, terms, {0}), r.normalized), type);
  };
  if (wanted[1]) out[1] = parameter_grad(5, grad * normal);
  if (wanted[2]) out[2] = parameter_grad(6, grad);
  return out;
}

// aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps)
//     -> (Tensor, Tensor)
Values RmsNorm(Builder& b, const OpCall& call) {
  const Value input = call.Tensor(0);
  const DType compute = AccumulateType(input.dtype());
  const Rows2d r = RowsOf(call, input, call.Ints(1));
  const Value weight = Parameter(b, call, 2, r.normalized, input.dtype(), compute);
  const double epsilon = RealType(compute) == DType::Double ? std::numeric_limits<double>::epsilon()
                                                            : std::numeric_limits<float>::epsilon();
  const Value x = b.Convert(b.Reshape(input, r.flat()), compute);
  const Value square = Mean(b, x * x, {1});
  const Value eps = call.NumberOr(b, 3, epsilon, compute);
  const Value rstd = b.Rsqrt(square + b.Broadcast(eps, square.dims()));
  Value out = x * b.Broadcast(rstd, r.flat());
  if (weight.defined()) out = out * b.Broadcast(b.Reshape(weight, {r.columns}), r.flat());
  return {b.Convert(b.Reshape(out, input.dims()), input.dtype()), b.Reshape(rstd, r.kept)};
}

// aten::_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor
// rstd,
//     Tensor? weight, bool[2] output_mask) -> (Tensor, Tensor)
Values RmsNormBackward(Builder& b, const OpCall& call) {
  const Value input = call.Tensor(1);
  const DType compute = AccumulateType(input.dtype());
  const Rows2d r = RowsOf(call, input, call.Ints(2));
  const std::vector<bool> wanted = call.Bools(5);
  const Value weight = Parameter(b, call, 4, r.normalized, input.dtype(), compute);
  const Value grad = b.Convert(b.Reshape(call.Tensor(0), r.flat()), compute);
  const Value x = b.Convert(b.Reshape(input, r.flat()), compute);
  const Value rstd =
      b.Broadcast(b.Reshape(b.Convert(call.Tensor(3), compute), {r.rows, 1}), r.flat());
  const Value normal = Conjugate(b, x * rstd);
  Values out(2);
  if (wanted[0]) {
    const Value g = weight.defined()
                        ? grad * b.Broadcast(b.Reshape(Conjugate(b, weight), {r.columns}), r.flat())
                        : grad;
    const Value slope = b.Broadcast(Mean(b, g * normal, {1}), r.flat());
    const Value dx = (g - normal * slope) * Conjugate(b, rstd);
    out[0] = b.Convert(b.Reshape(dx, input.dims()), input.dtype());
  }
  if (wanted[1] && weight.defined()) {
    out[1] = b.Convert(b.Reshape(Sum(b, grad * normal, {0}), r.normalized), call.Tensor(4).dtype());
  }
  return out;
}

// [N, C, HxW] seen as [N, G, C / G, HxW]; a group is the last two dimensions.
struct Groups {
  int64_t n, channels, spatial, groups;
  Dims full() const { return {n, groups, channels / groups, spatial}; }
  Dims statistics() const { return {n, groups, 1, 1}; }
};

Groups GroupsOf(const OpCall& call, int first, Value input) {
  const Groups g = {call.Int(first), call.Int(first + 1), call.Int(first + 2), call.Int(first + 3)};
  TORCH_CHECK(g.groups > 0 && g.channels % g.groups == 0, call.name(),
              ": expected a number of channels divisible by the groups, got ", g.channels,
              " channels and ", g.groups, " groups");
  TORCH_CHECK(g.n * g.channels * g.spatial == input.numel(), call.name(), ": expected ", g.n, " * ",
              g.channels, " * ", g.spatial, " elements, got shape ", ToString(input.dims()));
  return g;
}

Value PerChannel(Builder& b, Value parameter, const Groups& g) {
  return b.BroadcastInDim(b.Reshape(parameter, {g.groups, g.channels / g.groups}), g.full(),
                          {1, 2});
}

// aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C,
//     SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)
Values GroupNorm(Builder& b, const OpCall& call) {
  const Value input = call.Tensor(0);
  const DType compute = AccumulateType(input.dtype());
  const Groups g = GroupsOf(call, 3, input);
  const Value weight = Parameter(b, call, 1, {g.channels}, input.dtype(), compute);
  const Value bias = Parameter(b, call, 2, {g.channels}, input.dtype(), compute);
  const Value x = b.Convert(b.Reshape(input, g.full()), compute);
  const Moments m = MomentsOf(b, x, {2, 3}, call.Number(b, 7, compute));
  Value out = m.centered * b.Broadcast(m.rstd, g.full());
  if (weight.defined()) out = out * PerChannel(b, weight, g);
  if (bias.defined()) out = out + PerChannel(b, bias, g);
  const auto statistic = [&](Value v) {
    return b.Convert(b.Reshape(v, {g.n, g.groups}), input.dtype());
  };
  return {b.Convert(b.Reshape(out, input.dims()), input.dtype()), statistic(m.mean),
          statistic(m.rstd)};
}

// aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd,
//     Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask)
//     -> (Tensor, Tensor, Tensor)
Values GroupNormBackward(Builder& b, const OpCall& call) {
  const Value input = call.Tensor(1);
  const DType compute = AccumulateType(input.dtype());
  const Groups g = GroupsOf(call, 5, input);
  const std::vector<bool> wanted = call.Bools(9);
  const Value weight = Parameter(b, call, 4, {g.channels}, input.dtype(), compute);
  const DType parameter_type = weight.defined() ? call.Tensor(4).dtype() : input.dtype();
  const Value grad = b.Convert(b.Reshape(call.Tensor(0), g.full()), compute);
  const Value x = b.Convert(b.Reshape(input, g.full()), compute);
  const auto statistic = [&](int i) {
    return b.Broadcast(b.Reshape(b.Convert(call.Tensor(i), compute), g.statistics()), g.full());
  };
  const Value rstd = statistic(3);
  const Value normal = (x - statistic(2)) * rstd;
  Values out(3);
  if (wanted[0]) {
    const Value scaled = weight.defined() ? grad * PerChannel(b, weight, g) : grad;
    const Value shift = b.Broadcast(Mean(b, scaled, {2, 3}), g.full());
    const Value slope = b.Broadcast(Mean(b, scaled * normal, {2, 3}), g.full());
    const Value dx = (scaled - shift - normal * slope) * rstd;
    out[0] = b.Convert(b.Reshape(dx, input.dims()), input.dtype());
  }
  const auto parameter_grad = [&](Value terms) {
    return b.Convert(b.Reshape(Sum(b, terms, {0, 3}), {g.channels}), parameter_type);
  };
  if (wanted[1]) out[1] = parameter_grad(grad * normal);
  if (wanted[2]) out[2] = parameter_grad(grad);
  return out;
}

// aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor
Value Renorm(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const double p = call.StaticNumber(1).toDouble();
  TORCH_CHECK(p > 0, call.name(), ": expected a positive p, got ", p);
  TORCH_CHECK(self.rank() > 1, call.name(), ": expected at least 2 dimensions, got ", self.rank());
  TORCH_CHECK(IsFloat(self.dtype()) || IsComplex(self.dtype()), call.name(),
              ": expected a floating point or complex type, got ", DTypeName(self.dtype()));
  const int64_t dim = call.Dim(2, self.rank());
  Dims others;
  for (int64_t i = 0; i < self.rank(); ++i) {
    if (i != dim) others.push_back(i);
  }
  const Value x = b.Convert(self, AccumulateType(self.dtype()));
  const Value norm = PNorm(b, x, p, others, true);
  const Value max = b.Broadcast(call.Number(b, 3, norm.dtype()), norm.dims());
  const Value factor = b.Select(b.Gt(norm, max), max / (norm + 1e-7), b.ConstantLike(norm, 1));
  const Value scale = b.Convert(factor, x.dtype());
  return b.Convert(x * b.Broadcast(scale, x.dims()), self.dtype());
}

// Every dimension but `dim`; the norm lives on `dim`.
Dims AllBut(const OpCall& call, int64_t dim, int64_t rank) {
  dim = WrapDim(dim, rank);
  TORCH_CHECK(dim == 0 || dim == rank - 1, call.name(),
              ": expected the first or last dimension, got ", dim, " of ", rank);
  Dims others;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != dim) others.push_back(i);
  }
  return others;
}

// aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)
Values WeightNorm(Builder& b, const OpCall& call) {
  const Value v = call.Tensor(0), g = call.Tensor(1);
  const DType compute = AccumulateType(v.dtype());
  const Value x = b.Convert(v, compute);
  const Value norm = PNorm(b, x, 2, AllBut(call, call.Int(2), v.rank()), true);
  const Value scale = b.Reshape(b.Convert(g, compute), norm.dims()) / norm;
  return {b.Convert(x * b.Broadcast(scale, v.dims()), v.dtype()), b.Reshape(norm, g.dims())};
}

// aten::_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g,
//     Tensor saved_norms, int dim) -> (Tensor, Tensor)
Values WeightNormBackward(Builder& b, const OpCall& call) {
  const Value v = call.Tensor(1), g = call.Tensor(2);
  const DType compute = AccumulateType(v.dtype());
  const Value grad = b.Convert(call.Tensor(0), compute), x = b.Convert(v, compute);
  const Value sums = Sum(b, grad * x, AllBut(call, call.Int(4), v.rank()), true);
  const Value norm = b.Reshape(b.Convert(call.Tensor(3), compute), sums.dims());
  const Value scale = b.Reshape(b.Convert(g, compute), sums.dims()) / norm;
  const Value slope = sums / (norm * norm);
  const Value grad_v = b.Broadcast(scale, v.dims()) * (grad - x * b.Broadcast(slope, v.dims()));
  return {b.Convert(grad_v, v.dtype()), b.Convert(b.Reshape(sums / norm, g.dims()), g.dtype())};
}

}  // namespace

OpRows NormalizationRows() {
  // An epsilon is a constant of its model.
  return {
      {"aten::native_layer_norm", LayerNorm, {.static_numbers = 1u << 4}},
      {"aten::native_layer_norm_backward", LayerNormBackward},
      {"aten::_fused_rms_norm", RmsNorm, {.static_numbers = 1u << 3}},
      {"aten::_fused_rms_norm_backward", RmsNormBackward},
      {"aten::native_group_norm", GroupNorm, {.static_numbers = 1u << 7}},
      {"aten::native_group_norm_backward", GroupNormBackward},
      {"aten::renorm", Renorm, {.static_numbers = 1u << 1, .exact_out = true}},
      {"aten::_weight_norm_interface", WeightNorm},
      {"aten::_weight_norm_interface_backward", WeightNormBackward},
  };
}

}  // namespace torch_tpu::lowering
