// Derivatives of samples by the parameters of their distribution, by the approximations that
// PyTorch uses on the CPU (ATen/native/Distributions.h), in float64.
#include <c10/util/Exception.h>

#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {
namespace {

constexpr DType kWork = DType::Double;

Value Digamma(Builder& b, Value x) { return b.Unary("chlo.digamma", x); }
Value Power(Builder& b, Value x, double y) { return b.Pow(x, b.ConstantLike(x, y)); }
Value ZeroForNaN(Builder& b, Value x) { return b.Select(b.Ne(x, x), b.ConstantLike(x, 0), x); }

// x < 0.8: Taylor series.
Value GammaSmall(Builder& b, Value x, Value alpha) {
  Value factor = b.ConstantLike(x, 1), denominator = alpha;
  Value series1 = factor / denominator, series2 = factor / (denominator * denominator);
  for (int i = 1; i <= 5; ++i) {
    factor = factor * (-x / static_cast<double>(i));
    denominator = denominator + 1.0;
    series1 = series1 + factor / denominator;
    series2 = series2 + factor / (denominator * denominator);
  }
  const Value power = b.Pow(x, alpha), pdf = b.Pow(x, alpha - 1.0) * b.Exp(-x);
  const Value cdf_alpha = (b.Log(x) - Digamma(b, alpha)) * (power * series1) - power * series2;
  return ZeroForNaN(b, -cdf_alpha / pdf);
}

// alpha > 8 and x near it: Rice's saddle point expansion at the point itself.
Value GammaNear(Value x, Value alpha) {
  const Value numerator1 = 1.0 + 24.0 * alpha * (1.0 + 12.0 * alpha);
  const Value numerator2 = 1440.0 * (alpha * alpha) + 6.0 * x * (53.0 - 120.0 * x) -
                           65.0 * x * x / alpha + alpha * (107.0 + 3600.0 * x);
  return numerator1 * numerator2 / (1244160.0 * (alpha * alpha) * (alpha * alpha));
}

Value GammaFar(Builder& b, Value x, Value alpha) {
  const Value denominator = b.Sqrt(8.0 * alpha), log_ratio = b.Log(x / alpha);
  const Value term2 = denominator / (alpha - x);
  const Value term3 = Power(b, x - alpha - alpha * log_ratio, -1.5);
  const Value term23 = b.Select(b.Lt(x, alpha), term2 - term3, term2 + term3);
  const Value term1 =
      log_ratio * term23 - b.Sqrt(2.0 / alpha) * (alpha + x) / ((alpha - x) * (alpha - x));
  const Value stirling = 1.0 + 1.0 / (12.0 * alpha) * (1.0 + 1.0 / (24.0 * alpha));
  return -stirling * (x * term1) / denominator;
}

// Everywhere else: a rational function of two logarithms.
Value GammaRational(Builder& b, Value x, Value alpha) {
  static constexpr double kCoefficients[3][8] = {
      {0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089,
       0.0014179084},
      {0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915,
       -0.00058392623},
      {0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326,
       0.00085092367, -1.5247877e-07}};
  const Value u = b.Log(x / alpha), v = b.Log(alpha);
  Values c;
  for (int i = 0; i < 8; ++i) {
    c.push_back(kCoefficients[0][i] + u * (kCoefficients[1][i] + u * kCoefficients[2][i]));
  }
  const Value p = c[0] + v * (c[1] + v * (c[2] + v * c[3]));
  const Value q = c[4] + v * (c[5] + v * (c[6] + v * c[7]));
  return b.Exp(p / q);
}

// aten::_standard_gamma_grad(Tensor self, Tensor output) -> Tensor
Value StandardGammaGrad(Builder& b, const OpCall& call) {
  const DType type = call.ResultType({0, 1});
  CheckDtype(call.name(), type, Accept::kFloat);
  const Values operands = Operands(b, call, {0, 1}, type, kWork);
  const Value alpha = operands[0], x = operands[1];
  auto number = [&](double v) { return b.ConstantLike(x, v); };
  const Value near = b.And(b.Le(0.9 * alpha, x), b.Le(x, 1.1 * alpha));
  const Value large = b.Select(near, GammaNear(x, alpha), GammaFar(b, x, alpha));
  const Value rest = b.Select(b.Gt(alpha, number(8)), large, GammaRational(b, x, alpha));
  return b.Convert(b.Select(b.Lt(x, number(0.8)), GammaSmall(b, x, alpha), rest), type);
}

// Beta(x, alpha, beta) by alpha for x near 0.
Value BetaByAlphaSmall(Builder& b, Value x, Value alpha, Value beta) {
  const Value factor = Digamma(b, alpha) - Digamma(b, alpha + beta) - b.Log(x);
  Value term = b.ConstantLike(x, 1);
  Value series = term / alpha * (factor + 1.0 / alpha);
  for (int i = 1; i <= 10; ++i) {
    term = term * ((static_cast<double>(i) - beta) * x / static_cast<double>(i));
    const Value denominator = alpha + static_cast<double>(i);
    series = series + term / denominator * (factor + 1.0 / denominator);
  }
  return ZeroForNaN(b, x * b.Pow(1.0 - x, -beta) * series);
}

// The same by beta.
Value BetaByBetaSmall(Builder& b, Value x, Value alpha, Value beta) {
  const Value factor = Digamma(b, alpha + beta) - Digamma(b, beta);
  Value term = b.ConstantLike(x, 1), betas = term, dbetas = b.ConstantLike(x, 0);
  Value series = factor / alpha;
  for (int i = 1; i <= 8; ++i) {
    const double n = i;
    term = term * (-x / n);
    dbetas = dbetas * (beta - n) + betas;
    betas = betas * (beta - n);
    series = series + term / (alpha + n) * (dbetas + factor * betas);
  }
  return ZeroForNaN(b, -b.Pow(1.0 - x, 1.0 - beta) * series);
}

// Both parameters large: Rice's saddle point expansion.
Value BetaMiddle(Builder& b, Value x, Value alpha, Value beta) {
  const Value total = alpha + beta, mean = alpha / total;
  const Value deviation = b.Sqrt(alpha * beta / (total + 1.0)) / total;
  const Value beta2 = beta * beta;
  const Value polynomial =
      47.0 * x * beta2 * beta2 +
      alpha * ((43.0 + 20.0 * (16.0 + 27.0 * beta) * x) * beta2 * beta +
               alpha * (3.0 * (59.0 + 180.0 * beta - 90.0 * x) * beta2 +
                        alpha * ((453.0 + 1620.0 * beta * (1.0 - x) - 455.0 * x) * beta +
                                 alpha * (8.0 * (1.0 - x) * (135.0 * beta - 11.0)))));
  const Value scale = (1.0 + 12.0 * alpha) * (1.0 + 12.0 * beta) / (total * total);
  const Value near = scale / (1.0 - x) * polynomial /
                     (12960.0 * alpha * alpha * alpha * beta2 * (1.0 + 12.0 * total));

  auto stirling_of = [](Value v) { return 1.0 + 1.0 / (12.0 * v) + 1.0 / (288.0 * v * v); };
  const Value stirling = stirling_of(alpha) * stirling_of(beta) / stirling_of(total);
  const Value prefactor = -x / b.Sqrt(2.0 * alpha * beta / total);
  const Value axbx = alpha * (x - 1.0) + beta * x;
  const Value term1 = (2.0 * (alpha * alpha) * (x - 1.0) + alpha * beta * (x - 1.0) - x * beta2) /
                      (b.Sqrt(2.0 * alpha / beta) * Power(b, total, 1.5) * axbx * axbx);
  const Value term2 = 0.5 * b.Log(alpha / (total * x));
  const Value term3 = b.Sqrt(8.0 * alpha * beta / total) / axbx;
  const Value base = beta * b.Log(beta / (total * (1.0 - x))) + alpha * b.Log(alpha / (total * x));
  const Value term4 = Power(b, base, -1.5);
  const Value signed4 = b.Select(b.Lt(x, mean), term4, -term4);
  const Value far = stirling * prefactor * (term1 + term2 * (term3 + signed4));
  const Value is_near = b.And(b.Le(mean - 0.1 * deviation, x), b.Le(x, mean + 0.1 * deviation));
  return b.Select(is_near, near, far);
}

Value BetaRational(Builder& b, Value x, Value alpha, Value total) {
  static constexpr double c[2][3][3][4] = {
      {{{1.003668233, -0.01061107488, -0.0657888334, 0.01201642863},
        {0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033},
        {-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013}},
       {{0.221950385, -0.3187676331, 0.01799915743, 0.01074823814},
        {-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057},
        {0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05}},
       {{-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565},
        {0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181},
        {0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05}}},
      {{{1, -0.02924021934, -0.04438342661, 0.007285809825},
        {0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521},
        {-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149}},
       {{0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273},
        {0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956},
        {-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05}},
       {{0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05},
        {0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05},
        {-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06}}}};
  const Value u = b.Log(x), a = b.Log(alpha) - u, t = b.Log(total) - a;
  const Value one = b.ConstantLike(x, 1);
  const Value powers_u[3] = {one, u, u * u}, powers_a[3] = {one, a, a * a};
  Value sums[2] = {b.ConstantLike(x, 0), b.ConstantLike(x, 0)};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const Value ua = powers_u[i] * powers_a[j];
      for (int k = 0; k < 2; ++k) {
        const double (&row)[4] = c[k][i][j];
        sums[k] = sums[k] + ua * (row[0] + t * (row[1] + t * (row[2] + t * row[3])));
      }
    }
  }
  const Value approximate = x * (Digamma(b, total) - Digamma(b, alpha)) / (total - alpha);
  return sums[0] / sums[1] * approximate;
}

