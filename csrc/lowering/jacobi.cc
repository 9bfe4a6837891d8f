// XLA's own expansion of "Eigh" rotates until float32 is satisfied, whatever the type; hence this
// one, which also serves the singular value decomposition and keeps vectors orthogonal.
#include "lowering/jacobi.h"

#include <cmath>
#include <limits>

#include "lowering/dot.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {
namespace {

// Quadratic convergence needs about ten; beyond this something is not finite.
constexpr int64_t kMaxSweeps = 40;

// sum(conj(x) * y) over the last dimension, kept as 1.
Value RowDot(Builder& b, Value x, Value y) {
  const Value product = (IsComplex(x.dtype()) ? Conjugate(b, x) : x) * y;
  return Sum(b, product, {x.rank() - 1}, true);
}

Value SquaredNorm(Builder& b, Value x) {
  const Value dot = RowDot(b, x, x);
  return IsComplex(x.dtype()) ? b.Real(dot) : dot;
}

struct Halves {
  Value top, bottom, rotated;
};

// Makes row i of `top` orthogonal to row i of `bottom`, for all i at once. `rotated`: whether any
// pair was not orthogonal before.
Halves RotatePairs(Builder& b, Value top, Value bottom, double tolerance) {
  const double smallest = RealType(top.dtype()) == DType::Double
                              ? std::numeric_limits<double>::min()
                              : std::numeric_limits<float>::min();
  const Value dot = RowDot(b, top, bottom);
  const Value x = SquaredNorm(b, top), y = SquaredNorm(b, bottom);
  const Value size = b.Abs(dot);
  // A row whose square vanishes counts as zero.
  const Value seen = b.Gt(b.Min(x, y), b.ConstantLike(x, smallest));
  const Value apart = b.And(seen, b.Gt(size, b.Sqrt(x) * b.Sqrt(y) * tolerance));
  const Value one = b.ConstantLike(size, 1);
  const Value safe = b.Select(apart, size, one);
  const Value tau = (y - x) / (safe * 2.0);
  const Value root = b.Sqrt(one + tau * tau);
  const Value tangent = one / (tau + b.Select(b.Ge(tau, b.ConstantLike(tau, 0)), root, -root));
  const Value cosine = one / b.Sqrt(one + tangent * tangent);
  const auto all = [&](Value v) { return b.Broadcast(b.Convert(v, top.dtype()), top.dims()); };
  // The second row's phase is turned so that the product of both is real.
  Value turned = bottom;
  if (IsComplex(top.dtype())) {
    const Value phase = Conjugate(b, dot) / b.Convert(safe, dot.dtype());
    turned = bottom * b.Broadcast(phase, bottom.dims());
  } else {
    turned = bottom * all(b.Sign(dot));
  }
  const Value c = all(cosine), s = all(cosine * tangent);
  const Value here = b.Broadcast(apart, top.dims());
  return {b.Select(here, c * top - s * turned, top), b.Select(here, s * top + c * turned, bottom),
          Any(b, apart)};
}

// The next pairing of a tournament in which every row meets every other once in n - 1 rounds
// (Brent and Luk): all but the first move one place around.
std::pair<Value, Value> NextRound(Builder& b, Value top, Value bottom) {
  const int64_t rows = top.rank() - 2, h = top.dim(-2);
  if (h == 1) return {top, bottom};
  const auto part = [&](Value v, int64_t from, int64_t to) {
    return b.SliceDim(v, rows, from, to);
  };
  Values upper = {part(top, 0, 1), part(bottom, 0, 1)};
  if (h > 2) upper.push_back(part(top, 1, h - 1));
  return {b.Concatenate(upper, rows),
          b.Concatenate({part(bottom, 1, h), part(top, h - 1, h)}, rows)};
}

}  // namespace

Value OrthogonalRows(Builder& b, Value x) {
  const int64_t n = x.dim(-2), even = n + n % 2, h = even / 2;
  if (n < 2 || x.numel() == 0) return x;
  const double epsilon = RealType(x.dtype()) == DType::Double
                             ? std::numeric_limits<double>::epsilon()
                             : std::numeric_limits<float>::epsilon();
  const double tolerance = epsilon * std::sqrt(static_cast<double>(x.dim(-1)));
  const Value padded = PadTo(b, x, even, x.dim(-1));
  const int64_t rows = x.rank() - 2;
  const Value zero = b.Constant(DType::Int, 0), no = b.Constant(DType::Bool, false);
  const auto round = [tolerance](Builder& b, ValueRef s) -> Values {
    const Halves halves = RotatePairs(b, s[1], s[2], tolerance);
    const auto [top, bottom] = NextRound(b, halves.top, halves.bottom);
    return {s[0] + 1, top, bottom, b.Or(s[3], halves.rotated)};
  };
  const auto sweep = [=](Builder& b, ValueRef s) -> Values {
    const Values out = b.While(
        {zero, s[1], s[2], no},
        [even](Builder& b, ValueRef s) -> Values {
          return {b.Lt(s[0], b.ConstantLike(s[0], even - 1))};
        },
        round);
    return {s[0] + 1, out[1], out[2], out[3]};
  };
  const Values out = b.While(
      {zero, b.SliceDim(padded, rows, 0, h), b.SliceDim(padded, rows, h, even),
       b.Constant(DType::Bool, true)},
      [](Builder& b, ValueRef s) -> Values {
        return {b.And(s[3], b.Lt(s[0], b.ConstantLike(s[0], kMaxSweeps)))};
      },
      sweep);
  const Value all = b.Concatenate({out[1], out[2]}, rows);
  if (n == even) return all;
  // A row of zeros was added; it is still one, but may lie elsewhere: a sweep brings all rows back
  // to where they started.
  return b.SliceDim(all, rows, 0, n);
}

Value RowNorms(Builder& b, Value x) {
  return DropDims(b, b.Sqrt(SquaredNorm(b, x)), {x.rank() - 1});
}

}  // namespace torch_tpu::lowering
