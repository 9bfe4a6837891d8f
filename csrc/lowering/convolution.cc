// Convolutions of any number of spatial dimensions, plain and transposed, and their gradients.
//
// All of them are one StableHLO convolution on channels-first values. With y = conv(x, w),
// y[o, i] = sum_k x[i * stride + k * dilation - padding] w[o, k]:
//   grad of x is a convolution of y's gradient, dilated by the stride, with w flipped;
//   grad of w is a convolution of x with y's gradient, where stride and dilation change places and
//   the batch is what is summed over.
// A transposed convolution is the first of these, so its own gradients are the plain forms again.
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

#include "lowering/combinators.h"
#include "lowering/families.h"
#include "lowering/tap_convolution.h"

namespace torch_tpu::lowering {
namespace {

// PyTorch's message shows sizes joined by " x ".
std::string Joined(const Dims& dims) {
  std::string text;
  for (int64_t d : dims) text += (text.empty() ? "" : " x ") + std::to_string(d);
  return text;
}

struct Geometry {
  Dims stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;

  size_t spatial() const { return stride.size(); }
};

Geometry ReadGeometry(const OpCall& call, int first, int64_t rank) {
  TORCH_CHECK(rank >= 3, call.name(), ": expected a weight of at least 3 dimensions, got ", rank);
  const size_t spatial = static_cast<size_t>(rank - 2);
  Geometry g;
  g.stride = call.IntsOfSize(first, spatial);
  g.padding = call.IntsOfSize(first + 1, spatial);
  g.dilation = call.IntsOfSize(first + 2, spatial);
  g.transposed = call.Bool(first + 3);
  g.output_padding = call.IntsOfSize(first + 4, spatial);
  g.groups = call.Int(first + 5);
  auto below = [](const Dims& dims, int64_t low) {
    return std::any_of(dims.begin(), dims.end(), [=](int64_t d) { return d < low; });
  };
  TORCH_CHECK(!below(g.padding, 0), call.name(), ": negative padding is not supported, got ",
              ToString(g.padding));
  TORCH_CHECK(!below(g.output_padding, 0), call.name(),
              ": negative output_padding is not supported, got ", ToString(g.output_padding));
  TORCH_CHECK(!below(g.stride, 1), call.name(), ": non-positive stride is not supported, got ",
              ToString(g.stride));
  TORCH_CHECK(!below(g.dilation, 1), call.name(), ": dilation should be greater than zero, got ",
              ToString(g.dilation));
  TORCH_CHECK(g.groups > 0, call.name(), ": non-positive groups is not supported, got ", g.groups);
  return g;
}

// The rules of at::native::check_shape_forward, in its words.
void CheckShapes(const OpCall& call, const Dims& x, const Dims& w, Value bias, const Geometry& g) {
  TORCH_CHECK(x.size() == w.size(), call.name(), ": Expected ", w.size(),
              "-dimensional input for ", w.size(), "-dimensional weight ", ToString(w),
              ", but got ", x.size(), "-dimensional input of size ", ToString(x), " instead");
  TORCH_CHECK(w[0] >= g.groups, call.name(), ": Given groups=", g.groups,
              ", expected weight to be at least ", g.groups,
              " at dimension 0, but got weight of size ", ToString(w), " instead");
  TORCH_CHECK(w[0] % g.groups == 0, call.name(), ": Given groups=", g.groups,
              ", expected weight to be divisible by ", g.groups,
              " at dimension 0, but got weight of size ", ToString(w), " instead");
  const int64_t channels = g.transposed ? w[0] : w[1] * g.groups;
  TORCH_CHECK(x[1] == channels, call.name(), ": Given groups=", g.groups,
              ", transposed=", g.transposed, ", weight of size ", ToString(w), ", expected input",
              ToString(x), " to have ", channels, " channels, but got ", x[1],
              " channels instead");
  const int64_t features = g.transposed ? w[1] * g.groups : w[0];
  if (bias.defined()) {
    TORCH_CHECK(bias.rank() == 1 && bias.dim(0) == features, call.name(),
                ": Given transposed=", g.transposed, ", weight of size ", ToString(w),
                ", expected bias to be 1-dimensional with ", features,
                " elements, but got bias of size ", ToString(bias.dims()), " instead");
  }
  Dims padded, kernel;
  bool fits = true;
  for (size_t i = 0; i < g.spatial(); ++i) {
    padded.push_back(x[i + 2] + 2 * g.padding[i]);
    kernel.push_back(g.dilation[i] * (w[i + 2] - 1) + 1);
    fits = fits && padded[i] >= kernel[i];
    if (g.transposed) {
      TORCH_CHECK(g.output_padding[i] < g.stride[i] || g.output_padding[i] < g.dilation[i],
                  call.name(),
                  ": output padding must be smaller than either stride or dilation, but got "
                  "output_padding ", ToString(g.output_padding), ", stride ", ToString(g.stride),
                  " and dilation ", ToString(g.dilation));
    }
  }
  TORCH_CHECK(g.transposed || fits, call.name(), ": Calculated padded input size per channel: (",
              Joined(padded), "). Kernel size: (", Joined(kernel),
              "). Kernel size can't be greater than actual input size");
}

void CheckTypes(const OpCall& call, Value x, Value w, Value bias) {
  TORCH_CHECK(x.dtype() == w.dtype(), call.name(), ": Input type (", DTypeName(x.dtype()),
              ") and weight type (", DTypeName(w.dtype()), ") should be the same");
  TORCH_CHECK(!bias.defined() || bias.dtype() == x.dtype(), call.name(), ": Input type (",
              DTypeName(x.dtype()), ") and bias type (",
              bias.defined() ? DTypeName(bias.dtype()) : "", ") should be the same");
  TORCH_CHECK_NOT_IMPLEMENTED(IsFloat(x.dtype()) || IsComplex(x.dtype()), call.name(),
                              ": expected floating point or complex values, got ",
                              DTypeName(x.dtype()));
}

Dims ForwardSpatial(const Dims& x, const Dims& w, const Geometry& g) {
  Dims out;
  for (size_t i = 0; i < g.spatial(); ++i) {
    const int64_t kernel = g.dilation[i] * (w[i + 2] - 1) + 1;
    out.push_back(g.transposed ? (x[i + 2] - 1) * g.stride[i] - 2 * g.padding[i] + kernel +
                                     g.output_padding[i]
                               : (x[i + 2] + 2 * g.padding[i] - kernel) / g.stride[i] + 1);
  }
  return out;
}

Dims WithSpatial(int64_t first, int64_t second, const Dims& spatial) {
  Dims dims = {first, second};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

Dims SpatialOf(const Dims& dims) { return Dims(dims.begin() + 2, dims.end()); }

// f on the values, for complex ones on their parts. `f` is bilinear.
template <typename F>
Value Bilinear(Builder& b, Value x, Value w, const F& f) {
  if (!IsComplex(x.dtype())) return f(x, w);
  const Value xr = b.Real(x), xi = b.Imag(x), wr = b.Real(w), wi = b.Imag(w);
  return b.Complex(f(xr, wr) - f(xi, wi), f(xr, wi) + f(xi, wr));
}

std::vector<TapAxis> TapAxes(const hlo::ConvDims& c) {
  std::vector<TapAxis> axes;
  for (size_t i = 0; i < c.strides.size(); ++i) {
    axes.push_back({c.strides[i], c.rhs_dilation[i], c.lhs_dilation[i], c.padding_low[i],
                    c.padding_high[i]});
  }
  return axes;
}

// XLA on CPUs has no fast path for groups of volumes: there each group is a convolution of its own.
bool SplitsGroups(const hlo::ConvDims& c) {
  return c.strides.size() == 3 && c.feature_groups > 1 && c.feature_groups <= 32;
}

// f(x's group, w's group) for every group, joined along `result_dim`.
template <typename F>
Value PerGroup(Builder& b, Value x, int64_t x_dim, Value w, int64_t w_dim, int64_t groups,
               int64_t result_dim, const F& f) {
  const int64_t nx = x.dim(x_dim) / groups, nw = w.dim(w_dim) / groups;
  Values parts;
  for (int64_t g = 0; g < groups; ++g) {
    parts.push_back(f(b.SliceDim(x, x_dim, g * nx, (g + 1) * nx),
                      b.SliceDim(w, w_dim, g * nw, (g + 1) * nw)));
  }
  return b.Concatenate(parts, result_dim);
}

// x: [n, groups * c, *s], w: [groups * o, c, *k]. Low-precision floats accumulate in float32.
Value Convolve(Builder& b, Value x, Value w, hlo::ConvDims c) {
  const int64_t groups = c.feature_groups;
  if (SplitsGroups(c) && w.dim(1) > 1 && AccumulateType(RealType(x.dtype())) == DType::Float) {
    c.feature_groups = 1;
    return PerGroup(b, x, 1, w, 0, groups, 1,
                    [&](Value x, Value w) { return Convolve(b, x, w, c); });
  }
  return Bilinear(b, x, w, [&](Value x, Value w) {
    if (!SuitsTaps(x.dtype(), c.feature_groups, w.dim(1), SpatialOf(w.dims()))) {
      return b.Convolution(x, w, c, AccumulateType(x.dtype()));
    }
    return ConvolveTaps(b, b.Convert(x, AccumulateType(x.dtype())),
                        b.Convert(w, AccumulateType(x.dtype())), c.feature_groups, TapAxes(c));
  });
}

Value Zeros(Builder& b, DType dtype, const Dims& dims) {
  return b.Constant(AccumulateType(dtype), 0, dims);
}

// x: [n, c, *s], w: [o, c / groups, *k]; the high padding makes the result `out` long.
Value Plain(Builder& b, Value x, Value w, const Geometry& g, const Dims& out) {
  const Dims dims = WithSpatial(x.dim(0), w.dim(0), out);
  if (x.numel() == 0 || w.numel() == 0 || NumElements(dims) == 0) return Zeros(b, x.dtype(), dims);
  hlo::ConvDims c;
  c.strides = g.stride;
  c.padding_low = g.padding;
  c.lhs_dilation.assign(g.spatial(), 1);
  c.rhs_dilation = g.dilation;
  c.feature_groups = g.groups;
  for (size_t i = 0; i < g.spatial(); ++i) {
    c.padding_high.push_back((out[i] - 1) * g.stride[i] + g.dilation[i] * (w.dim(i + 2) - 1) + 1 -
                             x.dim(i + 2) - g.padding[i]);
  }
  return Convolve(b, x, w, c);
}

// x: [n, c, *s], w: [c, o / groups, *k]: the adjoint of Plain.
Value Transposed(Builder& b, Value x, Value w, const Geometry& g, const Dims& out) {
  const int64_t features = w.dim(1) * g.groups;
  const Dims dims = WithSpatial(x.dim(0), features, out);
  if (x.numel() == 0 || w.numel() == 0 || NumElements(dims) == 0) return Zeros(b, x.dtype(), dims);
  hlo::ConvDims c;
  c.strides.assign(g.spatial(), 1);
  c.lhs_dilation = g.stride;
  c.rhs_dilation = g.dilation;
  c.feature_groups = g.groups;
  Dims flipped;
  for (size_t i = 0; i < g.spatial(); ++i) {
    const int64_t reach = g.dilation[i] * (w.dim(i + 2) - 1);
    c.padding_low.push_back(reach - g.padding[i]);
    c.padding_high.push_back(out[i] - 1 - (x.dim(i + 2) - 1) * g.stride[i] + g.padding[i]);
    if (w.dim(i + 2) > 1) flipped.push_back(static_cast<int64_t>(i) + 2);
  }
  // [groups * c, o, *k] -> [groups * o, c, *k]
  const Dims kernel = SpatialOf(w.dims());
  Dims split = {g.groups, w.dim(0) / g.groups, w.dim(1)}, order = {0, 2, 1};
  for (size_t i = 0; i < g.spatial(); ++i) {
    split.push_back(kernel[i]);
    order.push_back(static_cast<int64_t>(i) + 3);
  }
  w = b.Transpose(b.Reshape(b.Reverse(w, flipped), split), order);
  w = b.Reshape(w, WithSpatial(features, split[1], kernel));
  return Convolve(b, x, w, c);
}

// Gradient of Plain's w: [o, c / groups, *k], from x: [n, c, *s] and grad: [n, o, *out].
Value WeightGradient(Builder& b, Value x, Value grad, const Geometry& g, const Dims& kernel) {
  const int64_t channels = x.dim(1) / g.groups;
  const Dims dims = WithSpatial(grad.dim(1), channels, kernel);
  if (x.numel() == 0 || grad.numel() == 0 || NumElements(dims) == 0) {
    return Zeros(b, x.dtype(), dims);
  }
  hlo::ConvDims c;
  c.strides = g.dilation;
  c.rhs_dilation = g.stride;
  c.lhs_dilation.assign(g.spatial(), 1);
  c.padding_low = g.padding;
  for (size_t i = 0; i < g.spatial(); ++i) {
    c.padding_high.push_back((kernel[i] - 1) * g.dilation[i] + (grad.dim(i + 2) - 1) * g.stride[i] +
                             1 - x.dim(i + 2) - g.padding[i]);
  }
  if (SuitsTaps(x.dtype(), g.groups, channels, kernel)) {
    const DType part = RealType(AccumulateType(x.dtype()));
    return Bilinear(b, x, grad, [&](Value x, Value grad) {
      // The kernel is walked by the dilation, the gradient by the stride.
      std::vector<TapAxis> axes;
      for (const TapAxis& a : TapAxes(c)) axes.push_back({a.dilation, a.stride, 1, a.low, a.high});
      return ConvolveTapsWeight(b, b.Convert(x, part), b.Convert(grad, part), g.groups, kernel,
                                axes);
    });
  }
  // The batch is the contracted feature; the groups are groups of it: [n, g * c] -> [g * n, c].
  c.feature_groups = g.groups;
  c.input_batch = 1;
  c.input_feature = 0;
  c.kernel_input = 0;
  c.kernel_output = 1;
  c.output_batch = 1;
  c.output_feature = 0;
  if (g.groups > 1) {
    Dims split = {x.dim(0), g.groups, channels}, merged = {x.dim(0) * g.groups, channels};
    Dims order = {1, 0, 2};
    for (size_t i = 0; i < g.spatial(); ++i) {
      split.push_back(x.dim(i + 2));
      merged.push_back(x.dim(i + 2));
      order.push_back(static_cast<int64_t>(i) + 3);
    }
    x = b.Reshape(b.Transpose(b.Reshape(x, split), order), merged);
  }
  auto convolve = [&](Value x, Value grad) {
    return Bilinear(b, x, grad, [&](Value x, Value grad) {
      return b.Convolution(x, grad, c, AccumulateType(x.dtype()));
    });
  };
  if (!SplitsGroups(c)) return convolve(x, grad);
  c.feature_groups = 1;
  return PerGroup(b, x, 0, grad, 1, g.groups, 0, convolve);
}

// aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding,
//     SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor
// aten::convolution_overrideable(... the same ...) -> Tensor
Value Convolution(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), w = call.Tensor(1), bias = call.TensorOrUndefined(2);
  const Geometry g = ReadGeometry(call, 3, w.rank());
  CheckTypes(call, x, w, bias);
  CheckShapes(call, x.dims(), w.dims(), bias, g);
  const Dims out = ForwardSpatial(x.dims(), w.dims(), g);
  TORCH_CHECK(std::all_of(out.begin(), out.end(), [](int64_t d) { return d >= 0; }), call.name(),
              ": expected an output of non-negative size, got ", ToString(out), " for input of size ",
              ToString(x.dims()), " and weight of size ", ToString(w.dims()));
  Value y = g.transposed ? Transposed(b, x, w, g, out) : Plain(b, x, w, g, out);
  if (bias.defined()) {
    y = y + b.BroadcastInDim(b.Convert(bias, y.dtype()), y.dims(), {1});
  }
  return b.Convert(y, x.dtype());
}

Values Gradients(Builder& b, const OpCall& call, int geometry) {
  const Value grad = call.Tensor(0), x = call.Tensor(1), w = call.Tensor(2);
  const Geometry g = ReadGeometry(call, geometry, w.rank());
  const std::vector<bool> mask = call.Bools(geometry + 6);
  CheckTypes(call, x, w, grad);
  CheckShapes(call, x.dims(), w.dims(), Value(), g);
  const Dims expected = WithSpatial(x.dim(0), g.transposed ? w.dim(1) * g.groups : w.dim(0),
                                    ForwardSpatial(x.dims(), w.dims(), g));
  TORCH_CHECK(grad.dims() == expected, call.name(), ": expected a gradient of size ",
              ToString(expected), ", got ", ToString(grad.dims()));
  Values results(3);
  if (mask[0]) {
    const Dims spatial = SpatialOf(x.dims());
    results[0] = g.transposed ? Plain(b, grad, w, g, spatial) : Transposed(b, grad, w, g, spatial);
  }
  if (mask[1]) {
    const Dims kernel = SpatialOf(w.dims());
    results[1] = g.transposed ? WeightGradient(b, grad, x, g, kernel)
                              : WeightGradient(b, x, grad, g, kernel);
  }
  if (mask[2]) {
    Dims summed(grad.rank() - 1);
    std::iota(summed.begin(), summed.end(), 1);
    summed[0] = 0;
    results[2] = Sum(b, grad, summed);
  }
  for (Value& r : results) {
    if (r.defined()) r = b.Convert(r, x.dtype());
  }
  return results;
}

// aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes,
//     SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed,
//     SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
Values ConvolutionBackward(Builder& b, const OpCall& call) { return Gradients(b, call, 4); }

// aten::convolution_backward_overrideable(Tensor grad_output, Tensor input, Tensor weight,
//     SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed,
//     SymInt[] output_padding, SymInt groups, bool[3] output_mask)
//     -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)
Values ConvolutionBackwardOverrideable(Builder& b, const OpCall& call) {
  return Gradients(b, call, 3);
}

}  // namespace

OpRows ConvolutionRows() {
  const OpRow::Flags forward = {.channels_last = 0b11}, backward = {.channels_last = 0b110};
  return {
      {"aten::convolution", Convolution, forward},
      {"aten::convolution_overrideable", Convolution, forward},
      {"aten::convolution_backward", ConvolutionBackward, backward},
      {"aten::convolution_backward_overrideable", ConvolutionBackwardOverrideable, backward},
  };
}

}  // namespace torch_tpu::lowering
