// Bessel functions. Coefficients are those of the Cephes library (S. L. Moshier).
#include <numbers>

#include "lowering/families.h"
#include "lowering/series.h"

namespace torch_tpu::lowering {
namespace {

const OpRow::Flags kElementwise = {.elementwise = true};

// clang-format off
constexpr double kI0eSmall[] = {
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16,
    1.715391285555133e-15, -1.1685332877993451e-14, 7.676185498604936e-14, -4.856446783111929e-13,
    2.95505266312964e-12, -1.726826291441556e-11, 9.675809035373237e-11, -5.189795601635263e-10,
    2.6598237246823866e-09, -1.300025009986248e-08, 6.046995022541919e-08, -2.670793853940612e-07,
    1.1173875391201037e-06, -4.4167383584587505e-06, 1.6448448070728896e-05,
    -5.754195010082104e-05, 0.00018850288509584165, -0.0005763755745385824, 0.0016394756169413357,
    -0.004324309995050576, 0.010546460394594998, -0.02373741480589947, 0.04930528423967071,
    -0.09490109704804764, 0.17162090152220877, -0.3046826723431984, 0.6767952744094761};

constexpr double kI0eLarge[] = {
    -7.233180487874754e-18, -4.830504485944182e-18, 4.46562142029676e-17, 3.461222867697461e-17,
    -2.8276239805165836e-16, -3.425485619677219e-16, 1.7725601330565263e-15,
    3.8116806693526224e-15, -9.554846698828307e-15, -4.150569347287222e-14, 1.54008621752141e-14,
    3.8527783827421426e-13, 7.180124451383666e-13, -1.7941785315068062e-12,
    -1.3215811840447713e-11, -3.1499165279632416e-11, 1.1889147107846439e-11,
    4.94060238822497e-10, 3.3962320257083865e-09, 2.266668990498178e-08, 2.0489185894690638e-07,
    2.8913705208347567e-06, 6.889758346916825e-05, 0.0033691164782556943, 0.8044904110141088};

constexpr double kJ0Pp[] = {
    0.0007969367292973471, 0.08283523921074408, 1.239533716464143, 5.447250030587687,
    8.74716500199817, 5.303240382353949, 1.0};

constexpr double kJ0Pq[] = {
    0.0009244088105588637, 0.08562884743544745, 1.2535274390105895, 5.470977403304171,
    8.761908832370695, 5.306052882353947, 1.0};

constexpr double kJ0Qp[] = {
    -0.011366383889846916, -1.2825271867050931, -19.553954425773597, -93.20601521237683,
    -177.68116798048806, -147.07750515495118, -51.41053267665993, -6.050143506007285};

constexpr double kJ0Qq[] = {
    64.3178256118178, 856.4300259769806, 3882.4018360540163, 7240.467741956525, 5930.727011873169,
    2062.0933166032783, 242.0057402402914};

constexpr double kJ0Rp[] = {
    -4794432209.782018, 1956174919465.5657, -249248344360967.72, 9708622510473064.0};

constexpr double kJ0Rq[] = {
    499.563147152651, 173785.4016763747, 48440965.83399621, 11185553704.535683, 2112775201154.892,
    310518229857422.56, 3.1812195594320496e+16, 1.7108629408104315e+18};

constexpr double kJ1Pp[] = {
    0.0007621256162081731, 0.07313970569409176, 1.1271960812968493, 5.112079511468076,
    8.424045901417724, 5.214515986823615, 1.0};

constexpr double kJ1Pq[] = {
    0.0005713231280725487, 0.06884559087544954, 1.105142326340617, 5.073863861286015,
    8.399855543276042, 5.209828486823619, 1.0};

constexpr double kJ1Qp[] = {
    0.05108625947501766, 4.982138729512334, 75.82382841325453, 366.7796093601508,
    710.8563049989261, 597.4896124006136, 211.68875710057213, 25.207020585802372};

constexpr double kJ1Qq[] = {
    74.23732770356752, 1056.4488603826283, 4986.410583376536, 9562.318924047562,
    7997.041604473507, 2826.1927851763908, 336.0936078106983};

constexpr double kJ1Rp[] = {
    -899971225.7055594, 452228297998.19403, -72749424522181.83, 3682957328638529.0};

constexpr double kJ1Rq[] = {
    620.8364781180543, 256987.25675774884, 83514679.14319493, 22151159547.97925,
    4749141220799.914, 784369607876235.9, 8.952223361846274e+16, 5.322786203326801e+18};

constexpr double kY0P[] = {
    15592.436785523574, -14663929.59039716, 5435264770.518765, -982136065717.9115,
    87590639439536.7, -3466283033847297.0, 4.4273326857256984e+16, -1.8495080043698668e+16};

constexpr double kY0Q[] = {
    1041.2835366425984, 626107.330137135, 268919633.39381415, 86400248710.3935,
    20297961275010.555, 3171577528429750.5, 2.5059625617265306e+17};

constexpr double kY1P[] = {
    1263204747.9017804, -647355876379.1603, 114509511541823.73, -8127702555013251.0,
    2.024394757135949e+17, -7.788771962659501e+17};

constexpr double kY1Q[] = {
    594.3015923461282, 235564.09294306856, 73481194.44597217, 18760131610.870617,
    3882312774962.3857, 620557727146953.8, 6.871410873553005e+16, 3.9727060811656064e+18};

constexpr double kK0Small[] = {
    1.374465435613523e-16, 4.25981614279661e-14, 1.0349695257633842e-11, 1.904516377220209e-09,
    2.5347910790261494e-07, 2.286212103119452e-05, 0.001264615411446926, 0.0359799365153615,
    0.3442898999246285, -0.5353273932339028};

constexpr double kK0Large[] = {
    5.300433772686263e-18, -1.6475804301524212e-17, 5.2103915050390274e-17,
    -1.678231096805412e-16, 5.512055978524319e-16, -1.848593377343779e-15, 6.3400764774050706e-15,
    -2.2275133269916698e-14, 8.032890775363575e-14, -2.9800969231727303e-13,
    1.140340588208475e-12, -4.514597883373944e-12, 1.8559491149547177e-11, -7.957489244477107e-11,
    3.577397281400301e-10, -1.69753450938906e-09, 8.574034017414225e-09, -4.660489897687948e-08,
    2.766813639445015e-07, -1.8317555227191195e-06, 1.39498137188765e-05, -0.00012849549581627802,
    0.0015698838857300533, -0.0314481013119645, 2.4403030820659555};

constexpr double kK1Small[] = {
    -7.023863479386288e-18, -2.427449850519366e-15, -6.666901694199329e-13,
    -1.4114883926335278e-10, -2.213387630734726e-08, -2.4334061415659684e-06,
    -0.0001730288957513052, -0.006975723859639864, -0.12261118082265715, -0.3531559607765449,
    1.5253002273389478};

constexpr double kK1Large[] = {
    -5.756744483665017e-18, 1.7940508731475592e-17, -5.689462558442859e-17, 1.838093544366639e-16,
    -6.057047248373319e-16, 2.038703165624334e-15, -7.019837090418314e-15, 2.4771544244813043e-14,
    -8.976705182324994e-14, 3.3484196660784293e-13, -1.2891739609510289e-12, 5.13963967348173e-12,
    -2.1299678384275683e-11, 9.218315187605006e-11, -4.1903547593418965e-10,
    2.015049755197033e-09, -1.0345762465678097e-08, 5.7410841254500495e-08,
    -3.5019606030878126e-07, 2.406484947837217e-06, -1.936197974166083e-05,
    0.00019521551847135162, -0.002857816859622779, 0.10392373657681724, 2.7206261904844427};
// clang-format on

constexpr double kPi = std::numbers::pi;

Value Number(Builder& b, Value like, double value) { return b.ConstantLike(like, value); }

// ---- modified, first kind

Value ScaledI0(Builder& b, Value x) {
  x = b.Abs(x);
  const Value small = ChebyshevSeries(b, x * 0.5 - 2, kI0eSmall);
  const Value large = ChebyshevSeries(b, 32 / x - 2, kI0eLarge) / b.Sqrt(x);
  return b.Select(b.Le(x, Number(b, x, 8)), small, large);
}

Value I0(Builder& b, Value x) { return ScaledI0(b, x) * b.Exp(b.Abs(x)); }
Value ScaledI1(Builder& b, Value x) { return b.Unary("chlo.bessel_i1e", x); }
Value I1(Builder& b, Value x) { return ScaledI1(b, x) * b.Exp(b.Abs(x)); }

// ---- modified, second kind: infinite at 0, not defined below

Value SecondKind(Builder& b, Value x, Value inside, double at_zero) {
  const Value zero = Number(b, x, 0);
  const Value pole = b.Infinity(x.dtype(), at_zero < 0, x.dims());
  const Value result = b.Select(b.Eq(x, zero), pole, inside);
  return b.Select(b.Lt(x, zero), b.NaN(x.dtype(), x.dims()), result);
}

template <bool scaled>
Value K0(Builder& b, Value x) {
  Value small = ChebyshevSeries(b, x * x - 2, kK0Small) - b.Log(x * 0.5) * I0(b, x);
  Value large = ChebyshevSeries(b, 8 / x - 2, kK0Large) / b.Sqrt(x);
  scaled ? small = small * b.Exp(x) : large = large * b.Exp(-x);
  return SecondKind(b, x, b.Select(b.Le(x, Number(b, x, 2)), small, large), +1);
}

template <bool scaled>
Value K1(Builder& b, Value x) {
  Value small = b.Log(x * 0.5) * I1(b, x) + ChebyshevSeries(b, x * x - 2, kK1Small) / x;
  Value large = ChebyshevSeries(b, 8 / x - 2, kK1Large) / b.Sqrt(x);
  scaled ? small = small * b.Exp(x) : large = large * b.Exp(-x);
  return SecondKind(b, x, b.Select(b.Le(x, Number(b, x, 2)), small, large), +1);
}

// ---- first and second kind: near 0 and oscillating

struct Oscillation {
  Value cosine, sine;  // amplitude included
};

// Amplitudes p and q of the far field, phase moved by `shift`.
Oscillation FarField(Builder& b, Value x, double shift, Coefficients pp, Coefficients pq,
                     Coefficients qp, Coefficients qq) {
  const Value near = 5 / x, square = near * near, phase = x - shift;
  const Value p = Polynomial(b, square, pp) / Polynomial(b, square, pq);
  const Value q = near * Polynomial(b, square, qp) / Polynomial(b, square, qq);
  const Value size = std::numbers::sqrt2 * std::numbers::inv_sqrtpi / b.Sqrt(x);
  const Value cosine = b.Cos(phase), sine = b.Sin(phase);
  return {(p * cosine - q * sine) * size, (p * sine + q * cosine) * size};
}

Oscillation Far0(Builder& b, Value x) {
  return FarField(b, x, kPi / 4, kJ0Pp, kJ0Pq, kJ0Qp, kJ0Qq);
}

Oscillation Far1(Builder& b, Value x) {
  return FarField(b, x, 3 * kPi / 4, kJ1Pp, kJ1Pq, kJ1Qp, kJ1Qq);
}

Value J0(Builder& b, Value x) {
  x = b.Abs(x);
  const Value square = x * x;
  const Value roots = (square - 5.78318596294678452118) * (square - 30.4712623436620863991);
  const Value near = roots * Polynomial(b, square, kJ0Rp) / Polynomial(b, square, kJ0Rq);
  return b.Select(b.Le(x, Number(b, x, 5)), near, Far0(b, x).cosine);
}

Value J1(Builder& b, Value x) {
  const Value size = b.Abs(x), square = x * x;
  const Value roots = (square - 14.6819706421238932572) * (square - 49.2184563216946036703);
  const Value near = x * Polynomial(b, square, kJ1Rp) / Polynomial(b, square, kJ1Rq) * roots;
  const Value far = Far1(b, size).cosine;
  return b.Select(b.Le(size, Number(b, x, 5)), near, b.Select(b.Lt(x, Number(b, x, 0)), -far, far));
}

Value Y0(Builder& b, Value x) {
  const Value square = x * x;
  const Value near =
      Polynomial(b, square, kY0P) / Polynomial(b, square, kY0Q) + (2 / kPi) * b.Log(x) * J0(b, x);
  return SecondKind(b, x, b.Select(b.Le(x, Number(b, x, 5)), near, Far0(b, x).sine), -1);
}

Value Y1(Builder& b, Value x) {
  const Value square = x * x;
  const Value near = x * (Polynomial(b, square, kY1P) / Polynomial(b, square, kY1Q)) +
                     (2 / kPi) * (J1(b, x) * b.Log(x) - 1 / x);
  return SecondKind(b, x, b.Select(b.Le(x, Number(b, x, 5)), near, Far1(b, x).sine), -1);
}

// sin(x) / x
Value SphericalJ0(Builder& b, Value x) {
  const Value size = b.Abs(x), zero = Number(b, x, 0);
  const Value ratio = b.Select(b.Eq(x, zero), Number(b, x, 1), b.Sin(x) / x);
  return b.Select(b.Eq(size, b.Infinity(x.dtype(), false, x.dims())), zero, ratio);
}

template <auto f>
constexpr auto kRow = Unary<f, Promote::kFloat, Accept::kReal>;

}  // namespace

OpRows BesselRows() {
  return {
      {"aten::i0", kRow<I0>, kElementwise},
      {"aten::special_i0e", kRow<ScaledI0>, kElementwise},
      {"aten::special_i1", kRow<I1>, kElementwise},
      {"aten::special_i1e", kRow<ScaledI1>, kElementwise},
      {"aten::special_modified_bessel_i0", kRow<I0>, kElementwise},
      {"aten::special_modified_bessel_i1", kRow<I1>, kElementwise},
      {"aten::special_modified_bessel_k0", kRow<K0<false>>, kElementwise},
      {"aten::special_modified_bessel_k1", kRow<K1<false>>, kElementwise},
      {"aten::special_scaled_modified_bessel_k0", kRow<K0<true>>, kElementwise},
      {"aten::special_scaled_modified_bessel_k1", kRow<K1<true>>, kElementwise},
      {"aten::special_bessel_j0", kRow<J0>, kElementwise},
      {"aten::special_bessel_j1", kRow<J1>, kElementwise},
      {"aten::special_bessel_y0", kRow<Y0>, kElementwise},
      {"aten::special_bessel_y1", kRow<Y1>, kElementwise},
      {"aten::special_spherical_bessel_j0", kRow<SphericalJ0>, kElementwise},
  };
}

}  // namespace torch_tpu::lowering
