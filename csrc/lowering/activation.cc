// Activation functions and their derivatives.
#include <c10/util/Exception.h>

#include <numbers>

#include "lowering/combinators.h"
#include "lowering/families.h"
#include "lowering/random_stream.h"

namespace torch_tpu::lowering {
namespace {

constexpr Promote kKeep = Promote::kKeep;
constexpr Promote kFloat = Promote::kFloat;
const OpRow::Flags kElementwise = {.elementwise = true};
const OpRow::Flags kSameOut = {.elementwise = true, .exact_out = true};

// Number argument `i` spread over the shape of `like`.
Value Spread(Builder& b, const OpCall& call, int i, Value like) {
  return b.Broadcast(call.Number(b, i, like.dtype()), like.dims());
}

// Runs f on float arguments `args` of one type, computing low precision in float32.
template <typename F>
Value OnFloats(Builder& b, const OpCall& call, std::initializer_list<int> args, const F& f,
               Accept accept = Accept::kFloat) {
  return Elementwise(b, call, args, kKeep, f, accept);
}

Value Conj(Builder& b, Value x) {
  return IsComplex(x.dtype()) ? b.Complex(b.Real(x), -b.Imag(x)) : x;
}

Value Zero(Builder& b, Value like) { return b.ConstantLike(like, 0); }

// ---- rectifiers

// aten::relu(Tensor self) -> Tensor
Value Relu(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  TORCH_CHECK(!IsBool(x.dtype()), call.name(), ": Boolean inputs not supported for relu");
  CheckDtype(call.name(), x.dtype(), Accept::kReal);
  return b.Max(x, Zero(b, x));
}

// aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor
Value Threshold(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckDtype(call.name(), x.dtype(), Accept::kRealNumber);
  return b.Select(b.Le(x, Spread(b, call, 1, x)), Spread(b, call, 2, x), x);
}

// aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor
Value ThresholdBackward(Builder& b, const OpCall& call) {
  const DType type = call.ResultType({0, 1});
  CheckDtype(call.name(), type, Accept::kRealNumber);
  const Values v = Operands(b, call, {0, 1}, type, type);
  return b.Select(b.Le(v[1], Spread(b, call, 2, v[1])), Zero(b, v[0]), v[0]);
}

// aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor
Value LeakyRelu(Builder& b, const OpCall& call) {
  return OnFloats(b, call, {0}, [&](Builder& b, const Values& v) {
    return b.Select(b.Gt(v[0], Zero(b, v[0])), v[0], v[0] * Spread(b, call, 1, v[0]));
  });
}

// aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope,
//                           bool self_is_result) -> Tensor
Value LeakyReluBackward(Builder& b, const OpCall& call) {
  return OnFloats(b, call, {0, 1}, [&](Builder& b, const Values& v) {
    return b.Select(b.Gt(v[1], Zero(b, v[1])), v[0], v[0] * Spread(b, call, 2, v[0]));
  });
}

// A random slope per negative element, which the noise keeps for the derivative.
// aten::rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=1/3,
//     bool training=False, Generator? generator=None) -> Tensor
// aten::rrelu_with_noise_functional(...) -> (Tensor, Tensor noise_out)
Values RandomRelu(Builder& b, const OpCall& call) {
  const DType type = call.Tensor(0).dtype();
  CheckDtype(call.name(), type, Accept::kFloat);
  const Value x = b.Convert(call.Tensor(0), AccumulateType(type));
  const Value low = Spread(b, call, 2, x), high = Spread(b, call, 3, x);
  const Value positive = b.Gt(x, Zero(b, x));
  if (!call.Bool(4)) {
    const Value out = b.Select(positive, x, x * ((low + high) * 0.5));
    return {b.Convert(out, type), call.Tensor(1)};
  }
  RandomStream random(b, call);
  const Value slope = random.Uniform(x.dtype(), x.dims()) * (high - low) + low;
  const Value noise = b.Select(b.Le(x, Zero(b, x)), slope, b.ConstantLike(x, 1));
  return {b.Convert(x * noise, type), b.Convert(noise, call.Tensor(1).dtype())};
}

// aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor
Value Prelu(Builder& b, const OpCall& call) {
  return OnFloats(b, call, {0, 1}, [](Builder& b, const Values& v) {
    return b.Select(b.Gt(v[0], Zero(b, v[0])), v[0], v[1] * v[0]);
  });
}

// aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)
Values PreluBackward(Builder& b, const OpCall& call) {
  const Value to_self = OnFloats(b, call, {0, 1, 2}, [](Builder& b, const Values& v) {
    return b.Select(b.Gt(v[1], Zero(b, v[1])), v[0], v[2] * v[0]);
  });
  const Value to_weight = OnFloats(b, call, {0, 1}, [](Builder& b, const Values& v) {
    return b.Select(b.Gt(v[1], Zero(b, v[1])), Zero(b, v[1]), v[1] * v[0]);
  });
  return {to_self, to_weight};
}

// ---- bounded and shrunk

// aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor
Value Hardtanh(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  TORCH_CHECK(!IsBool(x.dtype()), call.name(), ": Bool inputs not supported for hardtanh");
  CheckDtype(call.name(), x.dtype(), Accept::kReal);
  return b.Min(b.Max(x, Spread(b, call, 1, x)), Spread(b, call, 2, x));
}

// aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) ->
// Tensor
Value HardtanhBackward(Builder& b, const OpCall& call) {
  return OnFloats(b, call, {0, 1}, [&](Builder& b, const Values& v) {
    const Value outside =
        b.Or(b.Le(v[1], Spread(b, call, 2, v[1])), b.Ge(v[1], Spread(b, call, 3, v[1])));
    return b.Select(outside, Zero(b, v[0]), v[0]);
  });
}

Value RampToSix(Builder& b, Value x) {
  return b.Min(b.Max(x + 3, Zero(b, x)), b.ConstantLike(x, 6));
}

Value Hardsigmoid(Builder& b, Value x) { return RampToSix(b, x) / OpaqueLike(b, x, 6); }
Value Hardswish(Builder& b, Value x) { return x * RampToSix(b, x) / OpaqueLike(b, x, 6); }

Value HardsigmoidBackward(Builder& b, Value grad, Value x) {
  const Value inside = b.And(b.Gt(x, b.ConstantLike(x, -3)), b.Lt(x, b.ConstantLike(x, 3)));
  return b.Select(inside, grad * (1.0 / 6.0), Zero(b, grad));
}

Value HardswishBackward(Builder& b, Value grad, Value x) {
  const Value ramp = grad * (x / OpaqueLike(b, x, 3) + 0.5);
  return b.Select(b.Le(x, b.ConstantLike(x, -3)), Zero(b, grad),
                  b.Select(b.Lt(x, b.ConstantLike(x, 3)), ramp, grad));
}

Value WithinLambda(Builder& b, const OpCall& call, int lambda, Value x) {
  const Value bound = Spread(b, call, lambda, x);
  return b.And(b.Ge(x, -bound), b.Le(x, bound));
}

// aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor
Value Hardshrink(Builder& b, const OpCall& call) {
  return OnFloats(b, call, {0}, [&](Builder& b, const Values& v) {
    return b.Select(WithinLambda(b, call, 1, v[0]), Zero(b, v[0]), v[0]);
  });
}

// aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor
// aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor
Value ShrinkBackward(Builder& b, const OpCall& call) {
  return OnFloats(b, call, {0, 1}, [&](Builder& b, const Values& v) {
    return b.Select(WithinLambda(b, call, 2, v[1]), Zero(b, v[0]), v[0]);
  });
}

// aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor
Value Softshrink(Builder& b, const OpCall& call) {
  RequireNumber(b, call, 1, NotNegative, NotNegativeValue, "expected lambd >= 0");
  return OnFloats(b, call, {0}, [&](Builder& b, const Values& v) {
    const Value x = v[0], lambda = Spread(b, call, 1, x);
    const Value inside = b.Select(IsNaN(b, x), x, Zero(b, x));
    return b.Select(b.Gt(x, lambda), x - lambda, b.Select(b.Lt(x, -lambda), x + lambda, inside));
  });
}

// ---- exponential units

// aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor
Value Elu(Builder& b, const OpCall& call) {
  return OnFloats(b, call, {0}, [&](Builder& b, const Values& v) {
    const Value x = v[0];
    const Value alpha = Spread(b, call, 1, x), scale = Spread(b, call, 2, x);
    const Value curve = b.Expm1(x * Spread(b, call, 3, x)) * (alpha * scale);
    return b.Select(b.Lt(x, Zero(b, x)), curve, x * scale);
  });
}

// aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale,
//                    bool is_result, Tensor self_or_result) -> Tensor
Value EluBackward(Builder& b, const OpCall& call) {
  const bool is_result = call.Bool(4);
  const auto& alpha_constant = call.RawNumber(1).constant;
  TORCH_CHECK(!is_result || !alpha_constant || alpha_constant->toDouble() >= 0, call.name(),
              ": expected alpha >= 0 for the in-place form, got ", alpha_constant->toDouble());
  return OnFloats(b, call, {0, 5}, [&](Builder& b, const Values& v) {
    const Value grad = v[0], x = v[1];
    const Value scale = Spread(b, call, 2, x), input_scale = Spread(b, call, 3, x);
    const Value negative = Spread(b, call, 1, x) * scale;
    const Value slope = is_result ? x + negative : negative * b.Exp(x * input_scale);
    return b.Select(b.Le(x, Zero(b, x)), grad * input_scale * slope, grad * scale);
  });
}

// aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor
Value Softplus(Builder& b, const OpCall& call) {
  return OnFloats(b, call, {0}, [&](Builder& b, const Values& v) {
    const Value x = v[0], beta = Spread(b, call, 1, x), scaled = x * beta;
    return b.Select(b.Gt(scaled, Spread(b, call, 2, x)), x, b.Log1p(b.Exp(scaled)) / beta);
  });
}

// aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor
Value SoftplusBackward(Builder& b, const OpCall& call) {
  return OnFloats(b, call, {0, 1}, [&](Builder& b, const Values& v) {
    const Value scaled = v[1] * Spread(b, call, 2, v[1]), growth = b.Exp(scaled);
    return b.Select(b.Gt(scaled, Spread(b, call, 3, v[1])), v[0], v[0] * growth / (growth + 1));
  });
}

// aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)
Values LogSigmoid(Builder& b, const OpCall& call) {
  const DType type = call.Tensor(0).dtype();
  CheckDtype(call.name(), type, Accept::kFloat);
  const Value x = b.Convert(call.Tensor(0), AccumulateType(type));
  const Value decay = b.Exp(-b.Abs(x));
  const Value output = b.Min(Zero(b, x), x) - b.Log1p(decay);
  return {b.Convert(output, type), b.Convert(decay, type)};
}

// aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor
Value LogSigmoidBackward(Builder& b, const OpCall& call) {
  return OnFloats(b, call, {0, 1}, [](Builder& b, const Values& v) {
    const Value x = v[1], one = b.ConstantLike(x, 1);
    const Value decay = b.Exp(-b.Abs(x)), share = decay / (1 + decay);
    return v[0] * b.Select(b.Lt(x, Zero(b, x)), one - share, share);
  });
}

// ---- smooth rectifiers

Value NormalCdf(Builder& b, Value x) { return 0.5 * (1 + Erf(b, x * (std::numbers::sqrt2 / 2))); }

constexpr double kGeluScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
constexpr double kGeluCube = 0.044715;

bool TanhGelu(const OpCall& call, int i) {
  const std::string_view approximate = call.String(i);
  TORCH_CHECK(approximate == "none" || approximate == "tanh", call.name(),
              ": expected approximate to be 'none' or 'tanh', got '", approximate, "'");
  return approximate == "tanh";
}

// aten::gelu(Tensor self, *, str approximate="none") -> Tensor
Value Gelu(Builder& b, const OpCall& call) {
  const bool tanh = TanhGelu(call, 1);
  return OnFloats(b, call, {0}, [&](Builder& b, const Values& v) {
    const Value x = v[0];
    if (!tanh) return x * NormalCdf(b, x);
    return 0.5 * x * (1 + b.Tanh(kGeluScale * (x + kGeluCube * (x * x * x))));
  });
}

// aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor
Value GeluBackward(Builder& b, const OpCall& call) {
  const bool tanh = TanhGelu(call, 2);
  return OnFloats(b, call, {0, 1}, [&](Builder& b, const Values& v) {
    const Value grad = v[0], x = v[1];
    if (!tanh) {
      const Value density = b.Exp(x * x * -0.5) * (kGeluScale * 0.5);
      return grad * (NormalCdf(b, x) + x * density);
    }
    const Value bend = b.Tanh(kGeluScale * (x + kGeluCube * (x * x * x)));
    const Value slope = kGeluScale * (1 + 3 * kGeluCube * (x * x));
    return grad * (0.5 * (1 + bend) + 0.5 * x * (1 - bend * bend) * slope);
  });
}

Value Silu(Builder& b, Value x) { return x * b.Sigmoid(x); }

Value SiluBackward(Builder& b, Value grad, Value x) {
  const Value sigmoid = b.Sigmoid(x);
  return grad * Conj(b, sigmoid * (1 + x * (1 - sigmoid)));
}

Value Mish(Builder& b, Value x) { return x * b.Tanh(b.Log1p(b.Exp(x))); }

Value MishBackward(Builder& b, Value grad, Value x) {
  const Value bend = b.Tanh(b.Log1p(b.Exp(x)));
  return grad * (bend + x * b.Sigmoid(x) * (1 - bend * bend));
}

Value SigmoidBackward(Builder& b, Value grad, Value y) { return grad * Conj(b, (1 - y) * y); }
Value TanhBackward(Builder& b, Value grad, Value y) { return grad * Conj(b, 1 - y * y); }

// ---- gated

struct Halves {
  Value first, second;
};

Halves Split(Builder& b, const OpCall& call, Value x, int64_t dim) {
  const int64_t size = x.dim(dim);
  TORCH_CHECK(size % 2 == 0, call.name(), ": expected an even size along dimension ", dim,
              ", got shape ", ToString(x.dims()));
  return {b.SliceDim(x, dim, 0, size / 2), b.SliceDim(x, dim, size / 2, size)};
}

int64_t GatedDim(const OpCall& call, int self, int dim) {
  const int64_t rank = call.Tensor(self).rank();
  TORCH_CHECK(rank > 0, call.name(), ": expected at least 1 dimension, got a 0-d tensor");
  CheckDtype(call.name(), call.Tensor(self).dtype(), Accept::kFloat);
  return call.Dim(dim, rank);
}

// aten::glu(Tensor self, int dim=-1) -> Tensor
Value Glu(Builder& b, const OpCall& call) {
  const int64_t dim = GatedDim(call, 0, 1);
  const DType type = call.Tensor(0).dtype();
  const auto [value, gate] = Split(b, call, b.Convert(call.Tensor(0), AccumulateType(type)), dim);
  return b.Convert(value * b.Sigmoid(gate), type);
}

// aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor
Value GluBackward(Builder& b, const OpCall& call) {
  const int64_t dim = GatedDim(call, 1, 2);
  const DType type = call.Tensor(1).dtype(), wide = AccumulateType(type);
  const Value grad = b.Convert(call.Tensor(0), wide);
  const auto [value, gate] = Split(b, call, b.Convert(call.Tensor(1), wide), dim);
  TORCH_CHECK(grad.dims() == value.dims(), call.name(), ": expected grad_output of shape ",
              ToString(value.dims()), ", got ", ToString(grad.dims()));
  const Value sigmoid = b.Sigmoid(gate), to_value = grad * sigmoid;
  return b.Convert(b.Concatenate({to_value, to_value * value * (1 - sigmoid)}, dim), type);
}

// aten::glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor
Value GluJvp(Builder& b, const OpCall& call) {
  const int64_t dim = GatedDim(call, 1, 3);
  const auto [value, gate] = Split(b, call, call.Tensor(1), dim);
  const auto [to_value, to_gate] = Split(b, call, call.Tensor(2), dim);
  const Value sigmoid = b.Sigmoid(gate), glu = call.Tensor(0);
  return to_value * sigmoid + glu * (to_gate - sigmoid * to_gate);
}

}  // namespace

OpRows ActivationRows() {
  constexpr Accept kFloats = Accept::kFloat, kAny = Accept::kFloatOrComplex;
  return {
      {"aten::relu", Relu, kElementwise},
      {"aten::threshold", Threshold, kElementwise},
      {"aten::threshold_backward", ThresholdBackward, kElementwise},
      {"aten::leaky_relu", LeakyRelu, kElementwise},
      {"aten::leaky_relu_backward", LeakyReluBackward, kElementwise},
      {"aten::rrelu_with_noise", RandomRelu, {.random = true, .mutates = {1}}},
      {"aten::rrelu_with_noise_functional", RandomRelu, {.random = true}},
      {"aten::_prelu_kernel", Prelu, kElementwise},
      {"aten::_prelu_kernel_backward", PreluBackward, kElementwise},
      {"aten::hardtanh", Hardtanh, kElementwise},
      {"aten::hardtanh_backward", HardtanhBackward, kElementwise},
      {"aten::hardsigmoid", Unary<Hardsigmoid, kKeep, kFloats>, kElementwise},
      {"aten::hardsigmoid_backward", Binary<HardsigmoidBackward, kKeep, kFloats>, kElementwise},
      {"aten::hardswish", Unary<Hardswish, kKeep, kFloats>, kElementwise},
      {"aten::hardswish_backward", Binary<HardswishBackward, kKeep, kFloats>, kElementwise},
      {"aten::hardshrink", Hardshrink, kSameOut},
      {"aten::hardshrink_backward", ShrinkBackward, kElementwise},
      {"aten::softshrink", Softshrink, kSameOut},
      {"aten::softshrink_backward", ShrinkBackward, kElementwise},
      {"aten::elu", Elu, kElementwise},
      {"aten::elu_backward", EluBackward, kElementwise},
      {"aten::softplus", Softplus, kSameOut},
      {"aten::softplus_backward", SoftplusBackward, kElementwise},
      {"aten::log_sigmoid_forward", LogSigmoid, kSameOut},
      {"aten::log_sigmoid_backward", LogSigmoidBackward, kElementwise},
      {"aten::gelu", Gelu, kSameOut},
      {"aten::gelu_backward", GeluBackward, kElementwise},
      {"aten::silu", Unary<Silu, kKeep, kAny>, kElementwise},
      {"aten::silu_backward", Binary<SiluBackward, kKeep, kAny>, kElementwise},
      {"aten::mish", Unary<Mish, kKeep, kFloats>, kElementwise},
      {"aten::mish_backward", Binary<MishBackward, kKeep, kFloats>, kElementwise},
      {"aten::sigmoid_backward", Binary<SigmoidBackward, kFloat>, kElementwise},
      {"aten::tanh_backward", Binary<TanhBackward, kFloat>, kElementwise},
      {"aten::glu", Glu},
      {"aten::glu_backward", GluBackward},
      {"aten::glu_jvp", GluJvp},
  };
}

}  // namespace torch_tpu::lowering
