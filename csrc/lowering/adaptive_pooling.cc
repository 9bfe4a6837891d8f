// Pooling over irregular windows: adaptive, fractional, and the inverse of max pooling.
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>

#include "lowering/families.h"
#include "lowering/taps.h"
#include "lowering/window.h"

namespace torch_tpu::lowering {
namespace {

Dims SpatialOf(const Dims& dims, size_t spatial) {
  return Dims(dims.end() - static_cast<int64_t>(spatial), dims.end());
}

// Rank spatial + 1 or + 2; every dimension but a batch must have elements.
void CheckInput(const OpCall& call, const Dims& input, size_t spatial) {
  bool fits = input.size() == spatial + 1 || input.size() == spatial + 2;
  for (size_t i = input.size() == spatial + 2 ? 1 : 0; fits && i < input.size(); ++i) {
    fits = input[i] > 0;
  }
  TORCH_CHECK(fits, call.name(), ": Expected ", spatial + 1, "D or ", spatial + 2,
              "D tensor, and input to have non-zero size for non-batch dimensions, but got: ",
              ToString(input));
}

Dims ReadOutputSize(const OpCall& call, int i, size_t spatial) {
  const Dims out = call.IntsOfSize(i, spatial);
  for (int64_t n : out) {
    TORCH_CHECK(n >= 0, call.name(),
                ": elements of output_size must be greater than or equal to 0, but received ",
                ToString(out));
  }
  return out;
}

// The adaptive windows along one dimension: [floor(o n / m), ceil((o + 1) n / m)).
Taps AdaptiveWindows(int64_t n, int64_t m) {
  auto start = [&](int64_t o) { return o * n / m; };
  auto end = [&](int64_t o) { return ((o + 1) * n + m - 1) / m; };
  int64_t most = 1;
  for (int64_t o = 0; o < m; ++o) most = std::max(most, end(o) - start(o));
  Taps taps(n, m, most);
  for (int64_t o = 0; o < m; ++o) {
    const int64_t size = end(o) - start(o);
    for (int64_t t = 0; t < most; ++t) {
      taps.index[t][o] = start(o) + std::min(t, size - 1);  // in range also where unused
      taps.used[t][o] = t < size;
    }
  }
  return taps;
}

// Divides by the number of elements of each adaptive window, one dimension at a time as PyTorch
// does.
Value DivideByCounts(Builder& b, Value x, int64_t dim, const Taps& taps) {
  Dims counts(taps.output, 0);
  for (const auto& row : taps.used) {
    for (int64_t o = 0; o < taps.output; ++o) counts[o] += row[o];
  }
  // A run-time number to XLA, which would otherwise multiply by the reciprocal.
  const Value divisor =
      b.OptimizationBarrier({b.ConstantInts(x.dtype(), counts, {taps.output})})[0];
  return x / b.BroadcastInDim(divisor, x.dims(), {dim});
}

// aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor
// aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor
template <size_t spatial>
Value AdaptiveAvgPool(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckInput(call, x.dims(), spatial);
  const Dims out = ReadOutputSize(call, 1, spatial), dims = WithTrailing(x.dims(), out);
  if (NumElements(dims) == 0) return b.Constant(x.dtype(), 0, dims);
  TORCH_CHECK_NOT_IMPLEMENTED(IsFloat(x.dtype()) || IsComplex(x.dtype()), call.name(),
                              ": expected floating point values, got ", DTypeName(x.dtype()));
  const int64_t first = x.rank() - static_cast<int64_t>(spatial);
  Value y = b.Convert(x, AccumulateType(x.dtype()));
  std::vector<Taps> taps;
  for (size_t i = 0; i < spatial; ++i) {
    taps.push_back(AdaptiveWindows(x.dim(first + static_cast<int64_t>(i)), out[i]));
  }
  for (size_t i = spatial; i-- > 0;) {
    y = ApplyTaps(b, y, first + static_cast<int64_t>(i), taps[i]);
  }
  for (size_t i = 0; i < spatial; ++i) {
    y = DivideByCounts(b, y, first + static_cast<int64_t>(i), taps[i]);
  }
  return b.Convert(y, x.dtype());
}

// aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor
// aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor
template <size_t spatial>
Value AdaptiveAvgPoolBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0), x = call.Tensor(1);
  CheckInput(call, x.dims(), spatial);
  TORCH_CHECK(grad.dims() == WithTrailing(x.dims(), SpatialOf(grad.dims(), spatial)), call.name(),
              ": expected grad_output to match self ", ToString(x.dims()),
              " but for the spatial dimensions, got ", ToString(grad.dims()));
  if (grad.numel() == 0) return b.Constant(x.dtype(), 0, x.dims());
  const int64_t first = x.rank() - static_cast<int64_t>(spatial);
  Value y = b.Convert(grad, AccumulateType(grad.dtype()));
  for (int64_t d = first; d < x.rank(); ++d) {
    const Taps taps = AdaptiveWindows(x.dim(d), grad.dim(d));
    y = ApplyTaps(b, DivideByCounts(b, y, d, taps), d, taps.Adjoint());
  }
  return b.Convert(y, x.dtype());
}

