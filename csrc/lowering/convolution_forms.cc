#include "lowering/convolution_forms.h"

#include <numeric>

namespace torch_tpu::lowering {
namespace {

Dims From(const Dims& dims, size_t first) { return Dims(dims.begin() + first, dims.end()); }

Dims Joined(Dims first, const Dims& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// [a * b, ...] -> [a, b, ...] at `dim`, with the two swapped and merged again.
Value SwapWithin(Builder& b, Value x, int64_t dim, int64_t outer) {
  Dims split = x.dims(), order(x.rank() + 1), merged = x.dims();
  split[dim] /= outer;
  split.insert(split.begin() + dim, outer);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[dim], order[dim + 1]);
  return b.Reshape(b.Transpose(b.Reshape(x, split), order), merged);
}

// ---- XLA's own convolution

Value ConvolveXla(Builder& b, Value x, Value w, int64_t groups, ConvAxes axes) {
  hlo::ConvDims c;
  for (const ConvAxis& a : axes) {
    c.strides.push_back(a.stride);
    c.rhs_dilation.push_back(a.dilation);
    c.lhs_dilation.push_back(a.spread);
    c.padding_low.push_back(a.low);
    c.padding_high.push_back(a.high);
  }
  c.feature_groups = groups;
  return b.Convolution(x, w, c, AccumulateType(x.dtype()));
}

// A convolution of x with the gradient, where stride and dilation change places and the batch is
// what is summed over.
Value ConvolveWeightXla(Builder& b, Value x, Value grad, int64_t groups, ConvAxes axes) {
  hlo::ConvDims c;
  for (const ConvAxis& a : axes) {
    c.strides.push_back(a.dilation);
    c.rhs_dilation.push_back(a.stride);
    c.lhs_dilation.push_back(a.spread);
    c.padding_low.push_back(a.low);
    c.padding_high.push_back(a.high);
  }
  c.feature_groups = groups;
  c.input_batch = c.output_batch = c.kernel_output = 1;
  c.input_feature = c.output_feature = c.kernel_input = 0;
  if (groups > 1) {  // the groups become groups of the batch: [n, groups * c] -> [groups * n, c]
    const Dims spatial = From(x.dims(), 2);
    const int64_t n = x.dim(0), channels = x.dim(1) / groups;
    x = b.Reshape(x, Joined({n * groups, channels}, spatial));
    x = SwapWithin(b, x, 0, n);
  }
  return b.Convolution(x, grad, c, AccumulateType(x.dtype()));
}

// ---- A sum over the kernel's positions, each an elementwise or a matrix product with a shifted x.
// XLA on CPUs walks element by element where a group has one input channel, and for float64.

constexpr int64_t kMostTaps = 128;

bool SuitsTaps(const Builder& b, DType dtype, int64_t groups, int64_t channels,
               const Dims& kernel) {
  if (NumElements(kernel) > kMostTaps) return false;
  return dtype == DType::Double || (b.target() == hlo::Target::kCpu && groups > 1 && channels == 1);
}

Value Padded(Builder& b, Value x, ConvAxes axes) {
  Dims low(2, 0), high(2, 0), inner(2, 0);
  for (const ConvAxis& a : axes) {
    low.push_back(a.low);
    high.push_back(a.high);
    inner.push_back(a.spread - 1);
  }
  // Every position reads it: it shall exist once instead of being fused into each.
  return b.OptimizationBarrier({b.Pad(x, b.Constant(x.dtype(), 0), low, high, inner)})[0];
}

// What the kernel position `tap` sees of the padded x.
Value Seen(Builder& b, Value padded, const Dims& tap, const Dims& out, ConvAxes axes) {
  Dims start(padded.rank(), 0), limit = padded.dims(), step(padded.rank(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    start[i + 2] = tap[i] * axes[i].dilation;
    limit[i + 2] = start[i + 2] + (out[i] - 1) * axes[i].stride + 1;
    step[i + 2] = axes[i].stride;
  }
  return b.Slice(padded, start, limit, step);
}

bool Next(Dims& tap, const Dims& kernel) {
  for (size_t i = kernel.size(); i-- > 0;) {
    if (++tap[i] < kernel[i]) return true;
    tap[i] = 0;
  }
  return false;
}

// [n, groups * c, *s] -> [n, groups, c, points]
Value Grouped(Builder& b, Value x, int64_t groups) {
  return b.Reshape(x, {x.dim(0), groups, x.dim(1) / groups, NumElements(From(x.dims(), 2))});
}

// [n, groups, *s] -> [n, groups * times, *s], every channel `times` in a row.
Value Repeat(Builder& b, Value x, int64_t times) {
  if (times == 1) return x;
  Dims wide = x.dims(), merged = x.dims(), mapping;
  wide.insert(wide.begin() + 2, times);
  merged[1] *= times;
  for (int64_t d = 0; d < x.rank(); ++d) mapping.push_back(d < 2 ? d : d + 1);
  return b.Reshape(b.BroadcastInDim(x, wide, mapping), merged);
}

Value ConvolveTaps(Builder& b, Value x, Value w, int64_t groups, ConvAxes axes) {
  const Value padded = Padded(b, x, axes);
  const Dims kernel = From(w.dims(), 2);
  const int64_t c = w.dim(1), o = w.dim(0) / groups;
  Dims out;
  for (size_t i = 0; i < axes.size(); ++i) {
    out.push_back((padded.dim(i + 2) - (kernel[i] - 1) * axes[i].dilation - 1) / axes[i].stride +
                  1);
  }
  const Dims dims = Joined({x.dim(0), w.dim(0)}, out);
  hlo::DotDims dot;
  dot.lhs_batch = {0};
  dot.rhs_batch = {1};
  dot.lhs_contract = {2};
  dot.rhs_contract = {2};
  Value sum;
  Dims tap(kernel.size(), 0);
  do {
    Dims start = {0, 0}, limit = {w.dim(0), c};
    for (int64_t k : tap) {
      start.push_back(k);
      limit.push_back(k + 1);
    }
    const Value weight = b.Slice(w, start, limit);
    const Value seen = Seen(b, padded, tap, out, axes);
    const Value term =
        c == 1 ? Repeat(b, seen, o) * b.BroadcastInDim(b.Reshape(weight, {w.dim(0)}), dims, {1})
               : b.DotGeneral(b.Reshape(weight, {groups, o, c}), Grouped(b, seen, groups), dot,
                              x.dtype());
    sum = sum.defined() ? sum + term : term;
  } while (Next(tap, kernel));
  if (c == 1) return sum;
  return b.Reshape(b.Transpose(sum, {2, 0, 1, 3}), dims);  // from [groups, o, n, points]
}

Value ConvolveWeightTaps(Builder& b, Value x, Value grad, int64_t groups, const Dims& kernel,
                         ConvAxes axes) {
  const Value padded = Padded(b, x, axes);
  const Dims out = From(grad.dims(), 2);
  const int64_t c = x.dim(1) / groups, o = grad.dim(1) / groups;
  hlo::DotDims dot;
  dot.lhs_batch = {1};
  dot.rhs_batch = {1};
  dot.lhs_contract = {0, 3};
  dot.rhs_contract = {0, 3};
  Dims outer(grad.rank() - 2);
  std::iota(outer.begin(), outer.end(), 1);
  outer[0] = 0;
  // Two sums, since one that ends in the last dimension is a chain of dependent additions.
  auto total = [&](Value v) { return Sum(b, b.OptimizationBarrier({Sum(b, v, outer)})[0], {1}); };
  Values parts;
  Dims tap(kernel.size(), 0);
  do {
    const Value seen = Seen(b, padded, tap, out, axes);
    const Value part =
        c == 1 ? total(Repeat(b, seen, o) * grad)
               : b.DotGeneral(Grouped(b, grad, groups), Grouped(b, seen, groups), dot, x.dtype());
    parts.push_back(b.Reshape(part, {groups * o, c, 1}));
  } while (Next(tap, kernel));
  return b.Reshape(b.Concatenate(parts, 2), Joined({groups * o, c}, kernel));
}

// ---- Planes: a volume as a sum of flat convolutions over the kernel's depth. XLA on CPUs has a
// fast convolution for planes only.

bool SuitsPlanes(const Builder& b, int64_t rank) {
  return b.target() == hlo::Target::kCpu && rank == 5;
}

// x: [n, channels, depth, h, w] -> [n, padded depth, channels, h, w]
Value DepthFirst(Builder& b, Value x, const ConvAxis& depth) {
  const Value padded = b.Pad(x, b.Constant(x.dtype(), 0), {0, 0, depth.low, 0, 0},
                             {0, 0, depth.high, 0, 0}, {0, 0, depth.spread - 1, 0, 0});
  return b.Transpose(padded, {0, 2, 1, 3, 4});
}

// The planes that depth position k of the kernel sees, as a batch.
Value PlanesSeen(Builder& b, Value x, int64_t k, int64_t out, const ConvAxis& depth) {
  const int64_t start = k * depth.dilation;
  const Value seen = b.SliceDim(x, 1, start, start + (out - 1) * depth.stride + 1, depth.stride);
  return b.Reshape(seen, {seen.dim(0) * seen.dim(1), seen.dim(2), seen.dim(3), seen.dim(4)});
}

Value ConvolvePlanes(Builder& b, Value x, Value w, int64_t groups, ConvAxes axes) {
  const ConvAxis& depth = axes[0];
  const Value planes = DepthFirst(b, x, depth);
  const int64_t out = (planes.dim(1) - (w.dim(2) - 1) * depth.dilation - 1) / depth.stride + 1;
  Value sum;
  for (int64_t k = 0; k < w.dim(2); ++k) {
    const Value flat =
        b.Reshape(b.SliceDim(w, 2, k, k + 1), {w.dim(0), w.dim(1), w.dim(3), w.dim(4)});
    const Value term =
        ConvolveXla(b, PlanesSeen(b, planes, k, out, depth), flat, groups, axes.slice(1));
    sum = sum.defined() ? sum + term : term;
  }
  const Value split = b.Reshape(sum, {x.dim(0), out, w.dim(0), sum.dim(2), sum.dim(3)});
  return b.Transpose(split, {0, 2, 1, 3, 4});
}

Value ConvolveWeightPlanes(Builder& b, Value x, Value grad, int64_t groups, const Dims& kernel,
                           ConvAxes axes) {
  const ConvAxis& depth = axes[0];
  const Value planes = DepthFirst(b, x, depth);
  const int64_t out = grad.dim(2);
  const Value flat = b.Reshape(b.Transpose(grad, {0, 2, 1, 3, 4}),
                               {grad.dim(0) * out, grad.dim(1), grad.dim(3), grad.dim(4)});
  Values parts;
  for (int64_t k = 0; k < kernel[0]; ++k) {
    const Value part =
        ConvolveWeightXla(b, PlanesSeen(b, planes, k, out, depth), flat, groups, axes.slice(1));
    parts.push_back(b.Reshape(part, {part.dim(0), part.dim(1), 1, part.dim(2), part.dim(3)}));
  }
  return b.Concatenate(parts, 2);
}

// f on the values, for complex ones on their parts. `f` is bilinear.
template <typename F>
Value Bilinear(Builder& b, Value x, Value y, const F& f) {
  if (!IsComplex(x.dtype())) return f(x, y);
  const Value xr = b.Real(x), xi = b.Imag(x), yr = b.Real(y), yi = b.Imag(y);
  return b.Complex(f(xr, yr) - f(xi, yi), f(xr, yi) + f(xi, yr));
}

}  // namespace

Value Convolve(Builder& b, const OpCall& call, Value x, Value w, int64_t groups, ConvAxes axes) {
  return Bilinear(b, x, w, [&](Value x, Value w) {
    if (SuitsTaps(b, x.dtype(), groups, w.dim(1), From(w.dims(), 2))) {
      const DType type = AccumulateType(x.dtype());
      return ConvolveTaps(b, b.Convert(x, type), b.Convert(w, type), groups, axes);
    }
    if (SuitsPlanes(b, x.rank())) return ConvolvePlanes(b, x, w, groups, axes);
    return ConvolveXla(b, x, w, groups, axes);
  });
}

Value ConvolveWeight(Builder& b, const OpCall& call, Value x, Value grad, int64_t groups,
                     const Dims& kernel, ConvAxes axes) {
  return Bilinear(b, x, grad, [&](Value x, Value grad) {
    if (SuitsTaps(b, x.dtype(), groups, x.dim(1) / groups, kernel)) {
      const DType type = AccumulateType(x.dtype());
      return ConvolveWeightTaps(b, b.Convert(x, type), b.Convert(grad, type), groups, kernel, axes);
    }
    if (SuitsPlanes(b, x.rank())) return ConvolveWeightPlanes(b, x, grad, groups, kernel, axes);
    return ConvolveWeightXla(b, x, grad, groups, axes);
  });
}

}  // namespace torch_tpu::lowering
