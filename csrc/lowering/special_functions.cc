// Error functions, the normal distribution, logits and entropies.
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

// The quantile of the normal distribution. Coefficients are those of the Cephes library (S. L.
// Moshier).
// clang-format off
constexpr double kP0[] = {
    -59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968,
    -1.2391658386738125};

constexpr double kQ0[] = {
    1.0, 1.9544885833814176, 4.676279128988815, 86.36024213908905, -225.46268785411937,
    200.26021238006066, -82.03722561683334, 15.90562251262117, -1.1833162112133};

constexpr double kP1[] = {
    4.0554489230596245, 31.525109459989388, 57.16281922464213, 44.08050738932008,
    14.684956192885803, 2.1866330685079025, -0.1402560791713545, -0.03504246268278482,
    -0.0008574567851546854};

constexpr double kQ1[] = {
    1.0, 15.779988325646675, 45.39076351288792, 41.3172038254672, 15.04253856929075,
    2.504649462083094, -0.14218292285478779, -0.03808064076915783, -0.0009332594808954574};

constexpr double kP2[] = {
    3.2377489177694603, 6.915228890689842, 3.9388102529247444, 1.3330346081580755,
    0.20148538954917908, 0.012371663481782003, 0.00030158155350823543, 2.6580697468673755e-06,
    6.239745391849833e-09};

constexpr double kQ2[] = {
    1.0, 6.02427039364742, 3.6798356385616087, 1.3770209948908132, 0.21623699359449663,
    0.013420400608854318, 0.00032801446468212774, 2.8924786474538068e-06, 6.790194080099813e-09};
// clang-format on

Value NormalQuantile(Builder& b, Value p) {
  constexpr double kTail = 0.13533528323661269189;  // exp(-2)
  const auto number = [&](double v) { return b.ConstantLike(p, v); };
  const Value upper = b.Gt(p, number(1 - kTail));
  const Value y = b.Select(upper, 1 - p, p);
  const Value gap = y - 0.5, square = gap * gap;
  const Value middle =
      (gap + gap * (square * Polynomial(b, square, kP0) / Polynomial(b, square, kQ0))) *
      std::sqrt(2 * std::numbers::pi);
  const Value x = b.Sqrt(-2 * b.Log(y)), z = 1 / x;
  const Value near = z * Polynomial(b, z, kP1) / Polynomial(b, z, kQ1);
  const Value far = z * Polynomial(b, z, kP2) / Polynomial(b, z, kQ2);
  const Value tail = x - b.Log(x) / x - b.Select(b.Lt(x, number(8)), near, far);
  const Value inside = b.Select(b.Gt(y, number(kTail)), middle, b.Select(upper, tail, -tail));
  const Value infinity = b.Infinity(p.dtype(), false, p.dims());
  const Value edge =
      b.Select(b.Eq(p, number(0)), -infinity, b.Select(b.Eq(p, number(1)), infinity, inside));
  const Value outside = b.Or(b.Lt(p, number(0)), b.Gt(p, number(1)));
  return b.Select(b.Or(outside, IsNaN(b, p)), b.NaN(p.dtype(), p.dims()), edge);
}

// exp(x^2) erfc(x): by its continued fraction where erfc would underflow.
Value ScaledErfc(Builder& b, Value x) {
  Value fraction = x;
  for (int k = 30; k >= 1; --k) fraction = x + (k * 0.5) / fraction;
  const Value far = std::numbers::inv_sqrtpi / fraction;
  const Value near = b.Exp(x * x) * b.Unary("chlo.erfc", x);
  return b.Select(b.Gt(x, b.ConstantLike(x, 3)), far, near);
}

// Logarithm of the normal distribution function.
Value LogNormalCdf(Builder& b, Value x) {
  const Value scaled = x * (std::numbers::sqrt2 / 2);
  const Value tail = b.Log(ScaledErfc(b, -scaled) * 0.5) - scaled * scaled;
  const Value rest = b.Log1p(b.Unary("chlo.erfc", scaled) * -0.5);
  return b.Select(b.Lt(x, -One(b, x)), tail, rest);
}

}  // namespace

OpRows SpecialFunctionRows() {
  constexpr Accept kReal = Accept::kReal;
  constexpr auto kXLogY = Binary<ProductWithLog<Log>, kFloat, kReal>;
  constexpr auto kXLog1pY = Binary<ProductWithLog<Log1p>, kFloat, kReal>;
  return {
      {"aten::erf", Unary<Erf, kFloat, kReal>, kElementwise},
      {"aten::erfc", UnaryOp<"chlo.erfc", kFloat, kReal>, kElementwise},
      {"aten::erfinv", UnaryOp<"chlo.erf_inv", kFloat, kReal>, kElementwise},
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
      {"aten::special_erfcx", Unary<ScaledErfc, kFloat, kReal>, kElementwise},
      {"aten::special_ndtri", Unary<NormalQuantile, kFloat, kReal>, kElementwise},
      {"aten::special_log_ndtr", Unary<LogNormalCdf, kFloat, kReal>, kElementwise},
  };
}

}  // namespace torch_tpu::lowering
