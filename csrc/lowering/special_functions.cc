// Special functions that chlo offers or that are short formulas over them.
#include <c10/util/Exception.h>

#include <cmath>
#include <numbers>

#include "lowering/combinators.h"
#include "lowering/families.h"

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
        return {b.Select(below, v[0] + 1, v[0]),
                b.Select(below, v[1] + b.Pow(v[0], -v[2]), v[1]), v[2]};
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

// sin(pi x) / (pi x), 1 at 0.
Value Sinc(Builder& b, Value x) {
  const Value scaled = x * std::numbers::pi;
  return b.Select(b.Eq(x, Zero(b, x)), One(b, x), b.Sin(scaled) / scaled);
}

// x f(y), 0 for x = 0 unless y is NaN.
template <auto f>
Value ProductWithLog(Builder& b, Value x, Value y) {
  const Value product = b.Select(b.Eq(x, Zero(b, x)), Zero(b, x), x * f(b, y));
  return b.Select(IsNaN(b, y), y, product);
}

Value Log(Builder& b, Value x) { return b.Log(x); }
Value Log1p(Builder& b, Value x) { return b.Log1p(x); }

// -x log x; 0 at 0, -inf below.
Value Entropy(Builder& b, Value x) {
  const Value zero = Zero(b, x), inside = b.Select(b.Eq(x, zero), zero, -x * b.Log(x));
  const Value outside = b.Select(b.Lt(x, zero), b.Infinity(x.dtype(), true, x.dims()), inside);
  return b.Select(IsNaN(b, x), x, outside);
}

// aten::logit(Tensor self, float? eps=None) -> Tensor
Value Logit(Builder& b, const OpCall& call) {
  return Elementwise(
      b, call, {0}, kFloat,
      [&](Builder& b, const Values& v) {
        Value x = v[0];
        if (!call.IsNone(1)) {
          const Value eps = b.Broadcast(call.Number(b, 1, x.dtype()), x.dims());
          const Value high = 1 - eps;
          x = b.Select(b.Lt(x, eps), eps, b.Select(b.Gt(x, high), high, x));
        }
        return b.Log(x / (1 - x));
      },
      Accept::kReal);
}

// aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor
Value LogitBackward(Builder& b, const OpCall& call) {
  return Elementwise(
      b, call, {0, 1}, Promote::kKeep,
      [&](Builder& b, const Values& v) {
        const Value x = v[1], zero = Zero(b, x), slope = v[0] / (x * (1 - x));
        if (call.IsNone(2)) {
          const Value outside = b.Or(b.Lt(x, zero), b.Gt(x, One(b, x)));
          const Value edge = v[0] * b.Infinity(x.dtype(), false, x.dims());
          const Value at_edge = b.Or(b.Eq(x, zero), b.Eq(x, One(b, x)));
          return b.Select(outside, b.NaN(x.dtype(), x.dims()), b.Select(at_edge, edge, slope));
        }
        const Value eps = b.Broadcast(call.Number(b, 2, x.dtype()), x.dims());
        return b.Select(b.Or(b.Lt(x, eps), b.Gt(x, 1 - eps)), zero, slope);
      },
      Accept::kFloat);
}

Value BesselI1(Builder& b, Value x) { return b.Unary("chlo.bessel_i1e", x) * b.Exp(b.Abs(x)); }

// Logarithm of the normal distribution function; the tail through erfc keeps its digits.
Value LogNormalCdf(Builder& b, Value x) {
  const Value scaled = x * (std::numbers::sqrt2 / 2);
  return b.Log(b.Unary("chlo.erfc", -scaled) * 0.5);
}

}  // namespace

OpRows SpecialFunctionRows() {
  constexpr Accept kReal = Accept::kReal;
  constexpr auto kXLogY = Binary<ProductWithLog<Log>, kFloat, kReal>;
  constexpr auto kXLog1pY = Binary<ProductWithLog<Log1p>, kFloat, kReal>;
  constexpr auto kZeta = Binary<Zeta, kFloat, kReal>;
  return {
      {"aten::erf", UnaryOp<"chlo.erf", kFloat, kReal>, kElementwise},
      {"aten::erfc", UnaryOp<"chlo.erfc", kFloat, kReal>, kElementwise},
      {"aten::erfinv", UnaryOp<"chlo.erf_inv", kFloat, kReal>, kElementwise},
      {"aten::lgamma", UnaryOp<"chlo.lgamma", kFloat, kReal>, kElementwise},
      {"aten::digamma", Unary<Digamma, kFloat, kReal>, kElementwise},
      {"aten::polygamma", Polygamma, kElementwise},
      {"aten::special_zeta", kZeta, kElementwise},
      {"aten::special_zeta.self_scalar", kZeta, kElementwise},
      {"aten::special_zeta.other_scalar", kZeta, kElementwise},
      {"aten::sinc", Unary<Sinc, kFloat>, kElementwise},
      {"aten::xlogy.Tensor", kXLogY, kElementwise},
      {"aten::xlogy.Scalar_Self", kXLogY, kElementwise},
      {"aten::xlogy.Scalar_Other", kXLogY, kElementwise},
      {"aten::special_xlog1py", kXLog1pY, kElementwise},
      {"aten::special_xlog1py.self_scalar", kXLog1pY, kElementwise},
      {"aten::special_xlog1py.other_scalar", kXLog1pY, kElementwise},
      {"aten::special_entr", Unary<Entropy, kFloat, kReal>, kElementwise},
      {"aten::logit", Logit, kElementwise},
      {"aten::logit_backward", LogitBackward, kElementwise},
      {"aten::special_i1", Unary<BesselI1, kFloat, kReal>, kElementwise},
      {"aten::special_i1e", UnaryOp<"chlo.bessel_i1e", kFloat, kReal>, kElementwise},
      {"aten::special_log_ndtr", Unary<LogNormalCdf, kFloat, kReal>, kElementwise},
  };
}

}  // namespace torch_tpu::lowering
