// Comparisons, logic on truth values, classification of numbers and choice by a mask.
#include <c10/util/Exception.h>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

constexpr Promote kBool = Promote::kBool;
const OpRow::Flags kElementwise = {.elementwise = true};
const OpRow::Flags kSameOut = {.elementwise = true, .exact_out = true};

Value Eq(Builder& b, Value x, Value y) { return b.Eq(x, y); }
Value Ne(Builder& b, Value x, Value y) { return b.Ne(x, y); }
Value Lt(Builder& b, Value x, Value y) { return b.Lt(x, y); }
Value Le(Builder& b, Value x, Value y) { return b.Le(x, y); }
Value Gt(Builder& b, Value x, Value y) { return b.Gt(x, y); }
Value Ge(Builder& b, Value x, Value y) { return b.Ge(x, y); }

// Arguments of any two types, each turned into a truth value by itself.
template <auto f>
Value Logical(Builder& b, const OpCall& call) {
  const Values v = Operands(b, call, {0, 1}, DType::Bool, DType::Bool);
  return f(b, v[0], v[1]);
}

Value And(Builder& b, Value x, Value y) { return b.And(x, y); }
Value Or(Builder& b, Value x, Value y) { return b.Or(x, y); }
Value Xor(Builder& b, Value x, Value y) { return b.Xor(x, y); }

// aten::logical_not(Tensor self) -> Tensor
Value LogicalNot(Builder& b, const OpCall& call) {
  return b.Not(b.Convert(call.Tensor(0), DType::Bool));
}

Value IsInfinite(Builder& b, Value x) {
  if (IsComplex(x.dtype())) return b.Or(IsInfinite(b, b.Real(x)), IsInfinite(b, b.Imag(x)));
  if (!IsFloat(x.dtype())) return b.Constant(DType::Bool, false, x.dims());
  return b.Eq(b.Abs(x), b.Infinity(x.dtype(), false, x.dims()));
}

template <bool negative>
Value IsOneInfinity(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  TORCH_CHECK(!IsComplex(x.dtype()), call.name(), ": expected a real dtype, got ",
              DTypeName(x.dtype()));
  if (!IsFloat(x.dtype())) return b.Constant(DType::Bool, false, x.dims());
  return b.Eq(x, b.Infinity(x.dtype(), negative, x.dims()));
}

// aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
Value Where(Builder& b, const OpCall& call) {
  const DType mask = call.Tensor(0).dtype(), type = call.ResultType({1, 2});
  TORCH_CHECK(mask == DType::Bool || mask == DType::Byte, call.name(),
              ": expected condition to be a bool tensor, got ", DTypeName(mask));
  const Value on_true = Operand(b, call, 1, type), on_false = Operand(b, call, 2, type);
  const Value condition = b.Convert(call.Tensor(0), DType::Bool);
  const Dims dims = BroadcastShape(call.name(), {condition, on_true, on_false});
  return b.Select(b.Broadcast(condition, dims), b.Broadcast(on_true, dims),
                  b.Broadcast(on_false, dims));
}

// aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
// aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor
Value MaskedFill(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), mask = call.Tensor(1);
  TORCH_CHECK(IsBool(mask.dtype()), call.name(), ": expected mask to be a bool tensor, got ",
              DTypeName(mask.dtype()));
  const Arg& given = call.arg(2);
  TORCH_CHECK(given.kind != Arg::Kind::kTensor || !IsComplex(given.tensor.dtype()) ||
                  IsComplex(self.dtype()),
              call.name(), ": expected a real value for ", DTypeName(self.dtype()), ", got ",
              DTypeName(given.tensor.dtype()));
  const Value value = Operand(b, call, 2, self.dtype());
  TORCH_CHECK(value.rank() == 0, call.name(), ": expected value to have 0 dimensions, got ",
              value.rank());
  const Dims dims = BroadcastShape(call.name(), {self, mask});
  return b.Select(b.Broadcast(mask, dims), b.Broadcast(value, dims), b.Broadcast(self, dims));
}

}  // namespace

OpRows ComparisonRows() {
  constexpr Accept kAll = Accept::kAll, kReal = Accept::kReal;
  return {
      {"aten::eq.Tensor", Binary<Eq, kBool, kAll>, kElementwise},
      {"aten::eq.Scalar", Binary<Eq, kBool, kAll>, kElementwise},
      {"aten::ne.Tensor", Binary<Ne, kBool, kAll>, kElementwise},
      {"aten::ne.Scalar", Binary<Ne, kBool, kAll>, kElementwise},
      {"aten::lt.Tensor", Binary<Lt, kBool, kReal>, kElementwise},
      {"aten::lt.Scalar", Binary<Lt, kBool, kReal>, kElementwise},
      {"aten::le.Tensor", Binary<Le, kBool, kReal>, kElementwise},
      {"aten::le.Scalar", Binary<Le, kBool, kReal>, kElementwise},
      {"aten::gt.Tensor", Binary<Gt, kBool, kReal>, kElementwise},
      {"aten::gt.Scalar", Binary<Gt, kBool, kReal>, kElementwise},
      {"aten::ge.Tensor", Binary<Ge, kBool, kReal>, kElementwise},
      {"aten::ge.Scalar", Binary<Ge, kBool, kReal>, kElementwise},
      {"aten::logical_and", Logical<And>, kElementwise},
      {"aten::logical_or", Logical<Or>, kElementwise},
      {"aten::logical_xor", Logical<Xor>, kElementwise},
      {"aten::logical_not", LogicalNot, kElementwise},
      {"aten::isnan", Unary<IsNaN, kBool>, kElementwise},
      {"aten::isinf", Unary<IsInfinite, kBool>, kElementwise},
      {"aten::isposinf", IsOneInfinity<false>, kSameOut},
      {"aten::isneginf", IsOneInfinity<true>, kSameOut},
      {"aten::where.self", Where, kSameOut},
      {"aten::masked_fill.Scalar", MaskedFill, {.elementwise = true, .fitting_number = 2}},
      {"aten::masked_fill.Tensor", MaskedFill, kElementwise},
  };
}

}  // namespace torch_tpu::lowering
