// Resampling of the trailing spatial dimensions: nearest, linear, cubic, with and without
// antialiasing, and gradients. All are separable: one sparse map per dimension, the last dimension
// first.
//
// Positions and weights are computed here in the same floating type as PyTorch's CPU kernels, so
// that the same source elements are chosen. A given scale factor is used as given; the ratio of
// sizes stands in only where there is none.
#include <c10/util/Exception.h>

#include <cmath>
#include <optional>

#include "lowering/families.h"
#include "lowering/taps.h"

namespace torch_tpu::lowering {
namespace {

enum class Mode { kNearest, kNearestExact, kLinear, kCubic, kLinearAA, kCubicAA, kLanczosAA };

constexpr bool IsNearest(Mode mode) {
  return mode == Mode::kNearest || mode == Mode::kNearestExact;
}
constexpr bool IsAntialiased(Mode mode) { return mode >= Mode::kLinearAA; }

struct Axis {
  int64_t input, output;
  bool align_corners;
  std::optional<double> scale;  // output / input, as the user gave it
};

// Input steps per output step.
template <typename T>
T StepOf(const Axis& a) {
  if (a.align_corners) {
    return a.output > 1 ? static_cast<T>(a.input - 1) / static_cast<T>(a.output - 1) : T(0);
  }
  if (a.scale && *a.scale > 0) return static_cast<T>(1.0 / *a.scale);
  return static_cast<T>(a.input) / static_cast<T>(a.output);
}

template <typename T>
T SourcePosition(const Axis& a, T step, int64_t o, bool cubic) {
  if (a.align_corners) return step * static_cast<T>(o);
  const T position = step * (static_cast<T>(o) + T(0.5)) - T(0.5);
  return !cubic && position < T(0) ? T(0) : position;
}

template <typename T>
Taps Nearest(const Axis& a, bool exact) {
  Taps taps(a.input, a.output, 1);
  const T step = StepOf<T>(a);
  for (int64_t o = 0; o < a.output; ++o) {
    const T position =
        exact ? step * (static_cast<T>(o) + T(0.5)) - T(0.5) + T(0.5) : step * static_cast<T>(o);
    const int64_t i = static_cast<int64_t>(std::floor(static_cast<float>(position)));
    taps.index[0][o] = std::clamp<int64_t>(i, 0, a.input - 1);
  }
  return taps;
}

// The gradient kernels of the CPU choose the source by another formula, always in float32.
Taps NearestForGradient(const Axis& a, bool exact) {
  Taps taps(a.input, a.output, 1);
  const float step = StepOf<float>(a);
  for (int64_t o = 0; o < a.output; ++o) {
    int64_t i;
    if (a.output == a.input) {
      i = o;
    } else if (a.output == 2 * a.input) {
      i = o / 2;
    } else {
      i = static_cast<int64_t>(std::floor((static_cast<float>(o) + (exact ? 0.5f : 0.0f)) * step));
    }
    taps.index[0][o] = std::min(i, a.input - 1);
  }
  return taps;
}

template <typename T>
Taps Linear(const Axis& a) {
  if (a.input == a.output) {
    Taps copy(a.input, a.output, 1);
    for (int64_t o = 0; o < a.output; ++o) copy.index[0][o] = o;
    return copy;
  }
  Taps taps(a.input, a.output, 2);
  const T step = StepOf<T>(a);
  for (int64_t o = 0; o < a.output; ++o) {
    const T position = SourcePosition<T>(a, step, o, false);
    const int64_t low = std::min<int64_t>(static_cast<int64_t>(position), a.input - 1);
    const T fraction = std::min(std::max(position - static_cast<T>(low), T(0)), T(1));
    taps.index[0][o] = low;
    taps.index[1][o] = std::min(low + 1, a.input - 1);
    taps.weight[0][o] = T(1) - fraction;
    taps.weight[1][o] = fraction;
  }
  return taps;
}

// Keys' cubic convolution with a = -0.75.
template <typename T>
Taps Cubic(const Axis& a) {
  Taps taps(a.input, a.output, 4);
  const T step = StepOf<T>(a), k = T(-0.75);
  auto inner = [&](T x) { return ((k + T(2)) * x - (k + T(3))) * x * x + T(1); };
  auto outer = [&](T x) { return ((k * x - T(5) * k) * x + T(8) * k) * x - T(4) * k; };
  for (int64_t o = 0; o < a.output; ++o) {
    const T position = SourcePosition<T>(a, step, o, true);
    const int64_t low = std::min<int64_t>(static_cast<int64_t>(std::floor(position)), a.input - 1);
    const T x = std::min(std::max(position - static_cast<T>(low), T(0)), T(1));
    const T weights[4] = {outer(x + T(1)), inner(x), inner(T(1) - x), outer(T(2) - x)};
    for (int64_t t = 0; t < 4; ++t) {
      taps.index[t][o] = std::clamp<int64_t>(low - 1 + t, 0, a.input - 1);
      taps.weight[t][o] = weights[t];
    }
  }
  return taps;
}

template <typename T>
T Filter(Mode mode, T x) {
  x = std::abs(x);
  if (mode == Mode::kLinearAA) return x < T(1) ? T(1) - x : T(0);
  if (mode == Mode::kLanczosAA) {
    auto sinc = [](T v) { return v == T(0) ? T(1) : std::sin(T(M_PI) * v) / (T(M_PI) * v); };
    return x < T(3) ? sinc(x) * sinc(x / T(3)) : T(0);
  }
  const T k = T(-0.5);
  if (x < T(1)) return ((k + T(2)) * x - (k + T(3))) * x * x + T(1);
  if (x < T(2)) return (((x - T(5)) * x + T(8)) * x - T(4)) * k;
  return T(0);
}

template <typename T>
Taps Antialiased(const Axis& a, Mode mode) {
  const T step = StepOf<T>(a);
  const T reach = mode == Mode::kLinearAA ? T(1) : mode == Mode::kCubicAA ? T(2) : T(3);
  const T support = step >= T(1) ? reach * step : reach;
  const T shrink = step >= T(1) ? T(1) / step : T(1);
  const int64_t most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  Taps taps(a.input, a.output, std::min(most, a.input));
  for (int64_t o = 0; o < a.output; ++o) {
    const T center = step * (static_cast<T>(o) + T(0.5));
    const int64_t low = std::max<int64_t>(static_cast<int64_t>(center - support + T(0.5)), 0);
    const int64_t high =
        std::min<int64_t>(static_cast<int64_t>(center + support + T(0.5)), a.input);
    const int64_t size = std::clamp<int64_t>(high - low, 0, taps.count());
    T total = 0;
    std::vector<T> weights;
    for (int64_t t = 0; t < size; ++t) {
      weights.push_back(Filter<T>(mode, (static_cast<T>(t + low) - center + T(0.5)) * shrink));
      total += weights.back();
    }
    for (int64_t t = 0; t < taps.count(); ++t) {
      taps.used[t][o] = t < size;
      taps.index[t][o] = t < size ? low + t : 0;
      taps.weight[t][o] = t < size ? (total != T(0) ? weights[t] / total : weights[t]) : T(0);
    }
  }
  return taps;
}

template <typename T>
Taps MakeTaps(const Axis& axis, Mode mode, bool gradient) {
  switch (mode) {
    case Mode::kNearest:
    case Mode::kNearestExact:
      return gradient ? NearestForGradient(axis, mode == Mode::kNearestExact)
                      : Nearest<T>(axis, mode == Mode::kNearestExact);
    case Mode::kLinear:
      return Linear<T>(axis);
    case Mode::kCubic:
      return Cubic<T>(axis);
    default:
      return Antialiased<T>(axis, mode);
  }
}

// Reads align_corners (where the mode has it) and the scales, starting at argument `next`.
std::vector<Axis> ReadAxes(const OpCall& call, const Dims& input, const Dims& output, Mode mode,
                           int next) {
  const size_t spatial = output.size();
  const bool align_corners = IsNearest(mode) ? false : call.Bool(next++);
  std::vector<Axis> axes;
  for (size_t i = 0; i < spatial; ++i) {
    Axis a = {input[input.size() - spatial + i], output[i], align_corners, std::nullopt};
    const int scale = next + static_cast<int>(i);
    if (!call.IsNone(scale)) a.scale = call.StaticNumber(scale).toDouble();
    axes.push_back(a);
  }
  return axes;
}

void CheckSizes(const OpCall& call, const Dims& input, const Dims& output, size_t spatial) {
  TORCH_CHECK(output.size() == spatial, call.name(), ": It is expected output_size equals to ",
              spatial, ", but got size ", output.size());
  TORCH_CHECK(input.size() == spatial + 2, call.name(), ": It is expected input_size equals to ",
              spatial + 2, ", but got size ", input.size());
  const Dims in(input.begin() + 2, input.end());
  auto positive = [](const Dims& dims) {
    return std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d > 0; });
  };
  TORCH_CHECK(positive(in) && positive(output), call.name(),
              ": Input and output sizes should be greater than 0, but got input ", ToString(in),
              " output ", ToString(output));
  TORCH_CHECK(input[1] > 0, call.name(), ": Non-empty ", spatial + 2,
              "D data tensor expected but got a tensor with sizes ", ToString(input));
}