// The maximum over the window dimensions of `x`, and where it lies: `position` of the same dims
// holds flat input positions. NaN is greater than every number; of equal values the first position
// wins, of NaNs the last.
Values MaxAndPosition(Builder& b, Value x, Value position, const Dims& window) {
  Values best =
      b.Reduce({x, position}, {b.LowestOf(x.dtype()), b.HighestOf(position.dtype())}, window,
               [](Builder& b, hlo::ValueRef v) { return GreaterPair(b, v[0], v[1], v[2], v[3]); });
  return {best[0], b.Convert(best[1], DType::Long)};
}

// aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)
// aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)
template <size_t spatial>
Values AdaptiveMaxPool(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckInput(call, x.dims(), spatial);
  const Dims out = ReadOutputSize(call, 1, spatial), dims = WithTrailing(x.dims(), out);
  TORCH_CHECK_NOT_IMPLEMENTED(IsFloat(x.dtype()), call.name(),
                              ": expected floating point values, got ", DTypeName(x.dtype()));
  if (NumElements(dims) == 0) {
    return {b.Constant(x.dtype(), 0, dims), b.Constant(DType::Long, 0, dims)};
  }
  // Each spatial dimension becomes (output, window); short windows repeat their last element.
  Value y = x, position = FlatPosition(b, x.dims(), spatial);
  Dims window;
  int64_t d = x.rank() - static_cast<int64_t>(spatial);
  for (size_t i = 0; i < spatial; ++i, d += 2) {
    const Taps taps = AdaptiveWindows(y.dim(d), out[i]);
    Dims index;
    for (int64_t o = 0; o < taps.output; ++o) {
      for (int64_t t = 0; t < taps.count(); ++t) index.push_back(taps.index[t][o]);
    }
    Dims split = y.dims();
    split[d] = taps.count();
    split.insert(split.begin() + d, taps.output);
    y = b.Reshape(Take(b, y, d, index), split);
    position = b.Reshape(Take(b, position, d, index), split);
    window.push_back(d + 1);
  }
  return MaxAndPosition(b, y, position, window);
}

// [batch..., *spatial] as [batch, plane].
Value Planes(Builder& b, Value x, size_t spatial) {
  const int64_t plane = NumElements(SpatialOf(x.dims(), spatial));
  return b.Reshape(x, {plane == 0 ? 0 : x.numel() / plane, plane});
}

// `values` put at flat positions `indices` of zero planes of `dims`: added up, or the last one
// wins.
Value ScatterIntoPlanes(Builder& b, const OpCall& call, Value values, Value indices,
                        const Dims& dims, size_t spatial, bool add) {
  const DType type = add ? AccumulateType(values.dtype()) : values.dtype();
  const int64_t plane = NumElements(SpatialOf(dims, spatial));
  const Value zeros = b.Constant(type, 0, dims);
  if (values.numel() == 0 || zeros.numel() == 0) return b.Convert(zeros, values.dtype());
  const Value updates = Planes(b, b.Convert(values, type), spatial);
  const Value at = Planes(b, b.Convert(indices, DType::Long), spatial);
  call.RequireIndex(
      All(b, b.And(b.Ge(at, b.ConstantLike(at, 0)), b.Lt(at, b.ConstantLike(at, plane)))),
      "found an invalid max index: expected 0 <= index < " + std::to_string(plane));
  hlo::ScatterDims s;
  s.inserted_dims = {1};
  s.operand_batching = {0};
  s.indices_batching = {0};
  s.scatter_to_operand = {1};
  s.index_vector_dim = 2;
  const Value flat = b.Scatter(
      Planes(b, zeros, spatial), b.Reshape(at, {at.dim(0), at.dim(1), 1}), updates, s,
      [&](Builder& b, hlo::ValueRef v) -> Values { return {add ? v[0] + v[1] : v[1]}; })[0];
  return b.Convert(b.Reshape(flat, dims), values.dtype());
}

// aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor
// aten::adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor
// aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size,
//     int[2] output_size, Tensor indices) -> Tensor
// aten::fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size,
//     int[3] output_size, Tensor indices) -> Tensor
template <size_t spatial, int indices_argument>
Value MaxPoolScatterBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0), x = call.Tensor(1), indices = call.Tensor(indices_argument);
  TORCH_CHECK(grad.dims() == indices.dims(), call.name(),
              ": expected grad_output and indices of the same size, got ", ToString(grad.dims()),
              " and ", ToString(indices.dims()));
  TORCH_CHECK(grad.dims() == WithTrailing(x.dims(), SpatialOf(grad.dims(), spatial)), call.name(),
              ": expected grad_output to match self ", ToString(x.dims()),
              " but for the spatial dimensions, got ", ToString(grad.dims()));
  TORCH_CHECK(grad.dtype() == x.dtype(), call.name(), ": expected dtype ", DTypeName(x.dtype()),
              " for grad_output but got dtype ", DTypeName(grad.dtype()));
  return ScatterIntoPlanes(b, call, grad, indices, x.dims(), spatial, /*add=*/true);
}

// aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor
// aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride,
//     int[3] padding) -> Tensor
template <size_t spatial>
Value MaxUnpool(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), indices = call.Tensor(1);
  TORCH_CHECK(indices.dtype() == DType::Long, call.name(),
              ": elements in indices should be type int64 but got: ", DTypeName(indices.dtype()));
  const Dims out = call.Ints(2);
  TORCH_CHECK(out.size() == spatial, call.name(), ": There should be exactly ", spatial,
              " elements in output_size, but got ", out.size(), " elements.");
  TORCH_CHECK(x.dims().size() == spatial + 1 || x.dims().size() == spatial + 2, call.name(),
              ": Input to max_unpooling", spatial, "d should be a ", spatial + 1, "d or ",
              spatial + 2, "d Tensor, but got a tensor with dim ", x.rank());
  TORCH_CHECK(x.dims() == indices.dims(), call.name(),
              ": Expected shape of indices to be same as that of the input tensor ",
              ToString(x.dims()), " but got indices tensor with shape: ", ToString(indices.dims()));
  for (size_t i = x.dims().size() == spatial + 2 ? 1 : 0; i < x.dims().size(); ++i) {
    TORCH_CHECK(x.dims()[i] > 0, call.name(),
                ": Expected input to have non-zero size for "
                "non-batch dimensions, but got ",
                ToString(x.dims()), " with dimension ", i, " being empty.");
  }
  if (spatial == 3) {
    const Dims stride = call.Ints(3), padding = call.Ints(4);
    TORCH_CHECK(stride.size() == 3 && padding.size() == 3, call.name(),
                ": There should be exactly 3 elements in stride and padding, but got ",
                stride.size(), " and ", padding.size(), " elements.");
    for (int64_t s : stride) {
      TORCH_CHECK(s > 0, call.name(),
                  ": strides should be greater than zero, but got stride: ", ToString(stride));
    }
  }
  return ScatterIntoPlanes(b, call, x, indices, WithTrailing(x.dims(), out), spatial,
                           /*add=*/false);
}

// aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size,
//     Tensor random_samples) -> (Tensor, Tensor)
// aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size,
//     Tensor random_samples) -> (Tensor, Tensor)
template <size_t spatial>
Values FractionalMaxPool(Builder& b, const OpCall& call) {
  const Value input = call.Tensor(0), samples = call.Tensor(3);
  const Dims kernel = call.IntsOfSize(1, spatial), out = call.IntsOfSize(2, spatial);
  CheckInput(call, input.dims(), spatial);
  const bool batched = input.dims().size() == spatial + 2;
  Dims dims = input.dims();
  if (!batched) dims.insert(dims.begin(), 1);
  for (size_t i = 0; i < spatial; ++i) {
    TORCH_CHECK(kernel[i] > 0 && out[i] > 0, call.name(),
                ": expected positive kernel_size and output_size, got ", ToString(kernel), " and ",
                ToString(out));
    TORCH_CHECK(out[i] + kernel[i] - 1 <= dims[2 + i], call.name(), ": pool size ", kernel[i],
                " too large relative to input size ", dims[2 + i], " at dimension ", i);
  }
  TORCH_CHECK(samples.dtype() == input.dtype(), call.name(),
              ": Expect _random_samples to have the same dtype as input, got ",
              DTypeName(samples.dtype()), " and ", DTypeName(input.dtype()));
  TORCH_CHECK(samples.rank() == 3 && samples.dim(0) >= dims[0] && samples.dim(1) >= dims[1] &&
                  samples.dim(2) == static_cast<int64_t>(spatial),
              call.name(), ": Expect _random_samples of size [", dims[0], ", ", dims[1], ", ",
              spatial, "], got ", ToString(samples.dims()));
  const Dims result = WithTrailing(input.dims(), out);
  if (NumElements(result) == 0) {
    return {b.Constant(input.dtype(), 0, result), b.Constant(DType::Long, 0, result)};
  }
  // All planes together: [p, *spatial]; each spatial dimension becomes (output, window).
  const int64_t planes = dims[0] * dims[1];
  Dims flat = {planes};
  flat.insert(flat.end(), dims.begin() + 2, dims.end());
  Value y = b.Reshape(input, flat), position = FlatPosition(b, flat, spatial);
  const DType type = AccumulateType(input.dtype());
  const Value sample = b.Convert(
      b.Reshape(b.Slice(samples, {0, 0, 0}, {dims[0], dims[1], static_cast<int64_t>(spatial)}),
                {planes, static_cast<int64_t>(spatial)}),
      type);
  Dims window;
  int64_t d = 1;
  for (size_t i = 0; i < spatial; ++i, d += 2) {
    // Samples of two dimensions run from the last one; the last window touches the end.
    const int64_t column = static_cast<int64_t>(spatial == 2 ? 1 - i : i), n = y.dim(d);
    const Dims starts = {planes, out[i]};
    Value start;
    if (out[i] > 1) {
      const double alpha = static_cast<double>(n - kernel[i]) / static_cast<double>(out[i] - 1);
      const Value s = b.BroadcastInDim(
          b.Reshape(b.SliceDim(sample, 1, column, column + 1), {planes}), starts, {0});
      const Value o = b.Iota(type, starts, 1);
      auto truncated = [&](Value v) { return b.Convert(v * alpha, DType::Int); };
      start = truncated(o + s) - truncated(s);
      const Value last = b.Eq(o, b.ConstantLike(o, out[i] - 1));
      start = b.Select(last, b.ConstantLike(start, n - kernel[i]), start);
    } else {
      start = b.Constant(DType::Int, n - kernel[i], starts);
    }
    const Dims grid = {planes, out[i], kernel[i], 1};
    const Value index = b.BroadcastInDim(start, grid, {0, 1}) + b.Iota(DType::Int, grid, 2);
    hlo::GatherDims g;
    g.slice_sizes = y.dims();
    g.slice_sizes[0] = g.slice_sizes[d] = 1;
    g.operand_batching = {0};
    g.indices_batching = {0};
    g.collapsed_dims = {d};
    g.start_index_map = {d};
    g.index_vector_dim = 3;
    for (int64_t k = 1; k <= y.rank(); ++k) {
      if (k != d && k != d + 1) g.offset_dims.push_back(k);
    }
    y = b.Gather(y, index, g);
    position = b.Gather(position, index, g);
    window.push_back(d + 1);
  }
  Values best = MaxAndPosition(b, y, position, window);
  return {b.Reshape(best[0], result), b.Reshape(best[1], result)};
}

}  // namespace

OpRows AdaptivePoolingRows() {
  const OpRow::Flags first = {.channels_last = 1}, second = {.channels_last = 2};
  return {
      {"aten::_adaptive_avg_pool2d", AdaptiveAvgPool<2>, first},
      {"aten::_adaptive_avg_pool3d", AdaptiveAvgPool<3>, first},
      {"aten::_adaptive_avg_pool2d_backward", AdaptiveAvgPoolBackward<2>, second},
      {"aten::_adaptive_avg_pool3d_backward", AdaptiveAvgPoolBackward<3>, second},
      {"aten::adaptive_max_pool2d", AdaptiveMaxPool<2>, first},
      {"aten::adaptive_max_pool3d", AdaptiveMaxPool<3>, first},
      {"aten::adaptive_max_pool2d_backward", MaxPoolScatterBackward<2, 2>, second},
      {"aten::adaptive_max_pool3d_backward", MaxPoolScatterBackward<3, 2>, second},
      {"aten::fractional_max_pool2d", FractionalMaxPool<2>},
      {"aten::fractional_max_pool3d", FractionalMaxPool<3>},
      {"aten::fractional_max_pool2d_backward", MaxPoolScatterBackward<2, 4>},
      {"aten::fractional_max_pool3d_backward", MaxPoolScatterBackward<3, 4>},
      {"aten::max_unpool2d", MaxUnpool<2>, first},
      {"aten::max_unpool3d", MaxUnpool<3>},
  };
}

}  // namespace torch_tpu::lowering
