#include "lowering/window.h"

#include <c10/util/Exception.h>

#include <limits>

namespace torch_tpu::lowering {
namespace {

// Positions of a window; in ceil mode the last one must start inside the input or its low padding.
int64_t WindowCount(int64_t input, int64_t kernel, int64_t stride, int64_t padding,
                    int64_t dilation, bool ceil_mode) {
  const int64_t span = dilation * (kernel - 1) + 1;
  const int64_t room = input + 2 * padding - span + (ceil_mode ? stride - 1 : 0);
  int64_t count = (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
  if (ceil_mode && (count - 1) * stride >= input + padding) --count;
  return count;
}

}  // namespace

PoolWindow ReadPoolWindow(const OpCall& call, const Dims& input, size_t spatial,
                          const PoolArgs& args) {
  const int64_t rank = static_cast<int64_t>(input.size());
  const int64_t first = rank - static_cast<int64_t>(spatial);
  bool fits =
      rank == static_cast<int64_t>(spatial) + 1 || rank == static_cast<int64_t>(spatial) + 2;
  // Only a batch dimension may be empty.
  for (int64_t i = first == 2 ? 1 : 0; fits && i < rank; ++i) fits = input[i] > 0;
  TORCH_CHECK(
      fits, call.name(), ": Expected ", spatial + 1, "D or ", spatial + 2,
      "D (batch mode) tensor with optional 0 dim batch size for input, but got: ", ToString(input));
  PoolWindow w;
  w.kernel = call.IntsOfSize(args.kernel, spatial);
  w.stride = call.Ints(args.stride).empty() ? w.kernel : call.IntsOfSize(args.stride, spatial);
  w.padding = call.IntsOfSize(args.padding, spatial);
  w.dilation = args.dilation < 0 ? Dims(spatial, 1) : call.IntsOfSize(args.dilation, spatial);
  w.ceil_mode = call.Bool(args.ceil_mode);
  for (size_t i = 0; i < spatial; ++i) {
    TORCH_CHECK(w.kernel[i] > 0, call.name(), ": kernel size should be greater than zero, but got ",
                ToString(w.kernel));
    TORCH_CHECK(w.stride[i] > 0, call.name(), ": stride should be greater than zero, but got ",
                ToString(w.stride));
    TORCH_CHECK(w.dilation[i] > 0, call.name(), ": dilation should be greater than zero, but got ",
                ToString(w.dilation));
    TORCH_CHECK(w.padding[i] >= 0, call.name(),
                ": pad must be non-negative, but got pad: ", w.padding[i]);
    TORCH_CHECK(w.padding[i] <= ((w.kernel[i] - 1) * w.dilation[i] + 1) / 2, call.name(),
                ": pad should be at most half of effective kernel size, but got pad=", w.padding[i],
                ", kernel_size=", w.kernel[i], " and dilation=", w.dilation[i]);
    w.out.push_back(WindowCount(input[first + i], w.kernel[i], w.stride[i], w.padding[i],
                                w.dilation[i], w.ceil_mode));
  }
  for (int64_t n : w.out) {
    TORCH_CHECK(n >= 1, call.name(), ": Given input size: ", ToString(input),
                ". Calculated output size: ", ToString(w.out), ". Output size is too small");
  }
  return w;
}

hlo::WindowDims FullWindow(const PoolWindow& window, const Dims& input) {
  const size_t rank = input.size(), first = rank - window.spatial();
  hlo::WindowDims full;
  full.sizes.assign(rank, 1);
  full.strides.assign(rank, 1);
  full.window_dilations.assign(rank, 1);
  full.padding_low.assign(rank, 0);
  full.padding_high.assign(rank, 0);
  for (size_t i = 0; i < window.spatial(); ++i) {
    const size_t d = first + i;
    full.sizes[d] = window.kernel[i];
    full.strides[d] = window.stride[i];
    full.window_dilations[d] = window.dilation[i];
    full.padding_low[d] = window.padding[i];
    full.padding_high[d] = (window.out[i] - 1) * window.stride[i] +
                           (window.kernel[i] - 1) * window.dilation[i] + 1 - input[d] -
                           window.padding[i];
  }
  return full;
}

Value FlatPosition(Builder& b, const Dims& dims, size_t spatial) {
  const size_t first = dims.size() - spatial;
  const int64_t plane = NumElements(IntArrayRef(dims).slice(first));
  const DType type = plane > std::numeric_limits<int32_t>::max() ? DType::Long : DType::Int;
  Value flat;
  int64_t step = 1;
  for (size_t d = dims.size(); d-- > first;) {
    Value along = b.Iota(type, dims, static_cast<int64_t>(d));
    if (step != 1) along = along * static_cast<double>(step);
    flat = flat.defined() ? flat + along : along;
    step *= dims[d];
  }
  return flat;
}

Values GreaterPair(Builder& b, Value x, Value i, Value y, Value j) {
  Value take_y = b.Or(b.Gt(y, x), b.And(b.Eq(y, x), b.Lt(j, i)));
  if (IsFloat(x.dtype())) {
    const Value x_nan = b.Ne(x, x), y_nan = b.Ne(y, y);
    take_y = b.Or(b.And(y_nan, b.Or(b.Not(x_nan), b.Gt(j, i))), b.And(b.Not(x_nan), take_y));
  }
  return {b.Select(take_y, y, x), b.Select(take_y, j, i)};
}

Dims WithTrailing(const Dims& dims, const Dims& spatial) {
  Dims result(dims.begin(), dims.end() - static_cast<int64_t>(spatial.size()));
  result.insert(result.end(), spatial.begin(), spatial.end());
  return result;
}

}  // namespace torch_tpu::lowering
