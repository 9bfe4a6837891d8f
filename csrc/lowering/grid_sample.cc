// Sampling at positions given by a tensor, the gradients, and grids of affine maps.
#include <c10/util/Exception.h>

#include <algorithm>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

enum Interpolation : int64_t { kLinear = 0, kNearest = 1, kCubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// A position along one input dimension and its derivative by the grid coordinate.
struct Position {
  Value at, slope;
};

// One corner of the cell around each sample.
struct Corner {
  Values index;     // per dimension
  Value weight;     // product of the dimensions' weights
  Values gradient;  // derivative of `weight` by each dimension's position
};

class Sampler {
 public:
  // Arguments input, grid, interpolation_mode, padding_mode, align_corners start at `first`.
  Sampler(Builder& b, const OpCall& call, int first, int64_t spatial);

  const Dims& output() const { return output_; }
  Value Forward();
  // {grad_input, grad_grid} as far as asked for.
  Values Backward(Value grad, const std::vector<bool>& mask);

 private:
  Value Number(double v) { return b_.Constant(type_, v, points_); }
  Position Unnormalize(Value x, int64_t size);
  Position Clip(Position p, int64_t size);
  Position Reflect(Position p, int64_t size);
  Position Place(Position p, int64_t size);
  std::vector<Corner> Corners();
  std::vector<Corner> CubicCorners();
  Value InRange(const Corner& corner);
  Value FlatIndex(const Corner& corner);
  Value Gather(Value flat);
  Value Stacked(const Values& parts);
  struct Cells {
    int64_t count;
    Value index, in, weight;  // weight is undefined for nearest
    Values gradient;
  };
  Cells AllCells();

