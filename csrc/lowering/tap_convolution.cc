#include "lowering/tap_convolution.h"

#include <numeric>

namespace torch_tpu::lowering {
namespace {

constexpr int64_t kMostTaps = 128;

Value Padded(Builder& b, Value x, c10::ArrayRef<TapAxis> axes) {
  Dims low(2, 0), high(2, 0), inner(2, 0);
  for (const TapAxis& a : axes) {
    low.push_back(a.low);
    high.push_back(a.high);
    inner.push_back(a.spread - 1);
  }
  return b.OptimizationBarrier({b.Pad(x, b.Constant(x.dtype(), 0), low, high, inner)})[0];
}

// What the kernel position `tap` sees of the padded input.
Value Seen(Builder& b, Value padded, const Dims& tap, const Dims& out,
           c10::ArrayRef<TapAxis> axes) {
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

Dims From(const Dims& dims, size_t first) { return Dims(dims.begin() + first, dims.end()); }

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

}  // namespace

bool SuitsTaps(DType dtype, int64_t groups, int64_t channels, const Dims& kernel) {
  if (NumElements(kernel) > kMostTaps) return false;
  const bool wide = dtype == DType::Double || dtype == DType::ComplexDouble;
  return wide || (groups > 1 && channels == 1);
}

Value ConvolveTaps(Builder& b, Value x, Value w, int64_t groups, c10::ArrayRef<TapAxis> axes) {
  const Value padded = Padded(b, x, axes);
  const Dims kernel = From(w.dims(), 2);
  const int64_t c = w.dim(1), o = w.dim(0) / groups;
  Dims out, dims = {x.dim(0), w.dim(0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    out.push_back((padded.dim(i + 2) - (kernel[i] - 1) * axes[i].dilation - 1) / axes[i].stride + 1);
    dims.push_back(out[i]);
  }
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

Value ConvolveTapsWeight(Builder& b, Value x, Value grad, int64_t groups, const Dims& kernel,
                         c10::ArrayRef<TapAxis> axes) {
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
  Values parts;
  Dims tap(kernel.size(), 0);
  do {
    const Value seen = Seen(b, padded, tap, out, axes);
    const Value part = c == 1 ? Sum(b, b.OptimizationBarrier({Sum(b, Repeat(b, seen, o) * grad, outer)})[0], {1})
                              : b.DotGeneral(Grouped(b, grad, groups), Grouped(b, seen, groups),
                                             dot, x.dtype());
    parts.push_back(b.Reshape(part, {groups * o, c, 1}));
  } while (Next(tap, kernel));
  Dims dims = {groups * o, c};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  return b.Reshape(b.Concatenate(parts, 2), dims);
}

}  // namespace torch_tpu::lowering
