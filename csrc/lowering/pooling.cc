// Max and average pooling over regular windows.
#include <c10/util/Exception.h>

#include <algorithm>

#include "lowering/families.h"
#include "lowering/window.h"

namespace torch_tpu::lowering {
namespace {

// aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2]
// padding=0,
//     int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)
// aten::max_pool3d_with_indices(... int[3] ...) -> (Tensor, Tensor)
template <size_t spatial>
Values MaxPoolWithIndices(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  const PoolWindow w = ReadPoolWindow(call, x.dims(), spatial, {1, 2, 3, 4, 5});
  const Dims out = WithTrailing(x.dims(), w.out);
  if (NumElements(out) == 0) {
    return {b.Constant(x.dtype(), 0, out), b.Constant(DType::Long, 0, out)};
  }
  const Value position = FlatPosition(b, x.dims(), spatial);
  const Value nowhere = b.HighestOf(position.dtype());
  Values best = b.ReduceWindow(
      {x, position}, {b.LowestOf(x.dtype()), nowhere}, FullWindow(w, x.dims()),
      [](Builder& b, hlo::ValueRef v) { return GreaterPair(b, v[0], v[1], v[2], v[3]); });
  return {best[0], b.Convert(best[1], DType::Long)};
}

// aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size,
//     int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor
// aten::max_pool3d_with_indices_backward(... int[3] ...) -> Tensor
//
// For each offset inside the window, the windows whose maximum lies at that offset give their
// gradient to one input each; no two of them meet, so the sum over offsets is a sum of dilated
// pads.
template <size_t spatial>
Value MaxPoolBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0), x = call.Tensor(1), indices = call.Tensor(7);
  const PoolWindow w = ReadPoolWindow(call, x.dims(), spatial, {2, 3, 4, 5, 6});
  const Dims out = WithTrailing(x.dims(), w.out);
  TORCH_CHECK(grad.dims() == out && indices.dims() == out, call.name(),
              ": expected grad_output and indices of size ", ToString(out), ", got ",
              ToString(grad.dims()), " and ", ToString(indices.dims()));
  if (x.numel() == 0) return b.Constant(x.dtype(), 0, x.dims());
  const size_t first = x.dims().size() - spatial;
  const DType type = AccumulateType(grad.dtype());
  const Value wide = b.Convert(grad, type), zero = b.Constant(type, 0);
  const Value zeros = b.Constant(type, 0, out);
  // Input position of offset 0 of each window, per dimension, and the indices split the same way.
  const Value flat = b.Convert(indices, DType::Int);
  const hlo::WindowDims full = FullWindow(w, x.dims());
  Value sum;
  Dims offset(spatial, 0);
  for (;;) {
    // The flat position that this offset has in each window.
    Value expected;
    int64_t step = 1;
    for (size_t i = spatial; i-- > 0;) {
      const Value start = b.Iota(DType::Int, out, static_cast<int64_t>(first + i));
      const Value at = start * static_cast<double>(w.stride[i] * step) +
                       static_cast<double>((offset[i] * w.dilation[i] - w.padding[i]) * step);
      expected = expected.defined() ? expected + at : at;
      step *= x.dims()[first + i];
    }
    const Value share = b.Select(b.Eq(flat, expected), wide, zeros);
    Dims low(x.rank(), 0), high(x.rank(), 0), inner(x.rank(), 0);
    for (size_t i = 0; i < spatial; ++i) {
      const size_t d = first + i;
      low[d] = offset[i] * w.dilation[i] - w.padding[i];
      inner[d] = w.stride[i] - 1;
      high[d] = x.dim(d) - low[d] - ((w.out[i] - 1) * w.stride[i] + 1);
    }
    const Value placed = b.Pad(share, zero, low, high, inner);
    sum = sum.defined() ? sum + placed : placed;
    size_t d = 0;
    while (d < spatial && ++offset[d] == w.kernel[d]) offset[d++] = 0;
    if (d == spatial) break;
  }
  return b.Convert(sum, grad.dtype());
}

struct AverageArgs {
  int count_include_pad, divisor_override;
};