// uint8 images are resampled in fixed point, as PyTorch and Pillow do: 16-bit weights with as many
// fraction bits as the largest weight leaves room for, rounded to a byte after each dimension.
Value ApplyToBytes(Builder& b, Value x, int64_t dim, Taps taps) {
  double largest = 0;
  for (int64_t o = 0; o < taps.output; ++o) {  // what falls outside is merged into the border
    for (int64_t t = 1; t < taps.count(); ++t) {
      for (int64_t first = 0; first < t && taps.used[t][o]; ++first) {
        if (!taps.used[first][o] || taps.index[first][o] != taps.index[t][o]) continue;
        taps.weight[first][o] += taps.weight[t][o];
        taps.used[t][o] = false;
      }
    }
    for (int64_t t = 0; t < taps.count(); ++t) {
      if (taps.used[t][o]) largest = std::max(largest, taps.weight[t][o]);
    }
  }
  int bits = 0;
  while (bits < 22 && static_cast<int>(0.5 + largest * (1 << (bits + 1))) < (1 << 15)) ++bits;
  for (auto& row : taps.weight) {
    for (double& w : row) w = std::trunc(w * (1 << bits) + (w < 0 ? -0.5 : 0.5));
  }
  const Value sum = ApplyTaps(b, b.Convert(x, DType::Int), dim, taps) +
                    static_cast<double>(bits > 0 ? 1 << (bits - 1) : 0);
  const Value shifted = b.Binary("shift_right_arithmetic", sum, b.ConstantLike(sum, bits));
  return b.Convert(b.Clamp(b.Constant(DType::Int, 0), shifted, b.Constant(DType::Int, 255)),
                   DType::Byte);
}

