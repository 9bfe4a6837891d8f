// QR decomposition and products of Householder reflectors.
#include "lowering/qr.h"

#include <c10/util/Exception.h>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {

Reflectors Geqrf(Builder& b, Value x) {
  const Dims taus = With(BatchOf(x), std::min(x.dim(-1), x.dim(-2)));
  if (x.numel() == 0) return {x, Zeros(b, x.dtype(), taus)};
  // Columns scaled to about 1 change R's columns and nothing else. XLA squares them as they are.
  const Value scale = b.Broadcast(b.Convert(ScaleOver(b, x, {x.rank() - 2}), x.dtype()), x.dims());
  const Values out = b.CustomCall("Qr", {x / scale}, {x.type(), {x.dtype(), taus}});
  const Value above = b.Le(RowIota(b, x.dims()), ColumnIota(b, x.dims()));
  return {b.Select(above, out[0] * scale, out[0]), out[1]};
}

Value ProductOfReflectors(Builder& b, const Reflectors& reflectors, int64_t columns) {
  const Value packed = reflectors.packed, taus = reflectors.taus;
  const int64_t m = packed.dim(-2), k = taus.dim(-1);
  const Dims dims = With(BatchOf(packed), m, columns);
  if (k == 0 || NumElements(dims) == 0) return Identity(b, packed.dtype(), dims);
  const Value padded = PadTo(b, Corner(b, packed, m, k), m, columns);
  return b.CustomCall("ProductOfElementaryHouseholderReflectors", {padded, taus},
                      {padded.type()})[0];
}

Qr QrOf(Builder& b, Value x, bool complete) {
  const int64_t m = x.dim(-2), n = x.dim(-1), k = complete ? m : std::min(m, n);
  const Reflectors reflectors = Geqrf(b, x);
  return {ProductOfReflectors(b, reflectors, k),
          Triangle(b, Corner(b, reflectors.packed, k, n), /*lower=*/false)};
}

namespace {

// aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)
Values GeqrfRow(Builder& b, const OpCall& call) {
  CheckMatrices(call, call.Tensor(0));
  const Reflectors reflectors = Geqrf(b, call.Tensor(0));
  return {reflectors.packed, reflectors.taus};
}

// aten::linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
Values LinalgQr(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckMatrices(call, x);
  const std::string_view mode = call.String(1);
  TORCH_CHECK(mode == "reduced" || mode == "complete" || mode == "r", call.name(),
              ": expected mode 'reduced', 'complete' or 'r', got '", mode, "'");
  const int64_t k = std::min(x.dim(-1), x.dim(-2));
  if (mode == "r") {
    const Value r = Corner(b, Geqrf(b, x).packed, k, x.dim(-1));
    return {Zeros(b, x.dtype(), {0}), Triangle(b, r, /*lower=*/false)};
  }
  const Qr qr = QrOf(b, x, mode == "complete");
  return {qr.q, qr.r};
}

void CheckReflectors(const OpCall& call, Value packed, Value taus) {
  CheckMatrices(call, packed);
  TORCH_CHECK(taus.dtype() == packed.dtype(), call.name(),
              ": expected tau of the reflectors' dtype ", DTypeName(packed.dtype()), ", got ",
              DTypeName(taus.dtype()));
  Dims batch = taus.dims();
  if (!batch.empty()) batch.pop_back();
  TORCH_CHECK(taus.rank() + 1 == packed.rank() && batch == BatchOf(packed) &&
                  taus.dim(-1) <= packed.dim(-1),
              call.name(), ": expected at most one tau for each column of shape ",
              ToString(packed.dims()), ", got shape ", ToString(taus.dims()));
}

// aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor
Value HouseholderProduct(Builder& b, const OpCall& call) {
  const Value packed = call.Tensor(0), taus = call.Tensor(1);
  CheckReflectors(call, packed, taus);
  TORCH_CHECK(packed.dim(-2) >= packed.dim(-1), call.name(),
              ": expected no more columns than rows, got shape ", ToString(packed.dims()));
  return ProductOfReflectors(b, {packed, taus}, packed.dim(-1));
}

// aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False)
//     -> Tensor
Value Ormqr(Builder& b, const OpCall& call) {
  const Value packed = call.Tensor(0), taus = call.Tensor(1), x = call.Tensor(2);
  CheckReflectors(call, packed, taus);
  CheckMatrices(call, x);
  const bool left = call.Bool(3);
  const int64_t m = packed.dim(-2);
  TORCH_CHECK(x.dtype() == packed.dtype(), call.name(), ": expected operands of the same dtype, ",
              "got ", DTypeName(packed.dtype()), " and ", DTypeName(x.dtype()));
  TORCH_CHECK(BatchOf(x) == BatchOf(packed) && x.dim(left ? -2 : -1) == m && taus.dim(-1) <= m,
              call.name(), ": expected reflectors of the other operand's ",
              left ? "rows" : "columns", ", got shapes ", ToString(packed.dims()), " and ",
              ToString(x.dims()));
  Value q = ProductOfReflectors(b, {packed, taus}, m);
  if (call.Bool(4)) q = Adjoint(b, q);
  return left ? MatrixProduct(b, q, x) : MatrixProduct(b, x, q);
}

}  // namespace

OpRows QrRows() {
  return {
      {"aten::geqrf", GeqrfRow},
      {"aten::linalg_qr", LinalgQr},
      {"aten::linalg_householder_product", HouseholderProduct},
      {"aten::ormqr", Ormqr},
  };
}

}  // namespace torch_tpu::lowering