// What each window's sum is divided by, broadcastable to the result. Padding counts where asked
// for, the overhang of ceil mode never does.
Value Divisor(Builder& b, const OpCall& call, const PoolWindow& w, const Dims& input,
              const AverageArgs& args, DType type) {
  const size_t first = input.size() - w.spatial();
  if (!call.IsNone(args.divisor_override)) {
    const int64_t divisor = call.Int(args.divisor_override);
    TORCH_CHECK(divisor != 0, call.name(), ": divisor must be not zero");
    // A run-time number to XLA, which would otherwise multiply by the reciprocal.
    return b.OptimizationBarrier({b.Constant(type, divisor)})[0];
  }
  const bool padding_counts = call.Bool(args.count_include_pad);
  Value product;
  for (size_t i = 0; i < w.spatial(); ++i) {
    const int64_t n = input[first + i];
    Dims counts;
    for (int64_t o = 0; o < w.out[i]; ++o) {
      const int64_t start = o * w.stride[i] - w.padding[i];
      const int64_t end = std::min(start + w.kernel[i], n + w.padding[i]);
      counts.push_back(padding_counts ? end - start
                                      : std::min(end, n) - std::max<int64_t>(start, 0));
    }
    Value factor;
    if (std::all_of(counts.begin(), counts.end(), [&](int64_t c) { return c == counts[0]; })) {
      factor = b.Constant(type, counts[0]);
    } else {
      factor = AlongDim(b, b.ConstantInts(type, counts, {w.out[i]}), input.size(), first + i);
    }
    if (!product.defined()) {
      product = factor;
    } else {
      const Dims dims = BroadcastDims(product.dims(), factor.dims(), call.name());
      product = b.Broadcast(product, dims) * b.Broadcast(factor, dims);
    }
  }
  return b.OptimizationBarrier({product})[0];
}

// aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0,
//     bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor
// aten::avg_pool3d(... int[3] ...) -> Tensor
template <size_t spatial>
Value AvgPool(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  const PoolWindow w = ReadPoolWindow(call, x.dims(), spatial, {1, 2, 3, -1, 4});
  const Dims out = WithTrailing(x.dims(), w.out);
  if (NumElements(out) == 0) return b.Constant(x.dtype(), 0, out);
  const DType type = AccumulateType(x.dtype());
  const Value sum =
      b.ReduceWindow("add", b.Convert(x, type), b.Constant(type, 0), FullWindow(w, x.dims()));
  const Value divisor = Divisor(b, call, w, x.dims(), {5, 6}, type);
  return b.Convert(sum / b.Broadcast(divisor, out), x.dtype());
}

// aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride,
//     int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor
// aten::avg_pool3d_backward(... int[3] ...) -> Tensor
//
// The adjoint of a window sum is a window sum over the gradient, dilated by the stride.
template <size_t spatial>
Value AvgPoolBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0), x = call.Tensor(1);
  const PoolWindow w = ReadPoolWindow(call, x.dims(), spatial, {2, 3, 4, -1, 5});
  const Dims out = WithTrailing(x.dims(), w.out);
  TORCH_CHECK(grad.dims() == out, call.name(), ": expected grad_output of size ", ToString(out),
              ", got ", ToString(grad.dims()));
  if (x.numel() == 0) return b.Constant(x.dtype(), 0, x.dims());
  const DType type = AccumulateType(grad.dtype());
  const Value divisor = Divisor(b, call, w, x.dims(), {6, 7}, type);
  const Value share = b.Convert(grad, type) / b.Broadcast(divisor, out);
  const size_t first = x.dims().size() - spatial;
  hlo::WindowDims full;
  full.sizes.assign(x.rank(), 1);
  full.base_dilations.assign(x.rank(), 1);
  full.padding_low.assign(x.rank(), 0);
  full.padding_high.assign(x.rank(), 0);
  for (size_t i = 0; i < spatial; ++i) {
    const size_t d = first + i;
    full.sizes[d] = w.kernel[i];
    full.base_dilations[d] = w.stride[i];
    full.padding_low[d] = w.kernel[i] - 1 - w.padding[i];
    full.padding_high[d] = x.dim(d) - 1 - (w.out[i] - 1) * w.stride[i] + w.padding[i];
  }
  return b.Convert(b.ReduceWindow("add", share, b.Constant(type, 0), full), grad.dtype());
}

}  // namespace

OpRows PoolingRows() {
  const OpRow::Flags first = {.channels_last = 1}, second = {.channels_last = 2};
  return {
      {"aten::max_pool2d_with_indices", MaxPoolWithIndices<2>, first},
      {"aten::max_pool3d_with_indices", MaxPoolWithIndices<3>, first},
      {"aten::max_pool2d_with_indices_backward", MaxPoolBackward<2>, second},
      {"aten::max_pool3d_with_indices_backward", MaxPoolBackward<3>, second},
      {"aten::avg_pool2d", AvgPool<2>, first},
      {"aten::avg_pool3d", AvgPool<3>, first},
      {"aten::avg_pool2d_backward", AvgPoolBackward<2>, second},
      {"aten::avg_pool3d_backward", AvgPoolBackward<3>, second},
  };
}

}  // namespace torch_tpu::lowering
