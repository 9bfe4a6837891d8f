#include "lowering/dot.h"

#include <numeric>

namespace torch_tpu::lowering {

Value MatrixProduct(Builder& b, Value x, Value y, Side x_side, Side y_side) {
  const int64_t rank = x.rank();
  Dims batch(rank - 2);
  std::iota(batch.begin(), batch.end(), 0);
  const int64_t x_contract = x_side == Side::kPlain ? rank - 1 : rank - 2;
  const int64_t y_contract = y_side == Side::kPlain ? rank - 2 : rank - 1;
  return b.DotGeneral(x, y, {batch, batch, {x_contract}, {y_contract}}, AccumulateType(x.dtype()));
}

Value Conjugate(Builder& b, Value x) {
  return IsComplex(x.dtype()) ? b.Complex(b.Real(x), -b.Imag(x)) : x;
}

Value Scaled(Builder& b, Value x, Value factor) { return x * b.Broadcast(factor, x.dims()); }

}  // namespace torch_tpu::lowering
