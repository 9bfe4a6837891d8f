// Samplers that reject and try again: gamma, Dirichlet, Poisson, binomial. All elements run in one
// loop until the last one is accepted. They compute in float64: their tests compare large
// logarithms.
#include <c10/util/Exception.h>

#include <functional>
#include <limits>

#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/random_stream.h"

namespace torch_tpu::lowering {
namespace {

constexpr DType kWork = DType::Double;

struct Trial {
  Value value, accepted;
};

// Repeats `attempt` until every element is accepted or was `settled` to start with.
Value RejectionLoop(Builder& b, RandomStream& random, Value start, Value settled,
                    const Values& parameters,
                    const std::function<Trial(Builder&, RandomStream&, const Values&)>& attempt) {
  Values state = {random.Fork(), start, settled};
  state.insert(state.end(), parameters.begin(), parameters.end());
  const Values final = b.While(
      state, [](Builder& b, hlo::ValueRef s) -> Values { return {b.Not(All(b, s[2]))}; },
      [&](Builder& b, hlo::ValueRef s) -> Values {
        RandomStream stream(b, s[0]);
        const Trial trial = attempt(b, stream, Values(s.begin() + 3, s.end()));
        Values next = {stream.state(), b.Select(s[2], s[1], trial.value),
                       b.Or(s[2], trial.accepted)};
        next.insert(next.end(), s.begin() + 3, s.end());
        return next;
      });
  return final[1];
}

Value Lgamma(Builder& b, Value x) { return b.Unary("chlo.lgamma", x); }

// Marsaglia and Tsang's method; below 1 through Gamma(alpha + 1) * u^(1 / alpha).
Value GammaSample(Builder& b, RandomStream& random, Value alpha) {
  const Value zero = b.ConstantLike(alpha, 0), one = b.ConstantLike(alpha, 1);
  const Value drawable = b.And(b.Gt(alpha, zero), b.IsFinite(alpha));
  const Value small = b.And(drawable, b.Lt(alpha, one));
  const Value raised = b.Select(drawable, b.Select(small, alpha + one, alpha), one);
  const Value d = raised - 1.0 / 3.0, c = 1.0 / b.Sqrt(d * 9.0);
  const Value drawn = RejectionLoop(
      b, random, d, b.Not(drawable), {d, c}, [](Builder& b, RandomStream& random, const Values& p) {
        const Value x = random.Normal(kWork, p[0].dims());
        const Value u = random.OpenUniform(kWork, p[0].dims());
        const Value y = 1.0 + p[1] * x, v = y * y * y;
        const Value positive = b.Gt(y, b.ConstantLike(y, 0));
        const Value bound = 0.5 * x * x + p[0] * (1.0 - v + b.Log(v));
        return Trial{p[0] * v, b.And(positive, b.Lt(b.Log(u), bound))};
      });
  const Value u = random.OpenUniform(kWork, alpha.dims());
  const Value power = b.Pow(u, 1.0 / b.Select(small, alpha, one));
  // 0 gives 0, infinity itself, and what is negative or NaN gives NaN.
  const Value degenerate = b.Select(b.Ge(alpha, zero), alpha, b.NaN(kWork, alpha.dims()));
  return b.Select(drawable, b.Select(small, drawn * power, drawn), degenerate);
}

double SmallestNormal(DType dtype) {
  switch (dtype) {
    case DType::Double:
      return std::numeric_limits<double>::min();
    case DType::Half:
      return 6.103515625e-05;
    default:
      return std::numeric_limits<float>::min();
  }
}

// aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor
Value StandardGamma(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckDtype(call.name(), self.dtype(), Accept::kFloat);
  RandomStream random(b, call);
  const Value sample = GammaSample(b, random, b.Convert(self, kWork));
  const Value least = b.ConstantLike(sample, SmallestNormal(self.dtype()));
  return b.Convert(b.Max(sample, least), self.dtype());
}

// aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor
Value SampleDirichlet(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckDtype(call.name(), self.dtype(), Accept::kFloat);
  TORCH_CHECK(self.rank() > 0, call.name(), ": expected at least one dimension, got []");
  RandomStream random(b, call);
  const Value gamma = GammaSample(b, random, b.Convert(self, kWork));
  const Value total = Sum(b, gamma, {self.rank() - 1}, /*keep_dims=*/true);
  const Value share = gamma / b.Broadcast(total, gamma.dims());
  // Inside (0, 1) in the result's own type.
  const double most = self.dtype() == DType::Double     ? 1 - 0x1p-53
                      : self.dtype() == DType::Half     ? 1 - 0x1p-11
                      : self.dtype() == DType::BFloat16 ? 1 - 0x1p-8
                                                        : 1 - 0x1p-24;
  const Value bounded = b.Min(b.Max(share, b.ConstantLike(share, SmallestNormal(self.dtype()))),
                              b.ConstantLike(share, most));
  return b.Convert(bounded, self.dtype());
}

// aten::poisson(Tensor self, Generator? generator=None) -> Tensor
Value Poisson(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckDtype(call.name(), self.dtype(), Accept::kFloat);
  if (self.numel() == 0) return self;
  const Value rate = b.Convert(self, kWork), zero = b.ConstantLike(rate, 0);
  call.Require(All(b, b.Not(b.Lt(rate, zero))), "expected rates that are not negative");
  const Value drawable = b.And(b.Gt(rate, zero), b.IsFinite(rate));
  const Value large = b.Ge(rate, b.ConstantLike(rate, 10));
  RandomStream random(b, call);
  // From 10 on: Hormann's transformed rejection (PTRS).
  const Value lam = b.Select(b.And(drawable, large), rate, b.ConstantLike(rate, 10));
  const Value by_rejection = RejectionLoop(
      b, random, rate, b.Not(b.And(drawable, large)), {lam},
      [](Builder& b, RandomStream& random, const Values& p) {
        const Value lam = p[0], log_lam = b.Log(lam);
        const Value width = 0.931 + 2.53 * b.Sqrt(lam), a = 0.02483 * width - 0.059;
        const Value inverse_alpha = 1.1239 + 1.1328 / (width - 3.4);
        const Value squeeze = 0.9277 - 3.6224 / (width - 2.0);
        const Value u = random.OpenUniform(kWork, lam.dims()) - 0.5;
        const Value v = random.OpenUniform(kWork, lam.dims());
        const Value us = 0.5 - b.Abs(u);
        const Value k = b.Floor((2.0 * a / us + width) * u + lam + 0.43);
        auto number = [&](double x) { return b.ConstantLike(lam, x); };
        const Value at_once = b.And(b.Ge(us, number(0.07)), b.Le(v, squeeze));
        const Value out = b.Or(b.Lt(k, number(0)), b.And(b.Lt(us, number(0.013)), b.Gt(v, us)));
        const Value left = b.Log(v) + b.Log(inverse_alpha) - b.Log(a / (us * us) + width);
        const Value right = k * log_lam - lam - Lgamma(b, k + 1.0);
        return Trial{k, b.Or(at_once, b.And(b.Not(out), b.Le(left, right)))};
      });
  // Below 10: how many uniform numbers can be multiplied before the product falls to exp(-rate).
  const Value few = b.And(drawable, b.Not(large));
  const Values counted = b.While(
      {random.Fork(), zero, b.ConstantLike(rate, 1), b.Not(few), b.Exp(-b.Select(few, rate, zero))},
      [](Builder& b, hlo::ValueRef s) -> Values { return {b.Not(All(b, s[3]))}; },
      [](Builder& b, hlo::ValueRef s) -> Values {
        RandomStream stream(b, s[0]);
        const Value product = s[2] * stream.OpenUniform(kWork, s[1].dims());
        const Value done = b.Or(s[3], b.Le(product, s[4]));
        return {stream.state(), b.Select(done, s[1], s[1] + b.ConstantLike(s[1], 1)), product, done,
                s[4]};
      });
  const Value count = b.Select(few, counted[1], by_rejection);
  return b.Convert(b.Select(drawable, count, rate), self.dtype());
}

// Successes among `n` trials of probability p <= 1/2 with a mean of at least 10: Hormann's BTRS.
Value BinomialByRejection(Builder& b, RandomStream& random, Value n, Value p, Value wanted) {
  return RejectionLoop(
      b, random, b.ConstantLike(n, 0), b.Not(wanted), {n, p},
      [](Builder& b, RandomStream& random, const Values& v) {
        const Value n = v[0], p = v[1];
        const Value deviation = b.Sqrt(n * p * (1.0 - p)), width = 1.15 + 2.53 * deviation;
        const Value a = 0.0248 * width + 0.01 * p - 0.0873, center = n * p + 0.5;
        const Value squeeze = 0.92 - 4.2 / width, alpha = (2.83 + 5.1 / width) * deviation;
        const Value mode = b.Floor((n + 1.0) * p);
        const Value u = random.OpenUniform(kWork, n.dims()) - 0.5;
        const Value w = random.OpenUniform(kWork, n.dims());
        const Value us = 0.5 - b.Abs(u);
        const Value k = b.Floor((2.0 * a / us + width) * u + center);
        const Value inside = b.And(b.Ge(k, b.ConstantLike(k, 0)), b.Le(k, n));
        const Value at_once = b.And(b.Ge(us, b.ConstantLike(us, 0.07)), b.Le(w, squeeze));
        const Value left = b.Log(w * alpha / (a / (us * us) + width));
        // log of (probability of k / probability of the mode)
        const Value right = Lgamma(b, mode + 1.0) + Lgamma(b, n - mode + 1.0) - Lgamma(b, k + 1.0) -
                            Lgamma(b, n - k + 1.0) + (k - mode) * b.Log(p / (1.0 - p));
        return Trial{k, b.And(inside, b.Or(at_once, b.Le(left, right)))};
      });
}

// The same with a smaller mean: adds up waiting times until they pass n.
Value BinomialByWaiting(Builder& b, RandomStream& random, Value n, Value p, Value wanted) {
  const Value zero = b.ConstantLike(n, 0);
  return b.While(
      {random.Fork(), zero, zero, b.Not(wanted), n, b.Log1p(-p)},
      [](Builder& b, hlo::ValueRef s) -> Values { return {b.Not(All(b, s[3]))}; },
      [](Builder& b, hlo::ValueRef s) -> Values {
        RandomStream stream(b, s[0]);
        const Value wait = b.Ceil(b.Log(stream.OpenUniform(kWork, s[1].dims())) / s[5]);
        const Value passed = s[2] + wait;
        const Value done = b.Or(s[3], b.Gt(passed, s[4]));
        return {stream.state(), b.Select(done, s[1], s[1] + b.ConstantLike(s[1], 1)),
                passed,         done,
                s[4],           s[5]};
      })[1];
}

// aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor
Value Binomial(Builder& b, const OpCall& call) {
  const Value count = call.Tensor(0);
  CheckDtype(call.name(), count.dtype(), Accept::kFloat);
  TORCH_CHECK(call.Tensor(1).dtype() == count.dtype(), call.name(), ": expected prob of type ",
              DTypeName(count.dtype()), ", got ", DTypeName(call.Tensor(1).dtype()));
  const Value prob = ExpandTo(b, call, call.Tensor(1), count.dims(), "prob");
  if (count.numel() == 0) return count;
  const Value n = b.Convert(count, kWork), p = b.Convert(prob, kWork);
  const Value zero = b.ConstantLike(n, 0), one = b.ConstantLike(n, 1);
  const Value nan = b.Or(b.Ne(n, n), b.Ne(p, p));
  const Value drawable =
      b.And(b.And(b.Gt(n, zero), b.IsFinite(n)), b.And(b.Gt(p, zero), b.Lt(p, one)));
  // Above 1/2 the failures are counted.
  const Value flipped = b.Gt(p, b.ConstantLike(p, 0.5));
  const Value q = b.Select(drawable, b.Select(flipped, one - p, p), b.ConstantLike(p, 0.25));
  const Value trials = b.Select(drawable, n, one);
  const Value many = b.Ge(trials * q, b.ConstantLike(q, 10));
  RandomStream random(b, call);
  const Value wide_n = b.Select(many, trials, b.ConstantLike(n, 100));
  const Value wide_q = b.Select(many, q, b.ConstantLike(q, 0.25));
  const Value rejected = BinomialByRejection(b, random, wide_n, wide_q, b.And(drawable, many));
  const Value waited = BinomialByWaiting(b, random, trials, q, b.And(drawable, b.Not(many)));
  const Value successes = b.Select(many, rejected, waited);
  const Value drawn = b.Select(flipped, trials - successes, successes);
  const Value certain = b.Select(b.And(b.Ge(p, one), b.Gt(n, zero)), n, zero);
  const Value result = b.Select(drawable, drawn, certain);
  return b.Convert(b.Select(nan, b.NaN(kWork, n.dims()), result), count.dtype());
}

const OpRow::Flags kRandom = {.random = true};

}  // namespace

OpRows DistributionRows() {
  return {
      {"aten::_standard_gamma", StandardGamma, kRandom},
      {"aten::_sample_dirichlet", SampleDirichlet, kRandom},
      {"aten::poisson", Poisson, kRandom},
      {"aten::binomial", Binomial, kRandom},
  };
}

}  // namespace torch_tpu::lowering