// aten::_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor
Value DirichletGrad(Builder& b, const OpCall& call) {
  const DType type = call.ResultType({0, 1, 2});
  CheckDtype(call.name(), type, Accept::kFloat);
  const Values operands = Operands(b, call, {0, 1, 2}, type, kWork);
  const Value x = operands[0], alpha = operands[1], total = operands[2], beta = total - alpha;
  const Value boundary = total * x * (1.0 - x);
  auto number = [&](double v) { return b.ConstantLike(x, v); };
  const Value near0 = b.And(b.Le(x, number(0.5)), b.Lt(boundary, number(2.5)));
  const Value near1 = b.And(b.Ge(x, number(0.5)), b.Lt(boundary, number(0.75)));
  const Value large = b.And(b.Gt(alpha, number(6)), b.Gt(beta, number(6)));
  Value result = b.Select(large, BetaMiddle(b, x, alpha, beta), BetaRational(b, x, alpha, total));
  result = b.Select(near1, -BetaByBetaSmall(b, 1.0 - x, beta, alpha), result);
  return b.Convert(b.Select(near0, BetaByAlphaSmall(b, x, alpha, beta), result), type);
}

}  // namespace

OpRows DistributionGradRows() {
  return {
      {"aten::_standard_gamma_grad", StandardGammaGrad},
      {"aten::_dirichlet_grad", DirichletGrad},
  };
}

}  // namespace torch_tpu::lowering
