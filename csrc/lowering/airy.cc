// The Airy function Ai. Coefficients are those of the Cephes library (S. L. Moshier).
#include <numbers>

#include "lowering/families.h"
#include "lowering/series.h"

namespace torch_tpu::lowering {
namespace {

// clang-format off
constexpr double kRightP[] = {
    3.46538101525629032477e-01, 1.20075952739645805542e+01, 7.62796053615234516538e+01,
    1.68089224934630576269e+02, 1.59756391350164413639e+02, 7.05360906840444183113e+01,
    1.40264691163389668864e+01, 9.99999999999999995305e-01};

constexpr double kRightQ[] = {
    5.67594532638770212846e-01, 1.47562562584847203173e+01, 8.45138970141474626562e+01,
    1.77318088145400459522e+02, 1.64234692871529701831e+02, 7.14778400825575695274e+01,
    1.40959135607834029598e+01, 1.00000000000000000470e+00};

constexpr double kLeftSineP[] = {
    -1.31696323418331795333e-01, -6.26456544431912369773e-01, -6.93158036036933542233e-01,
    -2.79779981545119124951e-01, -4.91900132609500318020e-02, -4.06265923594885404393e-03,
    -1.59276496239262096340e-04, -2.77649108155232920844e-06, -1.67787698489114633780e-08};

constexpr double kLeftSineQ[] = {
    1.33560420706553243746e+01, 3.26825032795224613948e+01, 2.67367040941499554804e+01,
    9.18707402907259625840e+00, 1.47529146771666414581e+00, 1.15687173795188044134e-01,
    4.40291641615211203805e-03, 7.54720348287414296618e-05, 4.51850092970580378464e-07};

constexpr double kLeftCosineP[] = {
    1.97339932091685679179e-02, 3.91103029615688277255e-01, 1.06579897599595591108e+00,
    9.39169229816650230044e-01, 3.51465656105547619242e-01, 6.33888919628925490927e-02,
    5.85804113048388458567e-03, 2.82851600836737019778e-04, 6.98793669997260967291e-06,
    8.11789239554389293311e-08, 3.41551784765923618484e-10};

constexpr double kLeftCosineQ[] = {
    9.30892908077441974853e+00, 1.98352928718312140417e+01, 1.55646628932864612953e+01,
    5.47686069422975497931e+00, 9.54293611618961883998e-01, 8.64580826352392193095e-02,
    4.12656523824222607191e-03, 1.01259085116509135510e-04, 1.17166733214413521882e-06,
    4.91834570062930015649e-09};
// clang-format on

constexpr double kInverseRootPi = 5.64189583547756286948e-01;

// sum of z^k / product of (3 j + a)(3 j + b) for j up to k.
Value CubeSeries(Builder& b, Value z, double first, double second) {
  constexpr int kTerms = 14;
  double coefficients[kTerms] = {1};
  for (int k = 1; k < kTerms; ++k) {
    coefficients[k] = coefficients[k - 1] / ((3 * k + first) * (3 * k + second));
  }
  Value sum = b.ConstantLike(z, coefficients[kTerms - 1]);
  for (int k = kTerms - 2; k >= 0; --k) sum = sum * z + coefficients[k];
  return sum;
}

// aten::special_airy_ai(Tensor x) -> Tensor
Value AiryAi(Builder& b, Value x) {
  constexpr double kNear = 2.09, kFar = 103.892;
  const auto at = [&](double number) { return b.ConstantLike(x, number); };
  const Value size = b.Abs(x), root = b.Sqrt(size), fourth = b.Sqrt(root);
  const Value zeta = size * root * 2.0 / 3.0;

  const Value inverse = at(1) / zeta;
  const Value right = Polynomial(b, inverse, kRightP) / Polynomial(b, inverse, kRightQ) *
                      kInverseRootPi / (fourth * b.Exp(zeta) * 2.0);

  const Value square = inverse * inverse, angle = zeta + std::numbers::pi / 4;
  const Value sine = square * Polynomial(b, square, kLeftSineP) / Polynomial(b, square, kLeftSineQ);
  const Value cosine =
      inverse * Polynomial(b, square, kLeftCosineP) / Polynomial(b, square, kLeftCosineQ);
  const Value left =
      (b.Sin(angle) * (sine + 1.0) - b.Cos(angle) * cosine) * kInverseRootPi / fourth;

  const Value cube = x * x * x;
  const Value near = CubeSeries(b, cube, -1, 0) * 0.355028053887817239260 -
                     x * CubeSeries(b, cube, 0, 1) * 0.258819403792806798405;

  const Value value =
      b.Select(b.Ge(x, at(kNear)), right, b.Select(b.Lt(x, at(-kNear)), left, near));
  const Value infinite = b.And(b.Not(b.IsFinite(x)), b.Eq(x, x));
  return b.Select(infinite, b.NaN(x.dtype(), x.dims()), b.Select(b.Gt(x, at(kFar)), at(0), value));
}

}  // namespace

OpRows AiryRows() {
  return {{"aten::special_airy_ai", Unary<AiryAi, Promote::kFloat, Accept::kReal>,
           OpRow::Flags{.elementwise = true}}};
}

}  // namespace torch_tpu::lowering
