// Rows that no ATen op names: what the eager room itself asks of the device.
#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// tpu::identity(Tensor self) -> Tensor: copies go through writes of it.
Value Identity(Builder&, const OpCall& call) { return call.Tensor(0); }

// tpu::cast(Tensor self, ScalarType dtype) -> Tensor: copies to any dtype, as copy_ does.
Value Cast(Builder& b, const OpCall& call) { return b.Convert(call.Tensor(0), call.Dtype(1)); }

// tpu::resize_storage(Tensor flat, int elements) -> Tensor: the common prefix, zeros after it.
Value ResizeStorage(Builder& b, const OpCall& call) {
  const Value flat = call.Tensor(0);
  const int64_t n = flat.numel(), wanted = call.Int(1);
  if (wanted <= n) return b.Slice(flat, {0}, {wanted});
  return b.Pad(flat, b.Constant(flat.dtype(), 0), {0}, {wanted - n});
}

}  // namespace

OpRows InternalRows() {
  return {
      {"tpu::identity", Identity},
      {"tpu::cast", Cast},
      {"tpu::resize_storage", ResizeStorage},
  };
}

}  // namespace torch_tpu::lowering
