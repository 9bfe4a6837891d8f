// Convolutions of any number of spatial dimensions, plain and transposed, and their gradients.
//
// With y = conv(x, w), y[o, i] = sum_k x[i * stride + k * dilation - padding] w[o, k], the gradient
// by x is a plain convolution of y's gradient, spread by the stride, with w flipped. A transposed
// convolution is just that, so its own gradients are the plain forms again.
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

#include "lowering/convolution_forms.h"
#include "lowering/families.h"

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
  TORCH_CHECK(x.size() == w.size(), call.name(), ": Expected ", w.size(), "-dimensional input for ",
              w.size(), "-dimensional weight ", ToString(w), ", but got ", x.size(),
              "-dimensional input of size ", ToString(x), " instead");
  TORCH_CHECK(w[0] >= g.groups, call.name(), ": Given groups=", g.groups,
              ", expected weight to be at least ", g.groups,
              " at dimension 0, but got weight of size ", ToString(w), " instead");
  TORCH_CHECK(w[0] % g.groups == 0, call.name(), ": Given groups=", g.groups,
              ", expected weight to be divisible by ", g.groups,
              " at dimension 0, but got weight of size ", ToString(w), " instead");
  const int64_t channels = g.transposed ? w[0] : w[1] * g.groups;
  TORCH_CHECK(x[1] == channels, call.name(), ": Given groups=", g.groups,
              ", transposed=", g.transposed, ", weight of size ", ToString(w), ", expected input",
              ToString(x), " to have ", channels, " channels, but got ", x[1], " channels instead");
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
                  "output_padding ",
                  ToString(g.output_padding), ", stride ", ToString(g.stride), " and dilation ",
                  ToString(g.dilation));
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
  CheckDtype(call.name(), x.dtype(), Accept::kNoBool);
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

Value Zeros(Builder& b, DType dtype, const Dims& dims) {
  return b.Constant(AccumulateType(dtype), 0, dims);
}

// The axes of the plain convolution from `input` to `out` elements; the high padding makes it fit.
std::vector<ConvAxis> PlainAxes(const Geometry& g, const Dims& input, const Dims& kernel,
                                const Dims& out) {
  std::vector<ConvAxis> axes;
  for (size_t i = 0; i < g.spatial(); ++i) {
    const int64_t reach = (out[i] - 1) * g.stride[i] + g.dilation[i] * (kernel[i] - 1) + 1;
    axes.push_back({g.stride[i], g.dilation[i], 1, g.padding[i], reach - input[i] - g.padding[i]});
  }
  return axes;
}

// x: [n, groups * c, *s], w: [groups * o, c, *k].
Value Plain(Builder& b, const OpCall& call, Value x, Value w, const Geometry& g, const Dims& out) {
  const Dims dims = WithSpatial(x.dim(0), w.dim(0), out);
  if (x.numel() == 0 || w.numel() == 0 || NumElements(dims) == 0) return Zeros(b, x.dtype(), dims);
  return Convolve(b, call, x, w, g.groups,
                  PlainAxes(g, SpatialOf(x.dims()), SpatialOf(w.dims()), out));
}

// The adjoint of Plain by x. x: [n, groups * c, *s], w: [groups * c, o, *k].
Value Transposed(Builder& b, const OpCall& call, Value x, Value w, const Geometry& g,
                 const Dims& out) {
  const int64_t features = w.dim(1) * g.groups;
  const Dims kernel = SpatialOf(w.dims()), dims = WithSpatial(x.dim(0), features, out);
  if (x.numel() == 0 || w.numel() == 0 || NumElements(dims) == 0) return Zeros(b, x.dtype(), dims);
  std::vector<ConvAxis> axes;
  Dims flipped, split = {g.groups, w.dim(0) / g.groups, w.dim(1)}, order = {0, 2, 1};
  for (size_t i = 0; i < g.spatial(); ++i) {
    axes.push_back({1, g.dilation[i], g.stride[i], g.dilation[i] * (kernel[i] - 1) - g.padding[i],
                    out[i] - 1 - (x.dim(i + 2) - 1) * g.stride[i] + g.padding[i]});
    if (kernel[i] > 1) flipped.push_back(static_cast<int64_t>(i) + 2);
    split.push_back(kernel[i]);
    order.push_back(static_cast<int64_t>(i) + 3);
  }
  // [groups * c, o, *k] -> [groups * o, c, *k]
  w = b.Transpose(b.Reshape(b.Reverse(w, flipped), split), order);
  w = b.Reshape(w, WithSpatial(features, split[1], kernel));
  return Convolve(b, call, x, w, g.groups, axes);
}

// The gradient of Plain by w: [groups * o, c, *kernel].
Value WeightGradient(Builder& b, const OpCall& call, Value x, Value grad, const Geometry& g,
                     const Dims& kernel) {
  const Dims dims = WithSpatial(grad.dim(1), x.dim(1) / g.groups, kernel);
  if (x.numel() == 0 || grad.numel() == 0 || NumElements(dims) == 0) {
    return Zeros(b, x.dtype(), dims);
  }
  return ConvolveWeight(b, call, x, grad, g.groups, kernel,
                        PlainAxes(g, SpatialOf(x.dims()), kernel, SpatialOf(grad.dims())));
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
  for (size_t i = 0; i < out.size(); ++i) {  // an empty input alone may have an empty output
    TORCH_CHECK(out[i] > 0 || (out[i] == 0 && x.dim(i + 2) == 0), call.name(),
                ": Given input size per channel: (", Joined(SpatialOf(x.dims())),
                "). Calculated output size per channel: (", Joined(out),
                "). Output size is too small");
  }
  Value y = g.transposed ? Transposed(b, call, x, w, g, out) : Plain(b, call, x, w, g, out);
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
    results[0] = g.transposed ? Plain(b, call, grad, w, g, spatial)
                              : Transposed(b, call, grad, w, g, spatial);
  }
  if (mask[1]) {
    const Dims kernel = SpatialOf(w.dims());
    results[1] = g.transposed ? WeightGradient(b, call, grad, x, g, kernel)
                              : WeightGradient(b, call, x, grad, g, kernel);
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