  Builder& b_;
  int64_t spatial_, n_, c_, p_, mode_, padding_;
  bool align_;
  DType dtype_, type_;
  Dims input_dims_, grid_dims_, output_, points_;
  Value input_;            // [n, c, plane]
  std::vector<Value> at_;  // grid coordinates by input dimension, [n, p]
  std::vector<Position> positions_;
};

Sampler::Sampler(Builder& b, const OpCall& call, int first, int64_t spatial)
    : b_(b),
      spatial_(spatial),
      mode_(call.Int(first + 2)),
      padding_(call.Int(first + 3)),
      align_(call.Bool(first + 4)) {
  const Value input = call.Tensor(first), grid = call.Tensor(first + 1);
  TORCH_CHECK(input.dtype() == grid.dtype(), call.name(),
              ": expected input and grid to have same dtype, but input has ",
              DTypeName(input.dtype()), " and grid has ", DTypeName(grid.dtype()));
  TORCH_CHECK_NOT_IMPLEMENTED(IsFloat(input.dtype()), call.name(),
                              ": expected floating point values, got ", DTypeName(input.dtype()));
  TORCH_CHECK(input.rank() == spatial + 2 && grid.rank() == spatial + 2, call.name(), ": expected ",
              spatial + 2, "D input and grid, got sizes ", ToString(input.dims()), " and ",
              ToString(grid.dims()));
  TORCH_CHECK(input.dim(0) == grid.dim(0), call.name(),
              ": expected grid and input to have same batch size, but got input with sizes ",
              ToString(input.dims()), " and grid with sizes ", ToString(grid.dims()));
  TORCH_CHECK(grid.dim(-1) == spatial, call.name(), ": expected grid to have size ", spatial,
              " in last dimension, but got grid with sizes ", ToString(grid.dims()));
  for (int64_t d = 2; d < input.rank(); ++d) {
    TORCH_CHECK(input.dim(d) > 0, call.name(),
                ": expected input to have non-empty spatial dimensions, but input has sizes ",
                ToString(input.dims()));
  }
  TORCH_CHECK(mode_ >= kLinear && mode_ <= (spatial == 2 ? kCubic : kNearest), call.name(),
              ": expected a supported interpolation mode, got ", mode_);
  TORCH_CHECK(padding_ >= kZeros && padding_ <= kReflection, call.name(),
              ": expected a supported padding mode, got ", padding_);
  dtype_ = input.dtype();
  type_ = AccumulateType(dtype_);
  input_dims_ = input.dims();
  grid_dims_ = grid.dims();
  n_ = input.dim(0);
  c_ = input.dim(1);
  output_ = {n_, c_};
  p_ = 1;
  int64_t plane = 1;
  for (int64_t d = 0; d < spatial; ++d) {
    output_.push_back(grid.dim(d + 1));
    p_ *= grid.dim(d + 1);
    plane *= input.dim(d + 2);
  }
  points_ = {n_, p_};
  if (NumElements(output_) == 0 && grid.numel() == 0) return;
  input_ = b.Convert(b.Reshape(input, {n_, c_, plane}), type_);
  const Value flat = b.Convert(b.Reshape(grid, {n_, p_, spatial}), type_);
  for (int64_t d = 0; d < spatial; ++d) {  // grids hold the last dimension's coordinate first
    const int64_t column = spatial - 1 - d;
    at_.push_back(b.Reshape(b.SliceDim(flat, 2, column, column + 1), points_));
    const int64_t size = input_dims_[d + 2];
    const Position p = Unnormalize(at_.back(), size);
    positions_.push_back(mode_ == kCubic ? p : Place(p, size));
  }
}

// [-1, 1] to pixels: the centers of the border pixels (align_corners) or their outer edges.
Position Sampler::Unnormalize(Value x, int64_t size) {
  const double scale = (align_ ? static_cast<double>(size - 1) : static_cast<double>(size)) / 2;
  const Value one = Number(1);
  if (align_) return {(x + one) * scale, Number(scale)};
  return {((x + one) * static_cast<double>(size) - 1.0) * 0.5, Number(scale)};
}

// The borders themselves count as outside for the derivative, as in PyTorch.
Position Sampler::Clip(Position p, int64_t size) {
  const Value low = Number(0), high = Number(static_cast<double>(size - 1));
  const Value below = b_.Not(b_.Gt(p.at, low)), above = b_.Ge(p.at, high);  // NaN counts as below
  const Value at = b_.Select(below, low, b_.Select(above, high, p.at));
  return {at, b_.Select(b_.Or(below, above), Number(0), p.slope)};
}

Position Sampler::Reflect(Position p, int64_t size) {
  const double low = align_ ? 0.0 : -0.5;
  const double span = align_ ? static_cast<double>(size - 1) : static_cast<double>(size);
  if (span <= 0) return {Number(0), Number(0)};
  const Value shifted = p.at - low, distance = b_.Abs(shifted);
  const Value flips = b_.Floor(distance / span), extra = b_.Rem(distance, Number(span));
  const Value even = b_.Eq(b_.Rem(flips, Number(2)), Number(0));
  const Value at = b_.Select(even, extra + low, (span - extra) + low);
  const Value negative = b_.Lt(shifted, Number(0));
  return {at, b_.Select(b_.Compare("EQ", even, negative), -p.slope, p.slope)};
}

Position Sampler::Place(Position p, int64_t size) {
  if (padding_ == kReflection) p = Reflect(p, size);
  return padding_ == kZeros ? p : Clip(p, size);
}

Value Sampler::InRange(const Corner& corner) {
  Value in;
  for (int64_t d = 0; d < spatial_; ++d) {
    const Value& i = corner.index[d];
    const Value here =
        b_.And(b_.Ge(i, Number(0)), b_.Lt(i, Number(static_cast<double>(input_dims_[d + 2]))));
    in = in.defined() ? b_.And(in, here) : here;
  }
  return in;
}

Value Sampler::FlatIndex(const Corner& corner) {
  Value flat;
  for (int64_t d = 0; d < spatial_; ++d) {
    const int64_t size = input_dims_[d + 2];
    const Value clipped = b_.Clamp(b_.Constant(type_, 0), corner.index[d],
                                   b_.Constant(type_, static_cast<double>(size - 1)));
    const Value i = b_.Convert(clipped, DType::Int);
    flat = flat.defined() ? flat * static_cast<double>(size) + i : i;
  }
  return flat;
}

Value Sampler::Gather(Value flat) {
  hlo::GatherDims g;
  g.operand_batching = {0};
  g.indices_batching = {0};
  g.offset_dims = {1};
  g.collapsed_dims = {2};
  g.start_index_map = {2};
  g.index_vector_dim = 2;
  g.slice_sizes = {1, c_, 1};
  return b_.Gather(input_, flat, g);
}

std::vector<Corner> Sampler::Corners() {
  if (mode_ == kCubic) return CubicCorners();
  Corner corner;
  if (mode_ == kNearest) {
    for (const Position& p : positions_) {
      corner.index.push_back(b_.Unary("round_nearest_even", p.at));
    }
    return {corner};
  }
  Values low, fraction;
  for (const Position& p : positions_) {
    low.push_back(b_.Floor(p.at));
    fraction.push_back(p.at - low.back());
  }
  std::vector<Corner> corners;
  for (int64_t bits = 0; bits < (int64_t{1} << spatial_); ++bits) {
    corner = Corner();
    Values weights, slopes;
    for (int64_t d = 0; d < spatial_; ++d) {
      const bool upper = bits >> (spatial_ - 1 - d) & 1;
      corner.index.push_back(upper ? low[d] + 1.0 : low[d]);
      weights.push_back(upper ? fraction[d] : 1.0 - fraction[d]);
      slopes.push_back(Number(upper ? 1 : -1));
    }
    for (int64_t d = 0; d < spatial_; ++d) {
      corner.weight = d == 0 ? weights[d] : corner.weight * weights[d];
      Value gradient = slopes[d];
      for (int64_t e = 0; e < spatial_; ++e) {
        if (e != d) gradient = gradient * weights[e];
      }
      corner.gradient.push_back(gradient);
    }
    corners.push_back(std::move(corner));
  }
  return corners;
}

// Sixteen neighbours; padding moves each of them rather than the sample.
std::vector<Corner> Sampler::CubicCorners() {
  const double k = -0.75;
  struct Tap {
    Value index, weight, gradient;
  };
  std::vector<std::vector<Tap>> taps(2);
  for (int64_t d = 0; d < 2; ++d) {
    const Value low = b_.Floor(positions_[d].at), t = positions_[d].at - low;
    auto inner = [&](Value x) { return (((k + 2) * x - (k + 3)) * x * x) + 1.0; };
    auto outer = [&](Value x) { return ((k * x - 5 * k) * x + 8 * k) * x - 4 * k; };
    auto inner_slope = [&](Value x) { return (3 * (k + 2) * x - 2 * (k + 3)) * x; };
    auto outer_slope = [&](Value x) { return (3 * k * x - 10 * k) * x + 8 * k; };
    const Value x[4] = {t + 1.0, t, 1.0 - t, 2.0 - t};
    for (int i = 0; i < 4; ++i) {
      const bool is_inner = i == 1 || i == 2;
      const Value slope = is_inner ? inner_slope(x[i]) : outer_slope(x[i]);
      taps[d].push_back({Place({low + (i - 1.0), Number(1)}, input_dims_[d + 2]).at,
                         is_inner ? inner(x[i]) : outer(x[i]), i < 2 ? slope : -slope});
    }
  }
  std::vector<Corner> corners;
  for (const Tap& y : taps[0]) {
    for (const Tap& x : taps[1]) {
      corners.push_back({{y.index, x.index},
                         y.weight * x.weight,
                         {y.gradient * x.weight, y.weight * x.gradient}});
    }
  }
  return corners;
}

Value Sampler::Stacked(const Values& parts) { return b_.Concatenate(parts, 1); }

// Everything about the corners side by side, [n, corners * p]: one gather and one scatter serve
// all.
Sampler::Cells Sampler::AllCells() {
  Cells cells;
  Values flat, in, weight;
  std::vector<Values> gradient(spatial_);
  for (const Corner& corner : Corners()) {
    flat.push_back(FlatIndex(corner));
    in.push_back(InRange(corner));
    if (!corner.weight.defined()) continue;
    weight.push_back(corner.weight);
    for (int64_t d = 0; d < spatial_; ++d) gradient[d].push_back(corner.gradient[d]);
  }
  cells.count = static_cast<int64_t>(flat.size());
  cells.index = b_.Reshape(Stacked(flat), {n_, cells.count * p_, 1});
  cells.in = Stacked(in);
  if (weight.empty()) return cells;
  cells.weight = Stacked(weight);
  for (const Values& g : gradient) cells.gradient.push_back(Stacked(g));
  return cells;
}

Value Sampler::Forward() {
  if (NumElements(output_) == 0) return b_.Constant(dtype_, 0, output_);
  const Cells cells = AllCells();
  Value terms = Gather(cells.index);  // [n, c, corners * p]
  const Dims dims = terms.dims();
  if (cells.weight.defined()) terms = terms * b_.BroadcastInDim(cells.weight, dims, {0, 2});
  terms = b_.Select(b_.BroadcastInDim(cells.in, dims, {0, 2}), terms, b_.ConstantLike(terms, 0));
  const Value sum =
      b_.Reduce("add", b_.Reshape(terms, {n_, c_, cells.count, p_}), b_.Constant(type_, 0), {2});
  return b_.Convert(b_.Reshape(sum, output_), dtype_);
}

Values Sampler::Backward(Value grad, const std::vector<bool>& mask) {
  if (NumElements(output_) == 0) {
    return {mask[0] ? b_.Constant(dtype_, 0, input_dims_) : Value(),
            mask[1] ? b_.Constant(dtype_, 0, grid_dims_) : Value()};
  }
  const Cells cells = AllCells();
  const Dims dims = {n_, c_, cells.count * p_}, split = {n_, c_, cells.count, p_};
  const Value wide = b_.Reshape(
      b_.BroadcastInDim(b_.Convert(b_.Reshape(grad, {n_, c_, p_}), type_), split, {0, 1, 3}), dims);
  const Value in = b_.BroadcastInDim(cells.in, dims, {0, 2});
  const Value zero = b_.ConstantLike(wide, 0);
  Values results(2);
  if (mask[0]) {
    Value share = wide;
    if (cells.weight.defined()) share = wide * b_.BroadcastInDim(cells.weight, dims, {0, 2});
    hlo::ScatterDims s;
    s.update_window_dims = {1};
    s.inserted_dims = {2};
    s.operand_batching = {0};
    s.indices_batching = {0};
    s.scatter_to_operand = {2};
    s.index_vector_dim = 2;
    const Value sum =
        b_.Scatter(b_.ConstantLike(input_, 0), cells.index, b_.Select(in, share, zero), s,
                   [](Builder&, hlo::ValueRef v) -> Values { return {v[0] + v[1]}; })[0];
    results[0] = b_.Convert(b_.Reshape(sum, input_dims_), dtype_);
  }
  if (mask[1] && !cells.weight.defined()) {
    results[1] = b_.Constant(dtype_, 0, grid_dims_);  // nearest: constant around each sample
  } else if (mask[1]) {
    const Value product = Sum(b_, b_.Select(in, Gather(cells.index) * wide, zero), {1});
    Values columns;
    for (int64_t d = spatial_; d-- > 0;) {
      const Value terms = b_.Reshape(product * cells.gradient[d], {n_, cells.count, p_});
      columns.push_back(b_.Reshape(Sum(b_, terms, {1}) * positions_[d].slope, {n_, p_, 1}));
    }
    results[1] = b_.Convert(b_.Reshape(b_.Concatenate(columns, 2), grid_dims_), dtype_);
  }
  return results;
}

// aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode,
//     bool align_corners) -> Tensor
// aten::grid_sampler_3d(... the same ...) -> Tensor
template <int64_t spatial>
Value GridSampler(Builder& b, const OpCall& call) {
  return Sampler(b, call, 0, spatial).Forward();
}

// aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid,
//     int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask)
//     -> (Tensor, Tensor)
// aten::grid_sampler_3d_backward(... the same ...) -> (Tensor, Tensor)
template <int64_t spatial>
Values GridSamplerBackward(Builder& b, const OpCall& call) {
  Sampler sampler(b, call, 1, spatial);
  TORCH_CHECK(call.Tensor(0).dims() == sampler.output(), call.name(),
              ": expected grad_output of size ", ToString(sampler.output()), ", got ",
              ToString(call.Tensor(0).dims()));
  return sampler.Backward(call.Tensor(0), call.Bools(6));
}

// aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor
Value AffineGrid(Builder& b, const OpCall& call) {
  const Value theta = call.Tensor(0);
  const Dims size = call.Ints(1);
  const bool align = call.Bool(2);
  TORCH_CHECK(size.size() == 4 || size.size() == 5, call.name(),
              ": AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs, got size ",
              ToString(size));
  const int64_t spatial = static_cast<int64_t>(size.size()) - 2;
  TORCH_CHECK(theta.dims() == Dims({size[0], spatial, spatial + 1}), call.name(),
              ": Expected a batch of affine matrices of shape ",
              ToString({size[0], spatial, spatial + 1}), " for size ", ToString(size), ". Got ",
              ToString(theta.dims()));
  Dims points(size.begin() + 2, size.end()), result = {size[0]};
  result.insert(result.end(), points.begin(), points.end());
  result.push_back(spatial);
  if (NumElements(result) == 0) return b.Constant(theta.dtype(), 0, result);
  const DType type = AccumulateType(theta.dtype());
  Values columns;
  Dims column = points;
  column.push_back(1);
  for (int64_t d = spatial; d-- > 0;) {  // the last dimension's coordinate comes first
    const int64_t n = points[d];
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) {
      const double at =
          n > 1 ? -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(n - 1) : 0;
      values.push_back(align || n <= 1 ? at
                                       : at * static_cast<double>(n - 1) / static_cast<double>(n));
    }
    columns.push_back(b.BroadcastInDim(b.ConstantDoubles(type, values, {n}), column, {d}));
  }
  columns.push_back(b.Constant(type, 1, column));
  Value base = b.Concatenate(columns, spatial);
  base = b.Reshape(base, {NumElements(points), spatial + 1});
  hlo::DotDims dot;
  dot.lhs_contract = {1};
  dot.rhs_contract = {2};
  const Value grid = b.DotGeneral(base, b.Convert(theta, type), dot, type);  // [points, n, spatial]
  return b.Convert(b.Reshape(b.Transpose(grid, {1, 0, 2}), result), theta.dtype());
}

}  // namespace

OpRows GridSampleRows() {
  return {
      {"aten::grid_sampler_2d", GridSampler<2>},
      {"aten::grid_sampler_3d", GridSampler<3>},
      {"aten::grid_sampler_2d_backward", GridSamplerBackward<2>},
      {"aten::grid_sampler_3d_backward", GridSamplerBackward<3>},
      {"aten::affine_grid_generator", AffineGrid},
  };
}

}  // namespace torch_tpu::lowering
