// Batch normalization. Statistics are float32 or wider (see normalization.cc).
#include <c10/util/Exception.h>

#include <numeric>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// Input [N, C, ...] with its per-channel parameters.
struct Channels {
  Value input, x;  // x: in the computing type
  DType compute;
  int64_t channels;
  Dims over;  // every dimension but the channels
  int64_t count;

  Value Spread(Builder& b, Value per_channel) const {
    return b.BroadcastInDim(per_channel, x.dims(), {1});
  }
};

Channels ChannelsOf(Builder& b, const OpCall& call, Value input) {
  TORCH_CHECK(input.rank() >= 2, call.name(), ": expected an input of at least 2 dimensions, got ",
              ToString(input.dims()));
  Channels c;
  c.input = input;
  c.compute = AccumulateType(input.dtype());
  c.x = b.Convert(input, c.compute);
  c.channels = input.dim(1);
  for (int64_t i = 0; i < input.rank(); ++i) {
    if (i != 1) c.over.push_back(i);
  }
  c.count = CountOver(input.dims(), c.over);
  return c;
}

Value PerChannel(Builder& b, const OpCall& call, int i, const Channels& c, const char* what) {
  const Value v = call.TensorOrUndefined(i);
  if (!v.defined()) return v;
  TORCH_CHECK(v.rank() == 1 && v.dim(0) == c.channels, call.name(), ": expected ", what, " of ",
              c.channels, " elements, got shape ", ToString(v.dims()));
  return b.Convert(v, c.compute);
}

struct Statistics {
  Value mean, invstd;
  Value variance;  // unbiased; of the batch only
};

Statistics OfBatch(Builder& b, const Channels& c, Value eps) {
  const double count = static_cast<double>(c.count);
  const Value mean = Sum(b, c.x, c.over) / count;
  const Value centered = c.x - c.Spread(b, mean);
  const Value squares = Sum(b, centered * centered, c.over);
  const Value biased = squares / count;
  return {mean, b.Rsqrt(biased + b.Broadcast(eps, biased.dims())), squares / (count - 1)};
}

Statistics OfRunning(Builder& b, Value mean, Value variance, Value eps) {
  return {mean, b.Rsqrt(variance + b.Broadcast(eps, variance.dims())), Value()};
}

Value Normalize(Builder& b, const Channels& c, const Statistics& s, Value weight, Value bias) {
  const Value scale = weight.defined() ? s.invstd * weight : s.invstd;
  Value out = (c.x - c.Spread(b, s.mean)) * c.Spread(b, scale);
  if (bias.defined()) out = out + c.Spread(b, bias);
  return b.Convert(out, c.input.dtype());
}

// Positions of an op's arguments; -1 where it has none.
struct Signature {
  int running_mean, training, momentum, eps;
};

// Results: output, mean, invstd of the batch (empty in evaluation), and the new running statistics,
// undefined where they do not change.
Values BatchNorm(Builder& b, const OpCall& call, const Signature& at, bool training) {
  const Channels c = ChannelsOf(b, call, call.Tensor(0));
  const Value weight = PerChannel(b, call, 1, c, "weight");
  const Value bias = PerChannel(b, call, 2, c, "bias");
  Value running_mean, running_var;
  if (at.running_mean >= 0) {
    running_mean = PerChannel(b, call, at.running_mean, c, "running_mean");
    running_var = PerChannel(b, call, at.running_mean + 1, c, "running_var");
  }
  const Value eps = call.Number(b, at.eps, c.compute);
  TORCH_CHECK(training || (running_mean.defined() && running_var.defined()), call.name(),
              ": expected running_mean and running_var in evaluation mode, got None");
  const Statistics s = training ? OfBatch(b, c, eps) : OfRunning(b, running_mean, running_var, eps);
  Values out = {Normalize(b, c, s, weight, bias), s.mean, s.invstd, Value(), Value()};
  if (!training) {
    out[1] = out[2] = b.Constant(c.input.dtype(), 0, {0});
    return out;
  }
  const auto update = [&](Value running, Value batch, int i) {
    if (!running.defined()) return Value();
    const Value m = b.Broadcast(call.Number(b, at.momentum, c.compute), batch.dims());
    return b.Convert(m * batch + (1.0 - m) * running, call.Tensor(i).dtype());
  };
  out[3] = update(running_mean, s.mean, at.running_mean);
  out[4] = update(running_var, s.variance, at.running_mean + 1);
  return out;
}

// aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,
//     Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
// aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!)
// running_mean,
//     Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
Values NativeBatchNorm(Builder& b, const OpCall& call) {
  return BatchNorm(b, call, {3, 5, 6, 7}, call.Bool(5));
}

// aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool
// training,
//     float momentum, float eps) -> (Tensor, Tensor, Tensor)
Values BatchNormNoStats(Builder& b, const OpCall& call) {
  Values out = BatchNorm(b, call, {-1, 3, 4, 5}, true);
  out.resize(3);
  return out;
}

// aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias,
//     Tensor running_mean, Tensor running_var, bool training, float momentum, float eps)
//     -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)
Values BatchNormFunctional(Builder& b, const OpCall& call) {
  Values out = BatchNorm(b, call, {3, 5, 6, 7}, call.Bool(5));
  for (int i : {3, 4}) {
    if (!out[i].defined()) out[i] = call.Tensor(i);
  }
  return out;
}

// aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias,
//     Tensor running_mean, Tensor running_var, float momentum, float eps)
//     -> (Tensor, Tensor, Tensor)
Values BatchNormNoTraining(Builder& b, const OpCall& call) {
  Values out = BatchNorm(b, call, {3, -1, 5, 6}, false);
  out.resize(3);
  return out;
}

Value Reserve(Builder& b) { return b.Constant(DType::Byte, 0, {0}); }

// aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!)
// running_mean,
//     Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)
// aten::_batch_norm_with_update_functional(...) -> (Tensor, Tensor, Tensor, Tensor,
//     Tensor running_mean_out, Tensor running_var_out)
Values BatchNormWithUpdate(Builder& b, const OpCall& call) {
  Values out = BatchNorm(b, call, {3, -1, 5, 6}, true);
  out.insert(out.begin() + 3, Reserve(b));
  return out;
}

// aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,
//     Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)
Values BatchNormNoUpdate(Builder& b, const OpCall& call) {
  Values out = BatchNorm(b, call, {3, -1, 5, 6}, false);
  out.resize(3);
  out.push_back(Reserve(b));
  return out;
}

// aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight,
//     Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool
//     train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
// aten::batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, Tensor? running_mean,
//     Tensor? running_var, Tensor? save_mean, Tensor? save_var, bool update, float eps,
//     bool[3] output_mask, Tensor reserve) -> (Tensor, Tensor, Tensor)
Values BatchNormBackward(Builder& b, const OpCall& call) {
  const Channels c = ChannelsOf(b, call, call.Tensor(1));
  const Value weight = PerChannel(b, call, 2, c, "weight");
  const bool training = call.Bool(7);
  const std::vector<bool> wanted = call.Bools(9);
  const DType parameter_type = weight.defined() ? call.Tensor(2).dtype() : c.input.dtype();
  const Value eps = call.Number(b, 8, c.compute);
  const Statistics s = training ? Statistics{PerChannel(b, call, 5, c, "save_mean"),
                                             PerChannel(b, call, 6, c, "save_invstd"), Value()}
                                : OfRunning(b, PerChannel(b, call, 3, c, "running_mean"),
                                            PerChannel(b, call, 4, c, "running_var"), eps);
  const Value grad = b.Convert(call.Tensor(0), c.compute);
  const Value sum = Sum(b, grad, c.over);
  const Value centered = c.x - c.Spread(b, s.mean);
  const Value dot = Sum(b, grad * centered, c.over);
  Values out(3);
  if (wanted[0]) {
    const Value scale = weight.defined() ? s.invstd * weight : s.invstd;
    Value g = grad;
    if (training) {
      const double count = static_cast<double>(c.count);
      const Value slope = dot * s.invstd * s.invstd / count;
      g = g - c.Spread(b, sum / count) - centered * c.Spread(b, slope);
    }
    out[0] = b.Convert(g * c.Spread(b, scale), c.input.dtype());
  }
  if (wanted[1]) out[1] = b.Convert(dot * s.invstd, parameter_type);
  if (wanted[2]) out[2] = b.Convert(sum, parameter_type);
  return out;
}

}  // namespace

OpRows BatchNormRows() {
  const auto eps = [](int i) { return OpRow::Flags{.static_numbers = 1u << i}; };
  const auto updating = [](int i) {
    return OpRow::Flags{.static_numbers = 1u << i, .mutates = {3, 4}};
  };
  return {
      {"aten::native_batch_norm", NativeBatchNorm, updating(7)},
      {"aten::_native_batch_norm_legit", NativeBatchNorm, updating(7)},
      {"aten::_native_batch_norm_legit.no_stats", BatchNormNoStats, eps(5)},
      {"aten::_native_batch_norm_legit_functional", BatchNormFunctional, eps(7)},
      {"aten::_native_batch_norm_legit_no_training", BatchNormNoTraining, eps(6)},
      {"aten::_batch_norm_with_update", BatchNormWithUpdate, updating(6)},
      {"aten::_batch_norm_with_update_functional", BatchNormWithUpdate, eps(6)},
      {"aten::_batch_norm_no_update", BatchNormNoUpdate, eps(6)},
      {"aten::native_batch_norm_backward", BatchNormBackward, eps(8)},
      {"aten::batch_norm_backward", BatchNormBackward, eps(8)},
  };
}

}  // namespace torch_tpu::lowering
