// Discrete Fourier transforms.
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// PyTorch's fft_norm_mode.
enum Normalization : int64_t { kNone = 0, kByRootN = 1, kByN = 2 };

Dims ReadDims(const OpCall& call, int64_t rank) {
  Dims dims = call.Ints(1);
  for (int64_t& d : dims) d = WrapDim(d, rank);
  return dims;
}

// Runs `transform` with `dims` moved to the end, in their order, and moves them back.
template <typename F>
Value AtTheEnd(Builder& b, Value x, const Dims& dims, const F& transform) {
  Dims order, back(x.rank());
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  order.insert(order.end(), dims.begin(), dims.end());
  for (int64_t d = 0; d < x.rank(); ++d) back[order[d]] = d;
  return b.Transpose(transform(b.Transpose(x, order)), back);
}

// Complex transforms over `dims`, at most three at a time.
Value ComplexTransform(Builder& b, Value x, Dims dims, bool forward) {
  while (!dims.empty()) {
    const size_t count = std::min<size_t>(dims.size(), 3);
    const Dims part(dims.end() - static_cast<int64_t>(count), dims.end());
    dims.resize(dims.size() - count);
    x = AtTheEnd(b, x, part, [&](Value v) {
      const Dims lengths(v.dims().end() - static_cast<int64_t>(count), v.dims().end());
      return b.Fft(v, forward ? "FFT" : "IFFT", lengths);
    });
  }
  return x;
}

// `x` scaled from what XLA gives (`divided`: already by n) to what the normalization mode asks for.
Value Normalize(Builder& b, Value x, int64_t n, int64_t mode, bool divided) {
  double scale = divided ? static_cast<double>(n) : 1.0;
  if (mode == kByRootN) scale /= std::sqrt(static_cast<double>(n));
  if (mode == kByN) scale = divided ? 1.0 : 1.0 / static_cast<double>(n);
  return scale == 1.0 ? x : x * scale;
}

void CheckType(const OpCall& call, DType type, bool complex) {
  const bool fits = complex ? type == DType::ComplexFloat || type == DType::ComplexDouble
                            : type == DType::Float || type == DType::Double;
  TORCH_CHECK(fits, call.name(), ": expected ",
              complex ? "complex64 or complex128" : "float32 or float64", " values, got ",
              DTypeName(type));
}

// aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor
Value FftC2c(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckType(call, x.dtype(), true);
  const Dims dims = ReadDims(call, x.rank());
  if (x.numel() == 0 || dims.empty()) return x;
  const bool forward = call.Bool(3);
  return Normalize(b, ComplexTransform(b, x, dims, forward), CountOver(x.dims(), dims), call.Int(2),
                   !forward);
}

// aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor
Value FftR2c(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckType(call, x.dtype(), false);
  Dims dims = ReadDims(call, x.rank());
  const int64_t last = dims.back(), n = CountOver(x.dims(), dims);
  const bool onesided = call.Bool(3);
  Dims out = x.dims();
  if (onesided) out[last] = out[last] / 2 + 1;
  const DType type = ComplexType(x.dtype());
  if (NumElements(x.dims()) == 0) return b.Constant(type, 0, out);
  Value y;
  if (onesided) {
    y = AtTheEnd(b, x, {last}, [&](Value v) { return b.Fft(v, "RFFT", {v.dim(-1)}); });
    dims.pop_back();
  } else {
    y = b.Complex(x, b.ConstantLike(x, 0));
  }
  return Normalize(b, ComplexTransform(b, y, dims, true), n, call.Int(2), false);
}

// aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor
Value FftC2r(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckType(call, x.dtype(), true);
  Dims dims = ReadDims(call, x.rank());
  const int64_t last = dims.back(), length = call.Int(3);
  Dims out = x.dims();
  out[last] = length;
  const int64_t n = CountOver(out, dims);
  if (NumElements(out) == 0 || x.numel() == 0) return b.Constant(RealType(x.dtype()), 0, out);
  dims.pop_back();
  Value y = ComplexTransform(b, x, dims, false);
  // XLA reads exactly length / 2 + 1 entries.
  const int64_t needed = length / 2 + 1, have = y.dim(last);
  if (have > needed) y = b.SliceDim(y, last, 0, needed);
  if (have < needed) {
    Dims low(y.rank(), 0), high(y.rank(), 0);
    high[last] = needed - have;
    y = b.Pad(y, b.Constant(y.dtype(), 0), low, high);
  }
  y = AtTheEnd(b, y, {last}, [&](Value v) { return b.Fft(v, "IRFFT", {length}); });
  return Normalize(b, y, n, call.Int(2), true);
}

}  // namespace

OpRows FftRows() {
  return {
      {"aten::_fft_c2c", FftC2c},
      {"aten::_fft_r2c", FftR2c},
      {"aten::_fft_c2r", FftC2r},
  };
}

}  // namespace torch_tpu::lowering
