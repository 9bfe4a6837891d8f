#include "lowering/dot.h"

#include <c10/util/Exception.h>

#include <numeric>

namespace torch_tpu::lowering {

Value MatrixProduct(Builder& b, Value x, Value y, Side x_side, Side y_side) {
  const int64_t rank = x.rank();
  Dims batch(rank - 2);
  std::iota(batch.begin(), batch.end(), 0);
  const int64_t x_contract = x_side == Side::kPlain ? rank - 1 : rank - 2;
  const int64_t y_contract = y_side == Side::kPlain ? rank - 2 : rank - 1;
  return b.DotGeneral(x, y, {batch, batch, {x_contract}, {y_contract}},
                      AccumulateType(x.dtype()));
}

Value Conjugate(Builder& b, Value x) {
  return IsComplex(x.dtype()) ? b.Complex(b.Real(x), -b.Imag(x)) : x;
}

Value Scaled(Builder& b, Value x, Value factor) { return x * b.Broadcast(factor, x.dims()); }

Value ExpandTo(Builder& b, const OpCall& call, Value x, const Dims& dims) {
  bool fits = x.rank() <= static_cast<int64_t>(dims.size());
  for (int64_t i = 1; fits && i <= x.rank(); ++i) {
    fits = x.dim(-i) == 1 || x.dim(-i) == dims[dims.size() - i];
  }
  TORCH_CHECK(fits, call.name(), ": expected a shape that expands to ", ToString(dims), ", got ",
              ToString(x.dims()));
  return b.Broadcast(x, dims);
}

}  // namespace torch_tpu::lowering
