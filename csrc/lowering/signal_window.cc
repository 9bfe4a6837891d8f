// Windows of signal processing: bartlett, blackman, hamming, hann, kaiser.
#include <c10/util/Exception.h>

#include <functional>
#include <numbers>

#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {
namespace {

// `shape` maps the places 0 .. length-1 of a symmetric window to its values. A periodic window is
// one longer, and loses its last value.
using Shape = std::function<Value(Builder&, Value place, int64_t length)>;

Value Window(Builder& b, const OpCall& call, bool periodic, int dtype_arg, const Shape& shape) {
  const int64_t length = call.Int(0);
  const DType dtype = call.DtypeOr(dtype_arg, call.default_dtype());
  TORCH_CHECK(IsFloat(dtype), call.name(), ": expected a float type, got ", DTypeName(dtype));
  TORCH_CHECK(length >= 0, call.name(), ": expected window_length >= 0, got ", length);
  if (length <= 1) return b.Constant(dtype, 1, {length});
  const DType compute = AccumulateType(dtype);
  const int64_t whole = length + (periodic ? 1 : 0);
  const Value window = shape(b, b.Iota(compute, {whole}, 0), whole);
  return b.Convert(b.SliceDim(window, 0, 0, length), dtype);
}

bool Periodic(const OpCall& call, bool given) { return given ? call.Bool(1) : true; }

// aten::bartlett_window(int window_length, *, ScalarType? dtype=None, ...) -> Tensor, .periodic
template <bool given>
Value Bartlett(Builder& b, const OpCall& call) {
  return Window(b, call, Periodic(call, given), given ? 2 : 1,
                [](Builder& b, Value x, int64_t length) {
                  const Value rise = x * (2.0 / static_cast<double>(length - 1));
                  const Value half = b.ConstantLike(x, (length - 1) / 2);
                  return b.Select(b.Le(x, half), rise, 2.0 - rise);
                });
}

// aten::blackman_window(int window_length, *, ScalarType? dtype=None, ...) -> Tensor, .periodic
template <bool given>
Value Blackman(Builder& b, const OpCall& call) {
  return Window(b, call, Periodic(call, given), given ? 2 : 1,
                [](Builder& b, Value x, int64_t length) {
                  const Value t = x * (std::numbers::pi / static_cast<double>(length - 1));
                  return b.Cos(t * 4.0) * 0.08 - b.Cos(t * 2.0) * 0.5 + 0.42;
                });
}

// alpha - beta * cos(2 pi x / (length - 1))
Value Cosine(Builder& b, Value x, int64_t length, Value alpha, Value beta) {
  const Value t = x * (2 * std::numbers::pi / static_cast<double>(length - 1));
  return b.Broadcast(alpha, x.dims()) - b.Broadcast(beta, x.dims()) * b.Cos(t);
}

// aten::hann_window(int window_length, *, ScalarType? dtype=None, ...) -> Tensor, .periodic
template <bool given>
Value Hann(Builder& b, const OpCall& call) {
  return Window(b, call, Periodic(call, given), given ? 2 : 1,
                [](Builder& b, Value x, int64_t length) {
                  const Value half = b.Constant(x.dtype(), 0.5);
                  return Cosine(b, x, length, half, half);
                });
}

// aten::hamming_window(int window_length, *, ScalarType? dtype=None, ...) -> Tensor, .periodic,
// .periodic_alpha, .periodic_alpha_beta: `given` counts the arguments after the length
template <int given>
Value Hamming(Builder& b, const OpCall& call) {
  return Window(
      b, call, Periodic(call, given > 0), given + 1, [&](Builder& b, Value x, int64_t length) {
        const Value alpha = given > 1 ? call.Number(b, 2, x.dtype()) : b.Constant(x.dtype(), 0.54);
        const Value beta = given > 2 ? call.Number(b, 3, x.dtype()) : b.Constant(x.dtype(), 0.46);
        return Cosine(b, x, length, alpha, beta);
      });
}

// The row of another op on one value.
Value Apply(Builder& b, const char* name, Value x) {
  const OpRow* row = FindRow(name);
  TORCH_INTERNAL_ASSERT(row != nullptr, name, " has no row");
  Arg arg;
  arg.kind = Arg::Kind::kTensor;
  arg.tensor = x;
  return row->Lower(b, OpCall(name, {arg}))[0];
}

// aten::kaiser_window(int window_length, *, ScalarType? dtype=None, ...) -> Tensor, .periodic,
// .beta
template <int given>
Value Kaiser(Builder& b, const OpCall& call) {
  return Window(
      b, call, Periodic(call, given > 0), given + 1, [&](Builder& b, Value x, int64_t length) {
        const Value beta = given > 1 ? call.Number(b, 2, x.dtype()) : b.Constant(x.dtype(), 12.0);
        const Value middle = b.ConstantLike(x, static_cast<double>(length - 1) / 2);
        const Value t = (x - middle) / middle;
        const Value inside = b.Max(1.0 - t * t, b.ConstantLike(t, 0));
        const Value bessel = Apply(b, "aten::i0", b.Broadcast(beta, x.dims()) * b.Sqrt(inside));
        return bessel / b.Broadcast(Apply(b, "aten::i0", beta), x.dims());
      });
}

}  // namespace

OpRows SignalWindowRows() {
  return {
      {"aten::bartlett_window", Bartlett<false>},
      {"aten::bartlett_window.periodic", Bartlett<true>},
      {"aten::blackman_window", Blackman<false>},
      {"aten::blackman_window.periodic", Blackman<true>},
      {"aten::hann_window", Hann<false>},
      {"aten::hann_window.periodic", Hann<true>},
      {"aten::hamming_window", Hamming<0>},
      {"aten::hamming_window.periodic", Hamming<1>},
      {"aten::hamming_window.periodic_alpha", Hamming<2>},
      {"aten::hamming_window.periodic_alpha_beta", Hamming<3>},
      {"aten::kaiser_window", Kaiser<0>},
      {"aten::kaiser_window.periodic", Kaiser<1>},
      {"aten::kaiser_window.beta", Kaiser<2>},
  };
}

}  // namespace torch_tpu::lowering