Value Resample(Builder& b, Value x, const std::vector<Axis>& axes, Mode mode, bool gradient) {
  const bool bytes = x.dtype() == DType::Byte && !IsNearest(mode);
  const bool wide = x.dtype() == DType::Double || bytes;
  const int64_t first = x.rank() - static_cast<int64_t>(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    const Taps taps =
        wide ? MakeTaps<double>(axes[i], mode, gradient) : MakeTaps<float>(axes[i], mode, gradient);
    const int64_t dim = first + static_cast<int64_t>(i);
    x = bytes ? ApplyToBytes(b, x, dim, taps)
              : ApplyTaps(b, x, dim, gradient ? taps.Adjoint() : taps);
  }
  return x;
}

// aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None,
//     float? scales_w=None) -> Tensor
// aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners,
//     float? scales_h=None, float? scales_w=None) -> Tensor
// and their kin of one to three dimensions.
template <Mode mode, size_t spatial>
Value Upsample(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  const Dims output = call.Ints(1);
  CheckSizes(call, x.dims(), output, spatial);
  TORCH_CHECK_NOT_IMPLEMENTED(IsFloat(x.dtype()) || x.dtype() == DType::Byte, call.name(),
                              ": expected floating point or uint8 values, got ",
                              DTypeName(x.dtype()));
  const std::vector<Axis> axes = ReadAxes(call, x.dims(), output, mode, 2);
  Dims dims = {x.dim(0), x.dim(1)};
  dims.insert(dims.end(), output.begin(), output.end());
  if (NumElements(dims) == 0) return b.Constant(x.dtype(), 0, dims);
  if (IsNearest(mode)) return Resample(b, x, axes, mode, false);
  return b.Convert(Resample(b, b.Convert(x, AccumulateType(x.dtype())), axes, mode, false),
                   x.dtype());
}

