// Orthogonal polynomials by their recurrences, and by angles where those are more exact (the limits
// are PyTorch's).
#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// Degree k + 1 from degrees k (`q`) and k - 1 (`p`).
using Next = Value (*)(Builder&, Value x, Value q, Value p, Value k);

// Degree n >= 1 wherever `wanted`; `first` is degree 1.
Value Recur(Builder& b, Value x, Value n, Value wanted, Value first, Next next) {
  const auto more = [](Builder& b, Value k, Value n, Value wanted) {
    return b.And(wanted, b.Lt(b.Broadcast(k, n.dims()), n));
  };
  const Values out = b.While(
      {b.Constant(DType::Long, 1), b.ConstantLike(x, 1), first, x, n, wanted},
      [more](Builder& b, ValueRef s) -> Values {
        return {Any(b, b.And(more(b, s[0], s[4], s[5]), b.Not(IsNaN(b, s[2]))))};
      },
      [more, next](Builder& b, ValueRef s) -> Values {
        const Value k = b.Broadcast(b.Convert(s[0], s[3].dtype()), s[3].dims());
        const Value active = more(b, s[0], s[4], s[5]);
        return {s[0] + 1,
                b.Select(active, s[2], s[1]),
                b.Select(active, next(b, s[3], s[2], s[1], k), s[2]),
                s[3],
                s[4],
                s[5]};
      });
  return out[2];
}

Value Degree(Builder& b, Value n) { return b.Convert(n, DType::Long); }

// 0 for negative degrees, 1 for degree 0.
Value WithLowDegrees(Builder& b, Value n, Value value) {
  const Value zero = b.ConstantLike(n, 0);
  return b.Select(b.Lt(n, zero), b.ConstantLike(value, 0),
                  b.Select(b.Eq(n, zero), b.ConstantLike(value, 1), value));
}

// 1 for even degrees, -1 for odd ones.
Value Parity(Builder& b, Value n, DType dtype) {
  const Value odd = b.Convert(b.And(n, b.ConstantLike(n, 1)), dtype);
  return 1.0 - 2.0 * odd;
}

enum class Kind { kT, kU, kV, kW };

struct Ends {
  Value at_one, at_minus_one;
};

Ends EndsOf(Builder& b, Kind kind, Value n, DType dtype) {
  const Value degree = b.Convert(n, dtype), one = b.ConstantLike(degree, 1);
  const Value parity = Parity(b, n, dtype), twice = degree * 2.0 + 1.0;
  switch (kind) {
    case Kind::kT:
      return {one, parity};
    case Kind::kU:
      return {degree + 1.0, parity * (degree + 1.0)};
    case Kind::kV:
      return {one, parity * twice};
    case Kind::kW:
      return {twice, parity};
  }
  return {};
}

// |y| < 1.
Value ByAngle(Builder& b, Kind kind, Value y, Value n, const Ends& ends) {
  const Value degree = b.Convert(n, y.dtype()), angle = b.Unary("chlo.acos", y);
  const Value half = angle * 0.5, one = b.ConstantLike(y, 1);
  const Value between = (degree + 0.5) * angle;
  switch (kind) {
    case Kind::kT:
      return b.Cos(degree * angle);
    case Kind::kU:
      return b.Sin((degree + 1.0) * angle) / b.Sin(angle);
    case Kind::kV:
      return b.Select(b.Eq(b.Sin(half), one), ends.at_minus_one, b.Cos(between) / b.Cos(half));
    case Kind::kW:
      return b.Select(b.Eq(b.Cos(half), one), ends.at_one, b.Sin(between) / b.Sin(half));
  }
  return {};
}

Value FirstDegree(Kind kind, Value y) {
  switch (kind) {
    case Kind::kT:
      return y;
    case Kind::kU:
      return y + y;
    case Kind::kV:
      return y + y - 1.0;
    case Kind::kW:
      return y + y + 1.0;
  }
  return {};
}

// Above degree `exact` the angle is used.
template <Kind kind, bool shifted, int exact>
Value Chebyshev(Builder& b, Value x, Value order) {
  const Value y = shifted ? x + x - 1.0 : x, n = Degree(b, order);
  const Value one = b.ConstantLike(y, 1);
  const Ends ends = EndsOf(b, kind, n, y.dtype());
  const Value by_angle = b.And(b.Gt(n, b.ConstantLike(n, exact)), b.Lt(b.Abs(y), one));
  const Value at_end = b.Eq(b.Abs(y), one);
  const Value recurred =
      Recur(b, y, n, b.Not(b.Or(by_angle, at_end)), FirstDegree(kind, y),
            [](Builder&, Value y, Value q, Value p, Value) { return (y + y) * q - p; });
  const Value inside = b.Select(by_angle, ByAngle(b, kind, y, n, ends), recurred);
  const Value value =
      b.Select(b.Eq(y, one), ends.at_one, b.Select(b.Eq(y, -one), ends.at_minus_one, inside));
  return WithLowDegrees(b, n, value);
}

Value Everywhere(Builder& b, Value x) { return b.Constant(DType::Bool, true, x.dims()); }

template <bool physicist>
Value Hermite(Builder& b, Value x, Value order) {
  const Value n = Degree(b, order);
  const int64_t most = x.dtype() == DType::Double ? 512 : 128;  // PyTorch's limits
  const Value known = b.Le(n, b.ConstantLike(n, most));
  const Value value = Recur(b, x, n, known, physicist ? x + x : x,
                            [](Builder&, Value x, Value q, Value p, Value k) {
                              return physicist ? (x + x) * q - (k + k) * p : x * q - k * p;
                            });
  return WithLowDegrees(b, n, b.Select(known, value, b.NaN(x.dtype(), x.dims())));
}

