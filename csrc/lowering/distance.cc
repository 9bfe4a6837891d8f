// Vector norms and distances between rows.
#include "lowering/distance.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <limits>

#include "lowering/dot.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {

Value PNorm(Builder& b, Value x, double p, IntArrayRef dims, bool keep_dims) {
  const Value size = IsComplex(x.dtype()) || IsFloat(x.dtype()) ? b.Abs(x) : x;
  if (p == 0) {
    const Value nonzero = b.Convert(b.Ne(size, b.ConstantLike(size, 0)), size.dtype());
    return Sum(b, nonzero, dims, keep_dims);
  }
  if (p == std::numeric_limits<double>::infinity()) return MaxOver(b, size, dims, keep_dims);
  if (p == -std::numeric_limits<double>::infinity()) return MinOver(b, size, dims, keep_dims);
  if (p == 1) return Sum(b, size, dims, keep_dims);
  if (p == 2) return b.Sqrt(Sum(b, size * size, dims, keep_dims));
  const Value sum = Sum(b, b.Pow(size, b.ConstantLike(size, p)), dims, keep_dims);
  return b.Pow(sum, b.ConstantLike(sum, 1 / p));
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// x1 [..., P, M] and x2 [..., R, M] with one batch shape, in the computing type.
struct Points {
  Value x1, x2;
  Dims batch;
  DType type;
  Dims Full() const {  // [..., P, R, M]
    Dims dims = batch;
    dims.insert(dims.end(), {x1.dim(-2), x2.dim(-2), x1.dim(-1)});
    return dims;
  }
};

Points PointsOf(Builder& b, const OpCall& call, Value x1, Value x2) {
  TORCH_CHECK(x1.rank() >= 2 && x2.rank() >= 2, call.name(),
              ": expected points of at least 2 dimensions, got shapes ", ToString(x1.dims()),
              " and ", ToString(x2.dims()));
  TORCH_CHECK(x1.dim(-1) == x2.dim(-1), call.name(),
              ": expected points with the same number of columns, got shapes ", ToString(x1.dims()),
              " and ", ToString(x2.dims()));
  TORCH_CHECK(IsFloat(x1.dtype()) && x1.dtype() == x2.dtype(), call.name(),
              ": expected two floating point tensors of the same dtype, got ",
              DTypeName(x1.dtype()), " and ", DTypeName(x2.dtype()));
  Points p;
  p.type = x1.dtype();
  const auto batch_of = [](Value x) { return Dims(x.dims().begin(), x.dims().end() - 2); };
  p.batch = BroadcastDims(batch_of(x1), batch_of(x2), call.name());
  const auto widen = [&](Value x) {
    Dims dims = p.batch;
    dims.insert(dims.end(), {x.dim(-2), x.dim(-1)});
    return b.Broadcast(b.Convert(x, AccumulateType(p.type)), dims);
  };
  p.x1 = widen(x1);
  p.x2 = widen(x2);
  return p;
}

// Every pair's difference: [..., P, R, M].
Value Differences(Builder& b, const Points& p) {
  const Dims full = p.Full();
  const int64_t n = static_cast<int64_t>(p.batch.size());
  Dims rows(n + 2), columns(n + 2);
  for (int64_t i = 0; i < n; ++i) rows[i] = columns[i] = i;
  rows[n] = n;
  columns[n] = n + 1;
  rows[n + 1] = columns[n + 1] = n + 2;
  return b.BroadcastInDim(p.x1, full, rows) - b.BroadcastInDim(p.x2, full, columns);
}

// Through one matrix product: |x|^2 - 2 x y + |y|^2. Less exact for near points, as in PyTorch.
Value EuclideanByProduct(Builder& b, const Points& p) {
  const Value product = MatrixProduct(b, p.x1, p.x2, Side::kPlain, Side::kTransposed);
  const int64_t last = p.x1.rank() - 1;
  const Value squares1 = Sum(b, p.x1 * p.x1, {last}), squares2 = Sum(b, p.x2 * p.x2, {last});
  Dims rows(last), columns(last);
  for (int64_t i = 0; i < last; ++i) rows[i] = columns[i] = i;
  columns[last - 1] = last;
  const Value sum = b.BroadcastInDim(squares1, product.dims(), rows) +
                    b.BroadcastInDim(squares2, product.dims(), columns) - product * 2.0;
  return b.Sqrt(b.Max(sum, b.ConstantLike(sum, 0)));
}

// aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor
Value Cdist(Builder& b, const OpCall& call) {
  const Points p = PointsOf(b, call, call.Tensor(0), call.Tensor(1));
  const double norm = call.StaticNumber(2).toDouble();
  TORCH_CHECK(norm >= 0, call.name(), ": expected a non-negative p, got ", norm);
  const int64_t mode = call.IntOr(3, 0);
  const bool large = p.x1.dim(-2) > 25 || p.x2.dim(-2) > 25;
  if (norm == 2 && (mode == 1 || (mode == 0 && large))) {
    return b.Convert(EuclideanByProduct(b, p), p.type);
  }
  const int64_t last = static_cast<int64_t>(p.batch.size()) + 2;
  if (p.x1.dim(-1) == 0) {
    Dims dims = p.Full();
    dims.pop_back();
    return b.Constant(p.type, 0, dims);
  }
  return b.Convert(PNorm(b, Differences(b, p), norm, {last}), p.type);
}

// aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor
Value EuclideanDist(Builder& b, const OpCall& call) {
  const Points p = PointsOf(b, call, call.Tensor(0), call.Tensor(1));
  return b.Convert(EuclideanByProduct(b, p), p.type);
}

// Derivative of the p-norm of `x` [..., M], given its value `norm` [..., 1]: 0 where that is 0.
Value PNormSlope(Builder& b, Value x, Value norm, double p) {
  const Value zero = b.ConstantLike(x, 0);
  if (p == 0) return zero;
  const Value sign = b.Sign(x), size = b.Abs(x);
  if (p == 1) return sign;
  if (p == kInfinity) return b.Select(b.Eq(size, norm), sign, zero);
  const Value slope =
      p == 2 ? x / norm
             : sign * b.Pow(size, b.ConstantLike(x, p - 1)) / b.Pow(norm, b.ConstantLike(x, p - 1));
  Value flat = b.Eq(norm, zero);
  if (p < 1) flat = b.Or(flat, b.Eq(x, zero));
  return b.Select(flat, zero, slope);
}

// sum over R of grad [..., P, R] times the slope of each pair's distance.
Value DistanceGradient(Builder& b, const Points& p, Value grad, Value distance, double norm) {
  const Value difference = Differences(b, p);
  const int64_t last = difference.rank() - 1;
  Dims mapping(last);
  for (int64_t i = 0; i < last; ++i) mapping[i] = i;
  const auto spread = [&](Value v) {
    return b.BroadcastInDim(b.Convert(v, difference.dtype()), difference.dims(), mapping);
  };
  const Value slope = PNormSlope(b, difference, spread(distance), norm);
  return b.Convert(Sum(b, spread(grad) * slope, {last - 1}), p.type);
}

// aten::_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor
Value CdistBackward(Builder& b, const OpCall& call) {
  const Points p = PointsOf(b, call, call.Tensor(1), call.Tensor(2));
  if (NumElements(p.Full()) == 0) return b.ConstantLike(call.Tensor(1), 0);
  return DistanceGradient(b, p, call.Tensor(0), call.Tensor(4), call.StaticNumber(3).toDouble());
}

// The n (n - 1) / 2 pairs i < j in row order.
struct Pairs {
  Value i, j;
};

Pairs UpperPairs(Builder& b, int64_t n) {
  const Dims dims = {n * (n - 1) / 2};
  // Row i starts at i (2n - i - 1) / 2: solved for i in float64, then corrected by one either way.
  const Value k = b.Iota(DType::Long, dims, 0);
  const auto whole = [&](int64_t v) { return b.Constant(DType::Long, v, dims); };
  const auto start = [&](Value row) { return b.Div(row * (whole(2 * n - 1) - row), whole(2)); };
  const double edge = static_cast<double>(2 * n - 1);
  const Value root = b.Sqrt(edge * edge - 8.0 * b.Convert(k, DType::Double));
  Value row = b.Convert((edge - root) * 0.5, DType::Long);
  row = b.Select(b.Gt(start(row), k), row - whole(1), row);
  row = b.Select(b.Le(start(row + whole(1)), k), row + whole(1), row);
  return {row, k - start(row) + row + whole(1)};
}

Value TakeRows(Builder& b, Value x, Value index) {
  hlo::GatherDims d;
  for (int64_t i = 1; i < x.rank(); ++i) d.offset_dims.push_back(i);
  d.collapsed_dims = d.start_index_map = {0};
  d.index_vector_dim = 1;
  d.slice_sizes = x.dims();
  d.slice_sizes[0] = 1;
  return b.Gather(x, b.Reshape(index, {index.numel(), 1}), d);
}

void CheckPdist(const OpCall& call, Value x, double p) {
  TORCH_CHECK(x.rank() == 2 && IsFloat(x.dtype()), call.name(),
              ": expected a floating point matrix, got ", DTypeName(x.dtype()), " of shape ",
              ToString(x.dims()));
  TORCH_CHECK(p >= 0, call.name(), ": expected a non-negative p, got ", p);
}

// aten::_pdist_forward(Tensor self, float p=2.) -> Tensor
Value Pdist(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const double p = call.StaticNumber(1).toDouble();
  CheckPdist(call, self, p);
  const int64_t n = self.dim(0);
  if (n < 2 || self.dim(1) == 0) {
    return b.Constant(self.dtype(), 0, {std::max<int64_t>(n * (n - 1) / 2, 0)});
  }
  const Value x = b.Convert(self, AccumulateType(self.dtype()));
  const Pairs pairs = UpperPairs(b, n);
  const Value difference = TakeRows(b, x, pairs.i) - TakeRows(b, x, pairs.j);
  return b.Convert(PNorm(b, difference, p, {1}), self.dtype());
}

// aten::_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor
Value PdistBackward(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(1);
  const double p = call.StaticNumber(2).toDouble();
  CheckPdist(call, self, p);
  const int64_t n = self.dim(0);
  if (n < 2 || self.dim(1) == 0) return b.ConstantLike(self, 0);
  // The square matrix of pair numbers; the diagonal's gradient is left out.
  const Dims square = {n, n};
  const Value i = b.Iota(DType::Long, square, 0), j = b.Iota(DType::Long, square, 1);
  const Value low = b.Min(i, j), high = b.Max(i, j);
  const auto whole = [&](int64_t v) { return b.Constant(DType::Long, v, square); };
  const Value k = b.Div(low * (whole(2 * n - 1) - low), whole(2)) + high - low - whole(1);
  const Value diagonal = b.Eq(i, j);
  const Value safe = b.Select(diagonal, whole(0), k);
  const auto pair_matrix = [&](Value v) {
    const Value taken = b.Reshape(TakeRows(b, v, b.Reshape(safe, {n * n})), square);
    return b.Select(diagonal, b.ConstantLike(taken, 0), taken);
  };
  const Points points = PointsOf(b, call, self, self);
  return DistanceGradient(b, points, pair_matrix(call.Tensor(0)), pair_matrix(call.Tensor(3)), p);
}

}  // namespace

OpRows DistanceRows() {
  const auto norm = [](int i) { return OpRow::Flags{.static_numbers = 1u << i}; };
  return {
      {"aten::_cdist_forward", Cdist, norm(2)},
      {"aten::_cdist_backward", CdistBackward, norm(3)},
      {"aten::_euclidean_dist", EuclideanDist},
      {"aten::_pdist_forward", Pdist, norm(1)},
      {"aten::_pdist_backward", PdistBackward, norm(2)},
  };
}

}  // namespace torch_tpu::lowering