// aten::upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4]
// input_size,
//     float? scales_h=None, float? scales_w=None) -> Tensor
// aten::upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4]
// input_size,
//     bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
// and their kin of one to three dimensions.
template <Mode mode, size_t spatial>
Value UpsampleBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0);
  const Dims output = call.Ints(1), input = call.Ints(2);
  CheckSizes(call, input, output, spatial);
  Dims expected = {input[0], input[1]};
  expected.insert(expected.end(), output.begin(), output.end());
  TORCH_CHECK(grad.dims() == expected, call.name(), ": Expected grad_output of size ",
              ToString(expected), ", but got ", ToString(grad.dims()));
  const std::vector<Axis> axes = ReadAxes(call, input, output, mode, 3);
  if (NumElements(input) == 0) return b.Constant(grad.dtype(), 0, input);
  const Value wide = b.Convert(grad, AccumulateType(grad.dtype()));
  return b.Convert(Resample(b, wide, axes, mode, true), grad.dtype());
}

// Scales choose source elements: they are part of the program.
OpRow::Flags Scales(int first, int spatial) {
  OpRow::Flags flags;
  flags.channels_last = 1;
  flags.static_numbers = ((1u << spatial) - 1) << first;
  return flags;
}

template <Mode mode, size_t spatial>
void AddPair(OpRows& rows, const char* forward, const char* backward) {
  const int corners = IsNearest(mode) ? 0 : 1;
  rows.push_back({forward, Upsample<mode, spatial>, Scales(2 + corners, spatial)});
  if (backward != nullptr) {
    rows.push_back({backward, UpsampleBackward<mode, spatial>, Scales(3 + corners, spatial)});
  }
}

}  // namespace

OpRows InterpolationRows() {
  OpRows rows;
  AddPair<Mode::kNearest, 1>(rows, "aten::upsample_nearest1d", "aten::upsample_nearest1d_backward");
  AddPair<Mode::kNearest, 2>(rows, "aten::upsample_nearest2d", "aten::upsample_nearest2d_backward");
  AddPair<Mode::kNearest, 3>(rows, "aten::upsample_nearest3d", "aten::upsample_nearest3d_backward");
  AddPair<Mode::kNearestExact, 1>(rows, "aten::_upsample_nearest_exact1d",
                                  "aten::_upsample_nearest_exact1d_backward");
  AddPair<Mode::kNearestExact, 2>(rows, "aten::_upsample_nearest_exact2d",
                                  "aten::_upsample_nearest_exact2d_backward");
  AddPair<Mode::kNearestExact, 3>(rows, "aten::_upsample_nearest_exact3d",
                                  "aten::_upsample_nearest_exact3d_backward");
  AddPair<Mode::kLinear, 1>(rows, "aten::upsample_linear1d", "aten::upsample_linear1d_backward");
  AddPair<Mode::kLinear, 2>(rows, "aten::upsample_bilinear2d",
                            "aten::upsample_bilinear2d_backward");
  AddPair<Mode::kLinear, 3>(rows, "aten::upsample_trilinear3d",
                            "aten::upsample_trilinear3d_backward");
  AddPair<Mode::kCubic, 2>(rows, "aten::upsample_bicubic2d", "aten::upsample_bicubic2d_backward");
  AddPair<Mode::kLinearAA, 2>(rows, "aten::_upsample_bilinear2d_aa",
                              "aten::_upsample_bilinear2d_aa_backward");
  AddPair<Mode::kCubicAA, 2>(rows, "aten::_upsample_bicubic2d_aa",
                             "aten::_upsample_bicubic2d_aa_backward");
  AddPair<Mode::kLanczosAA, 2>(rows, "aten::_upsample_lanczos2d_aa", nullptr);
  return rows;
}

}  // namespace torch_tpu::lowering
