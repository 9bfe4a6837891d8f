// Arithmetic and pointwise mathematics.
#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

constexpr Promote kKeep = Promote::kKeep;
constexpr Promote kFloat = Promote::kFloat;
const OpRow::Flags kElementwise = {.elementwise = true};

// aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
// aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
template <bool subtract>
Value AddScaled(Builder& b, const OpCall& call) {
  const NumberArg& alpha = call.RawNumber(2);
  return Elementwise(b, call, {0, 1}, kKeep, [&](Builder& b, const Values& v) {
    Value other = v[1];
    if (!alpha.constant || !alpha.constant->equal(1)) {
      other = other * b.Broadcast(NumberValue(b, alpha, other.dtype()), other.dims());
    }
    if (IsBool(other.dtype())) return b.Or(v[0], other);
    return subtract ? v[0] - other : v[0] + other;
  });
}

}  // namespace

OpRows ElementwiseRows() {
  return {
      {"aten::add.Tensor", AddScaled<false>, kElementwise},
      {"aten::sub.Tensor", AddScaled<true>, kElementwise},
      {"aten::mul.Tensor",
       Binary<[](Builder& b, Value x, Value y) { return IsBool(x.dtype()) ? b.And(x, y) : x * y; }>,
       kElementwise},
      {"aten::div.Tensor", Binary<[](Builder& b, Value x, Value y) { return x / y; }, kFloat>,
       kElementwise},
      {"aten::exp", Unary<[](Builder& b, Value x) { return b.Exp(x); }, kFloat>, kElementwise},
      {"aten::neg", Unary<[](Builder& b, Value x) { return -x; }>, kElementwise},
  };
}

}  // namespace torch_tpu::lowering
