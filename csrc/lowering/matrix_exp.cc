// The exponential of matrices.
#include <cmath>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/matrices.h"

namespace torch_tpu::lowering {
namespace {

// 1 + x + x^2 / 2! + ... + x^19 / 19!, grouped by x^4 (Paterson and Stockmeyer).
Value TaylorSeries(Builder& b, Value x) {
  constexpr int kGroup = 4, kGroups = 5;
  Values powers = {Identity(b, x.dtype(), x.dims()), x};
  for (int i = 2; i <= kGroup; ++i) powers.push_back(MatrixProduct(b, powers[i - 1], x));
  const auto group = [&](int from) {
    Value sum = powers[0] * (1 / std::tgamma(from + 1.0));
    for (int i = 1; i < kGroup; ++i) sum = sum + powers[i] * (1 / std::tgamma(from + i + 1.0));
    return sum;
  };
  Value sum = group(kGroup * (kGroups - 1));
  for (int g = kGroups - 2; g >= 0; --g) {
    sum = MatrixProduct(b, sum, powers[kGroup]) + group(kGroup * g);
  }
  return sum;
}

// aten::linalg_matrix_exp(Tensor self) -> Tensor
// Halved until the series is exact, then squared as often.
Value MatrixExp(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckMatrices(call, x, true);
  if (x.numel() == 0) return x;
  const int64_t rank = x.rank();
  const Value norm = MaxOver(b, Sum(b, b.Abs(x), {rank - 2}, true), {rank - 1}, true);
  // What the norm may be for the terms left out to be below rounding.
  const double within = norm.dtype() == DType::Double ? 1.09 : 3.01;
  constexpr double kMost = 1023;
  const Value needed = b.Ceil(b.Log(norm / within) / std::log(2.0));
  const Value halvings =
      b.Clamp(b.Constant(norm.dtype(), 0), needed, b.Constant(norm.dtype(), kMost));
  const Value times =
      b.Convert(b.Select(b.IsFinite(halvings), halvings, b.ConstantLike(halvings, 0)), DType::Int);
  Dims every;
  for (int64_t d = 0; d < rank; ++d) every.push_back(d);
  const Value most = MaxOver(b, times, every);
  const auto counted = [](Builder& b, ValueRef s) -> Values { return {b.Lt(s[0], s[1])}; };
  const auto still = [](Builder& b, ValueRef s, Value x) {
    return b.Lt(b.Broadcast(s[0], x.dims()), b.Broadcast(s[2], x.dims()));
  };
  const Value zero = b.Constant(DType::Int, 0);
  const Values halved =
      b.While({zero, most, times, x}, counted, [&](Builder& b, ValueRef s) -> Values {
        const Value smaller = b.Select(still(b, s, s[3]), s[3] * 0.5, s[3]);
        return {s[0] + 1, s[1], s[2], smaller};
      });
  const Values squared =
      b.While({zero, most, times, TaylorSeries(b, halved[3])}, counted,
              [&](Builder& b, ValueRef s) -> Values {
                const Value square = MatrixProduct(b, s[3], s[3]);
                return {s[0] + 1, s[1], s[2], b.Select(still(b, s, s[3]), square, s[3])};
              });
  return squared[3];
}

}  // namespace

OpRows MatrixExpRows() { return {{"aten::linalg_matrix_exp", MatrixExp}}; }

}  // namespace torch_tpu::lowering