Value Laguerre(Builder& b, Value x, Value order) {
  const Value n = Degree(b, order);
  const Value value =
      Recur(b, x, n, Everywhere(b, x), 1.0 - x, [](Builder&, Value x, Value q, Value p, Value k) {
        return ((k + k + (1.0 - x)) * q - k * p) / (k + 1.0);
      });
  return WithLowDegrees(b, n, value);
}

Value Legendre(Builder& b, Value x, Value order) {
  const Value n = Degree(b, order), one = b.ConstantLike(x, 1);
  const Value inside =
      Recur(b, x, n, b.Ne(b.Abs(x), one), x, [](Builder&, Value x, Value q, Value p, Value k) {
        return ((k + k + 1.0) * x * q - k * p) / (k + 1.0);
      });
  const Value value =
      b.Select(b.Eq(x, one), one, b.Select(b.Eq(x, -one), Parity(b, n, x.dtype()), inside));
  return WithLowDegrees(b, n, value);
}

// A row of two operands, either of which may be a number.
template <Value (*f)(Builder&, Value, Value)>
constexpr OpRow::OneResult kRow = Binary<f, Promote::kFloat, Accept::kReal>;

const OpRow::Flags kElementwise = {.elementwise = true};

}  // namespace

OpRows PolynomialRows() {
  constexpr auto kChebyshevT = kRow<Chebyshev<Kind::kT, false, 6>>;
  constexpr auto kChebyshevU = kRow<Chebyshev<Kind::kU, false, 8>>;
  constexpr auto kChebyshevV = kRow<Chebyshev<Kind::kV, false, 8>>;
  constexpr auto kChebyshevW = kRow<Chebyshev<Kind::kW, false, 8>>;
  constexpr auto kShiftedChebyshevT = kRow<Chebyshev<Kind::kT, true, 6>>;
  constexpr auto kShiftedChebyshevU = kRow<Chebyshev<Kind::kU, true, 6>>;
  constexpr auto kShiftedChebyshevV = kRow<Chebyshev<Kind::kV, true, 6>>;
  constexpr auto kShiftedChebyshevW = kRow<Chebyshev<Kind::kW, true, 4>>;
  constexpr auto kHermiteH = kRow<Hermite<true>>;
  constexpr auto kHermiteHe = kRow<Hermite<false>>;
  constexpr auto kLaguerreL = kRow<Laguerre>;
  constexpr auto kLegendreP = kRow<Legendre>;
  return {
      {"aten::special_chebyshev_polynomial_t", kChebyshevT, kElementwise},
      {"aten::special_chebyshev_polynomial_t.x_scalar", kChebyshevT, kElementwise},
      {"aten::special_chebyshev_polynomial_t.n_scalar", kChebyshevT, kElementwise},
      {"aten::special_chebyshev_polynomial_u", kChebyshevU, kElementwise},
      {"aten::special_chebyshev_polynomial_u.x_scalar", kChebyshevU, kElementwise},
      {"aten::special_chebyshev_polynomial_u.n_scalar", kChebyshevU, kElementwise},
      {"aten::special_chebyshev_polynomial_v", kChebyshevV, kElementwise},
      {"aten::special_chebyshev_polynomial_v.x_scalar", kChebyshevV, kElementwise},
      {"aten::special_chebyshev_polynomial_v.n_scalar", kChebyshevV, kElementwise},
      {"aten::special_chebyshev_polynomial_w", kChebyshevW, kElementwise},
      {"aten::special_chebyshev_polynomial_w.x_scalar", kChebyshevW, kElementwise},
      {"aten::special_chebyshev_polynomial_w.n_scalar", kChebyshevW, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_t", kShiftedChebyshevT, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_t.x_scalar", kShiftedChebyshevT, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_t.n_scalar", kShiftedChebyshevT, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_u", kShiftedChebyshevU, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_u.x_scalar", kShiftedChebyshevU, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_u.n_scalar", kShiftedChebyshevU, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_v", kShiftedChebyshevV, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_v.x_scalar", kShiftedChebyshevV, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_v.n_scalar", kShiftedChebyshevV, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_w", kShiftedChebyshevW, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_w.x_scalar", kShiftedChebyshevW, kElementwise},
      {"aten::special_shifted_chebyshev_polynomial_w.n_scalar", kShiftedChebyshevW, kElementwise},
      {"aten::special_hermite_polynomial_h", kHermiteH, kElementwise},
      {"aten::special_hermite_polynomial_h.x_scalar", kHermiteH, kElementwise},
      {"aten::special_hermite_polynomial_h.n_scalar", kHermiteH, kElementwise},
      {"aten::special_hermite_polynomial_he", kHermiteHe, kElementwise},
      {"aten::special_hermite_polynomial_he.x_scalar", kHermiteHe, kElementwise},
      {"aten::special_hermite_polynomial_he.n_scalar", kHermiteHe, kElementwise},
      {"aten::special_laguerre_polynomial_l", kLaguerreL, kElementwise},
      {"aten::special_laguerre_polynomial_l.x_scalar", kLaguerreL, kElementwise},
      {"aten::special_laguerre_polynomial_l.n_scalar", kLaguerreL, kElementwise},
      {"aten::special_legendre_polynomial_p", kLegendreP, kElementwise},
      {"aten::special_legendre_polynomial_p.x_scalar", kLegendreP, kElementwise},
      {"aten::special_legendre_polynomial_p.n_scalar", kLegendreP, kElementwise},
  };
}

}  // namespace torch_tpu::lowering
