// Logic and shifts on the bits of integers; on bools they are the logical operations.
#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

constexpr Promote kKeep = Promote::kKeep;
const OpRow::Flags kElementwise = {.elementwise = true};
const OpRow::Flags kSameOut = {.elementwise = true, .exact_out = true};

// An amount outside [0, bits) shifts everything out: StableHLO compares amounts as unsigned
// numbers, as PyTorch does.
Value ShiftLeft(Builder& b, Value x, Value amount) { return b.Binary("shift_left", x, amount); }

Value ShiftRight(Builder& b, Value x, Value amount) {
  const bool logical = IsUnsigned(x.dtype());
  return b.Binary(logical ? "shift_right_logical" : "shift_right_arithmetic", x, amount);
}

}  // namespace

OpRows BitwiseRows() {
  constexpr Accept kIntegral = Accept::kIntegral, kInteger = Accept::kInteger;
  constexpr auto kAnd = BinaryOp<"and", kKeep, kIntegral>;
  constexpr auto kOr = BinaryOp<"or", kKeep, kIntegral>;
  constexpr auto kXor = BinaryOp<"xor", kKeep, kIntegral>;
  constexpr auto kLeft = Binary<ShiftLeft, kKeep, kInteger>;
  constexpr auto kRight = Binary<ShiftRight, kKeep, kInteger>;
  return {
      {"aten::bitwise_not", UnaryOp<"not", kKeep, kIntegral>, kSameOut},
      {"aten::bitwise_and.Tensor", kAnd, kElementwise},
      {"aten::bitwise_and.Scalar", kAnd, kElementwise},
      {"aten::bitwise_and.Scalar_Tensor", kAnd, kElementwise},
      {"aten::bitwise_or.Tensor", kOr, kElementwise},
      {"aten::bitwise_or.Scalar", kOr, kElementwise},
      {"aten::bitwise_or.Scalar_Tensor", kOr, kElementwise},
      {"aten::bitwise_xor.Tensor", kXor, kElementwise},
      {"aten::bitwise_xor.Scalar", kXor, kElementwise},
      {"aten::bitwise_xor.Scalar_Tensor", kXor, kElementwise},
      {"aten::bitwise_left_shift.Tensor", kLeft, kElementwise},
      {"aten::bitwise_left_shift.Tensor_Scalar", kLeft, kElementwise},
      {"aten::bitwise_left_shift.Scalar_Tensor", kLeft, kElementwise},
      {"aten::bitwise_right_shift.Tensor", kRight, kElementwise},
      {"aten::bitwise_right_shift.Tensor_Scalar", kRight, kElementwise},
      {"aten::bitwise_right_shift.Scalar_Tensor", kRight, kElementwise},
      {"aten::__lshift__.Tensor", kLeft, kElementwise},
      {"aten::__lshift__.Scalar", kLeft, kElementwise},
      {"aten::__rshift__.Tensor", kRight, kElementwise},
      {"aten::__rshift__.Scalar", kRight, kElementwise},
  };
}

}  // namespace torch_tpu::lowering
