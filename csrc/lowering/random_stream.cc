#include "lowering/random_stream.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <numbers>

namespace torch_tpu::lowering {

RandomStream::RandomStream(Builder& b, const OpCall& call) : b_(b), state_(call.RandomState()) {
  state_ = Fork();
}

Value RandomStream::Bits(DType type, IntArrayRef dims) {
  const int64_t n = NumElements(dims);
  if (n == 0) return b_.Constant(type, 0, dims);
  // Always 64 bits at a time: XLA takes twice as long for the same bits in pieces of 32.
  const bool halves = type == DType::UInt32;
  const int64_t words = halves ? (n + 1) / 2 : n;
  const auto [next, bits] = b_.RngBitGenerator(state_, DType::UInt64, {words});
  state_ = next;
  if (!halves) return b_.Reshape(bits, dims);
  const Value split = b_.Reshape(b_.BitcastConvert(bits, DType::UInt32), {2 * words});
  return b_.Reshape(b_.Slice(split, {0}, {n}), dims);
}

Value RandomStream::Uniform(DType type, IntArrayRef dims, int digits) {
  const bool wide = type == DType::Double;
  if (digits == 0) digits = wide ? 53 : 24;
  Value bits = Bits(wide ? DType::UInt64 : DType::UInt32, dims);
  bits = b_.Binary("shift_right_logical", bits, b_.ConstantLike(bits, (wide ? 64 : 32) - digits));
  // Through a signed type of the same width: exact, and cheap on every device.
  const Value number = b_.Convert(b_.Convert(bits, wide ? DType::Long : DType::Int), type);
  return number * std::ldexp(1.0, -digits);
}

Value RandomStream::OpenUniform(DType type, IntArrayRef dims) {
  const int digits = type == DType::Double ? 52 : 23;
  return Uniform(type, dims, digits) + std::ldexp(1.0, -digits - 1);
}

Value RandomStream::Normal(DType type, IntArrayRef dims) {
  // The inverse of the distribution function at a number in (-1, 1), symmetric and never 0.
  const Value u = OpenUniform(type, dims) * 2.0 - 1.0;
  return b_.Unary("chlo.erf_inv", u) * std::numbers::sqrt2;
}

Value RandomStream::Exponential(DType type, IntArrayRef dims) {
  return -b_.Log1p(-OpenUniform(type, dims));
}

}  // namespace torch_tpu::lowering
