// The gamma function's logarithm, its derivatives, and the incomplete gamma functions.
#include <c10/util/Exception.h>

#include <cmath>
#include <numbers>

#include "lowering/families.h"
#include "lowering/series.h"

namespace torch_tpu::lowering {
namespace {

constexpr Promote kFloat = Promote::kFloat;
const OpRow::Flags kElementwise = {.elementwise = true};

Value One(Builder& b, Value like) { return b.ConstantLike(like, 1); }
Value Zero(Builder& b, Value like) { return b.ConstantLike(like, 0); }

// The pole at 0 has the side of its zero: -inf at +0, inf at -0.
Value Digamma(Builder& b, Value x) {
  return b.Select(b.Eq(x, Zero(b, x)), -1 / x, b.Unary("chlo.digamma", x));
}

// Hurwitz's zeta function. chlo.zeta holds for q > 0; below, the terms up to there are added first.
Value Zeta(Builder& b, Value x, Value q) {
  const Value zero = Zero(b, q), whole = b.Eq(b.Floor(q), q);
  const Value start = b.Select(whole, b.Max(q, One(b, q)), q);
  const Values steps = b.While(
      {start, zero, x},
      [](Builder& b, ValueRef v) -> Values { return {Any(b, b.Lt(v[0], Zero(b, v[0])))}; },
      [](Builder& b, ValueRef v) -> Values {
        const Value below = b.Lt(v[0], Zero(b, v[0]));
        return {b.Select(below, v[0] + 1, v[0]), b.Select(below, v[1] + b.Pow(v[0], -v[2]), v[1]),
                v[2]};
      });
  const Value sum = steps[1] + b.Binary("chlo.zeta", x, steps[0]);
  const Value infinity = b.Infinity(q.dtype(), false, q.dims());
  const Value nan = b.NaN(q.dtype(), q.dims()), one = One(b, x);
  const Value positive = b.Gt(q, zero), whole_order = b.Eq(b.Floor(x), x);
  const Value below = b.Select(whole, infinity, b.Select(whole_order, sum, nan));
  const Value result = b.Select(positive, sum, b.Select(IsNaN(b, q), q, below));
  return b.Select(b.Eq(x, one), infinity, b.Select(b.Lt(x, one), nan, result));
}

// aten::polygamma(int n, Tensor self) -> Tensor
Value Polygamma(Builder& b, const OpCall& call) {
  const int64_t order = call.Int(0);
  TORCH_CHECK(order >= 0, call.name(), ": expected n >= 0, got ", order);
  return Elementwise(
      b, call, {1}, kFloat,
      [&](Builder& b, const Values& v) {
        if (order == 0) return Digamma(b, v[0]);
        const double factor = std::tgamma(order + 1.0) * (order % 2 == 0 ? -1 : 1);
        return Zeta(b, b.ConstantLike(v[0], order + 1), v[0]) * factor;
      },
      Accept::kReal);
}

// aten::mvlgamma(Tensor self, int p) -> Tensor
Value MultivariateLogGamma(Builder& b, const OpCall& call) {
  const int64_t p = call.Int(1);
  TORCH_CHECK(p >= 1, call.name(), ": expected p >= 1, got ", p);
  return Elementwise(
      b, call, {0}, kFloat,
      [&](Builder& b, const Values& v) {
        Value sum = b.ConstantLike(v[0], p * (p - 1) * std::log(std::numbers::pi) / 4);
        for (int64_t i = 0; i < p; ++i) sum = sum + b.Unary("chlo.lgamma", v[0] - i * 0.5);
        return sum;
      },
      Accept::kReal);
}

// ---- incomplete gamma functions, after Cephes (S. L. Moshier) with Boost's Lanczos sum (J.
// Maddock)

constexpr int kMaxSteps = 2000;

Value LanczosSum(Builder& b, Value x) {
  constexpr double kNumerator[] = {
      56906521.91347156388090791033559122686859,   103794043.1163445451906271053616070238554,
      86363131.28813859145546927288977868422342,   43338889.32467613834773723740590533316085,
      14605578.08768506808414169982791359218571,   3481712.15498064590882071018964774556468,
      601859.6171681098786670226533699352302507,   75999.29304014542649875303443598909137092,
      6955.999602515376140356310115515198987526,   449.9445569063168119446858607650988409623,
      19.51992788247617482847860966235652136208,   0.5098416655656676188125178644804694509993,
      0.006061842346248906525783753964555936883222};
  constexpr double kDenominator[] = {0,        39916800, 120543840, 150917976, 105258076,
                                     45995730, 13339535, 2637558,   357423,    32670,
                                     1925,     66,       1};
  // In 1 / x above 1, so that no power overflows.
  const auto reversed = [](Coefficients c) { return std::vector<double>(c.rbegin(), c.rend()); };
  const Value inverse = 1 / x;
  const Value large = Polynomial(b, inverse, kNumerator) / Polynomial(b, inverse, kDenominator);
  const Value small =
      Polynomial(b, x, reversed(kNumerator)) / Polynomial(b, x, reversed(kDenominator));
  return b.Select(b.Gt(x, One(b, x)), large, small);
}

// x^a exp(-x) / gamma(a), whose factors alone would overflow.
Value GammaDensity(Builder& b, Value a, Value x) {
  constexpr double kG = 6.024680040776729583740234375;
  const auto number = [&](double v) { return b.ConstantLike(a, v); };
  const Value plain = b.Exp(a * b.Log(x) - x - b.Unary("chlo.lgamma", a));
  const Value scale = a + (kG - 0.5), root = b.Sqrt(scale / std::numbers::e) / LanczosSum(b, a);
  const Value moderate = root * b.Exp(a - x) * b.Pow(x / scale, a);
  const Value gap = (x - a - (kG - 0.5)) / scale;
  const Value large = root * b.Exp(a * (b.Log1p(gap) - gap) + x * (0.5 - kG) / scale);
  const Value both = b.And(b.Lt(a, number(200)), b.Lt(x, number(200)));
  const Value distant = b.Gt(b.Abs(a - x), b.Abs(a) * 0.4);
  return b.Select(distant, plain, b.Select(both, moderate, large));
}

Value Epsilon(Builder& b, Value like) {
  return b.ConstantLike(like, like.dtype() == DType::Double ? 0x1p-53 : 0x1p-24);
}

// Runs `step` on the state until no element is active or the limit is reached. The first entry of
// the state says which elements are active.
Values Iterate(Builder& b, Values state, const hlo::Region& step) {
  state.push_back(b.Constant(DType::Int, 0));
  return b.While(
      state,
      [](Builder& b, ValueRef v) -> Values {
        return {b.And(Any(b, v[0]), b.Lt(v.back(), b.Constant(DType::Int, kMaxSteps)))};
      },
      [&](Builder& b, ValueRef v) -> Values {
        Values next = step(b, v);
        for (size_t i = 0; i < next.size(); ++i) next[i] = b.Select(v[0], next[i], v[i]);
        next.push_back(v.back() + 1);
        return next;
      });
}

// The lower function's power series over the density, where `active`.
Value LowerSeries(Builder& b, Value active, Value a, Value x) {
  const Value one = One(b, a);
  const Values end = Iterate(b, {active, one, one, a, x}, [](Builder& b, ValueRef v) -> Values {
    const Value divisor = v[3] + 1, term = v[2] * (v[4] / divisor), sum = v[1] + term;
    return {b.Gt(term, Epsilon(b, sum) * sum), sum, term, divisor, v[4]};
  });
  return end[1] / a;
}

// The upper function's continued fraction over the density, where `active`.
Value UpperFraction(Builder& b, Value active, Value a, Value x) {
  const Value one = One(b, a), z = x - a + 2;
  const Values start = {active, (x + 1) / (z * x), one, x, x + 1, z * x, Zero(b, a), 1 - a, z};
  const Values end = Iterate(b, start, [](Builder& b, ValueRef v) -> Values {
    const Value count = v[6] + 1, y = v[7] + 1, z = v[8] + 2, weight = y * count;
    Value p = v[4] * z - v[2] * weight, q = v[5] * z - v[3] * weight;
    const Value zero = Zero(b, p), defined = b.Ne(q, zero);
    const Value ratio = b.Select(defined, p / q, v[1]);
    const Value change = b.Select(defined, b.Abs((v[1] - ratio) / ratio), One(b, ratio));
    // Both fractions are scaled down together before they overflow.
    const bool wide = p.dtype() == DType::Double;
    const Value big = b.ConstantLike(p, wide ? 0x1p52 : 0x1p24);
    const Value factor =
        b.Select(b.Gt(b.Abs(p), big), b.ConstantLike(p, wide ? 0x1p-52 : 0x1p-24), One(b, p));
    return {b.Gt(change, Epsilon(b, p)),
            ratio,
            v[4] * factor,
            v[5] * factor,
            p * factor,
            q * factor,
            count,
            y,
            z};
  });
  return end[1];
}

template <bool upper>
Value IncompleteGamma(Builder& b, Value a, Value x) {
  const Value zero = Zero(b, a), one = One(b, a);
  const Value infinity = b.Infinity(a.dtype(), false, a.dims()), nan = b.NaN(a.dtype(), a.dims());
  const Value inside =
      b.And(b.And(b.Gt(a, zero), b.Gt(x, zero)), b.And(b.Lt(a, infinity), b.Lt(x, infinity)));
  const Value use_series = b.Or(b.Le(x, b.ConstantLike(x, 1.1)), b.Lt(x, a));
  const Value density = GammaDensity(b, a, x);
  const Value lower = LowerSeries(b, b.And(inside, use_series), a, x) * density;
  const Value rest = UpperFraction(b, b.And(inside, b.Not(use_series)), a, x) * density;
  const Value value =
      upper ? b.Select(use_series, 1 - lower, rest) : b.Select(use_series, lower, 1 - rest);
  // On the edges, all of the mass lies on one side.
  const Value none = upper ? one : zero, all = upper ? zero : one;
  Value result = b.Select(b.Eq(x, infinity), all, value);
  result = b.Select(b.Eq(a, infinity), b.Select(b.Eq(x, infinity), nan, none), result);
  result = b.Select(b.Eq(x, zero), none, result);
  result = b.Select(b.Eq(a, zero), b.Select(b.Gt(x, zero), all, nan), result);
  const Value outside = b.Or(b.Lt(a, zero), b.Lt(x, zero));
  return b.Select(b.Or(outside, b.Or(IsNaN(b, a), IsNaN(b, x))), nan, result);
}

}  // namespace

OpRows GammaRows() {
  constexpr Accept kReal = Accept::kReal;
  constexpr auto kZeta = Binary<Zeta, kFloat, kReal>;
  return {
      {"aten::lgamma", UnaryOp<"chlo.lgamma", kFloat, kReal>, kElementwise},
      {"aten::digamma", Unary<Digamma, kFloat, kReal>, kElementwise},
      {"aten::polygamma", Polygamma, kElementwise},
      {"aten::mvlgamma", MultivariateLogGamma, kElementwise},
      {"aten::special_zeta", kZeta, kElementwise},
      {"aten::special_zeta.self_scalar", kZeta, kElementwise},
      {"aten::special_zeta.other_scalar", kZeta, kElementwise},
      {"aten::igamma", Binary<IncompleteGamma<false>, kFloat, kReal>, kElementwise},
      {"aten::igammac", Binary<IncompleteGamma<true>, kFloat, kReal>, kElementwise},
  };
}

}  // namespace torch_tpu::lowering
