// Complex numbers from their parts and back. real, imag and view_as_real are views.
#include <c10/util/Exception.h>

#include <numbers>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

const OpRow::Flags kElementwise = {.elementwise = true};
const OpRow::Flags kSameOut = {.elementwise = true, .exact_out = true};

void CheckParts(const OpCall& call) {
  const DType first = call.Tensor(0).dtype(), second = call.Tensor(1).dtype();
  TORCH_CHECK(first == second && IsFloat(first) && first != DType::BFloat16, call.name(),
              ": expected two tensors of one dtype, float32 or float64, got ", DTypeName(first),
              " and ", DTypeName(second));
}

// aten::complex(Tensor real, Tensor imag) -> Tensor
Value FromParts(Builder& b, const OpCall& call) {
  CheckParts(call);
  const DType type = call.Tensor(0).dtype();
  TORCH_CHECK_TYPE(type != DType::Half, call.name(),
                   ": expected a data type that XLA can hold, got complex32");
  const Values v = Operands(b, call, {0, 1}, type, type);
  return b.Complex(v[0], v[1]);
}

// aten::polar(Tensor abs, Tensor angle) -> Tensor
Value Polar(Builder& b, const OpCall& call) {
  CheckParts(call);
  const DType type = call.Tensor(0).dtype();
  const Values v = Operands(b, call, {0, 1}, type, type);
  return b.Complex(v[0] * b.Cos(v[1]), v[0] * b.Sin(v[1]));
}

// aten::angle(Tensor self) -> Tensor
Value Angle(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  if (IsComplex(x.dtype())) return b.Binary("atan2", b.Imag(x), b.Real(x));
  const DType type = IsFloat(x.dtype()) ? x.dtype() : call.default_dtype();
  const Value zero = b.Constant(type, 0, x.dims());
  if (IsBool(x.dtype())) return zero;
  const Value pi = b.Constant(type, std::numbers::pi, x.dims());
  const Value angle = b.Select(b.Lt(x, b.ConstantLike(x, 0)), pi, zero);
  return IsFloat(x.dtype()) ? b.Select(IsNaN(b, x), x, angle) : angle;
}

// aten::_conj_physical(Tensor self) -> Tensor
// aten::conj_physical(Tensor self) -> Tensor
Value Conjugate(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  return IsComplex(x.dtype()) ? b.Complex(b.Real(x), -b.Imag(x)) : x;
}

}  // namespace

OpRows ComplexRows() {
  return {
      {"aten::complex", FromParts, kSameOut},
      {"aten::polar", Polar, kSameOut},
      {"aten::angle", Angle, kElementwise},
      {"aten::_conj_physical", Conjugate, kElementwise},
      {"aten::conj_physical", Conjugate, kSameOut},
  };
}

}  // namespace torch_tpu::lowering
