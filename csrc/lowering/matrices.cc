#include "lowering/matrices.h"

#include <c10/util/Exception.h>

#include <numeric>

#include "lowering/dot.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {

void CheckMatrices(const OpCall& call, Value x, bool square) {
  TORCH_CHECK(x.rank() >= 2, call.name(),
              ": expected matrices of at least 2 dimensions, got shape ", ToString(x.dims()));
  TORCH_CHECK(!square || x.dim(-1) == x.dim(-2), call.name(),
              ": expected square matrices, got shape ", ToString(x.dims()));
  TORCH_CHECK(IsFloat(x.dtype()) || IsComplex(x.dtype()), call.name(),
              ": expected a floating point or complex type, got ", DTypeName(x.dtype()));
  TORCH_CHECK_NOT_IMPLEMENTED(AccumulateType(x.dtype()) == x.dtype(), call.name(),
                              ": expected float32, float64 or complex matrices, got ",
                              DTypeName(x.dtype()));
}

Dims BatchOf(Value x) { return Dims(x.dims().begin(), x.dims().end() - 2); }

Dims With(Dims batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

Dims With(Dims batch, int64_t size) {
  batch.push_back(size);
  return batch;
}

Value SwapLast(Builder& b, Value x) {
  Dims order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[x.rank() - 1], order[x.rank() - 2]);
  return b.Transpose(x, order);
}

Value Adjoint(Builder& b, Value x) { return Conjugate(b, SwapLast(b, x)); }

Value RowIota(Builder& b, const Dims& dims) {
  return b.Iota(DType::Int, dims, static_cast<int64_t>(dims.size()) - 2);
}

Value ColumnIota(Builder& b, const Dims& dims) {
  return b.Iota(DType::Int, dims, static_cast<int64_t>(dims.size()) - 1);
}

Value Triangle(Builder& b, Value x, bool lower, int64_t offset) {
  const Value row = RowIota(b, x.dims()) + static_cast<double>(offset);
  const Value column = ColumnIota(b, x.dims());
  return b.Select(lower ? b.Ge(row, column) : b.Le(row, column), x, b.ConstantLike(x, 0));
}

Value Identity(Builder& b, DType dtype, const Dims& dims) {
  return b.Convert(b.Eq(RowIota(b, dims), ColumnIota(b, dims)), dtype);
}

Value Diagonal(Builder& b, Value x) {
  const int64_t k = std::min(x.dim(-1), x.dim(-2));
  const Value corner = Corner(b, x, k, k);
  const Value on = b.Eq(RowIota(b, corner.dims()), ColumnIota(b, corner.dims()));
  return b.Reduce("add", b.Select(on, corner, b.ConstantLike(corner, 0)), b.Constant(x.dtype(), 0),
                  {x.rank() - 1});
}

namespace {

Value Over(Builder& b, Value vector, const Dims& dims, int64_t last) {
  Dims mapping(vector.rank());
  std::iota(mapping.begin(), mapping.end(), 0);
  mapping.back() = last;
  return b.BroadcastInDim(vector, dims, mapping);
}

}  // namespace

Value OverRows(Builder& b, Value vector, const Dims& dims) {
  return Over(b, vector, dims, static_cast<int64_t>(dims.size()) - 2);
}

Value OverColumns(Builder& b, Value vector, const Dims& dims) {
  return Over(b, vector, dims, static_cast<int64_t>(dims.size()) - 1);
}

Value Corner(Builder& b, Value x, int64_t rows, int64_t columns) {
  return b.SliceDim(b.SliceDim(x, x.rank() - 2, 0, rows), x.rank() - 1, 0, columns);
}

Value PadTo(Builder& b, Value x, int64_t rows, int64_t columns) {
  if (rows == x.dim(-2) && columns == x.dim(-1)) return x;
  const Dims low(x.rank(), 0);
  Dims high = low;
  high[x.rank() - 2] = rows - x.dim(-2);
  high[x.rank() - 1] = columns - x.dim(-1);
  return b.Pad(x, b.Constant(x.dtype(), 0), low, high);
}

Value TakeRows(Builder& b, Value x, Value index) {
  const Value spread = OverRows(b, index, With(BatchOf(x), index.dim(-1), x.dim(-1)));
  return GatherAlong(b, x, x.rank() - 2, spread);
}

Value AsTypeOf(Builder& b, Value real, Value x) { return b.Convert(real, x.dtype()); }

Value Abs1(Builder& b, Value x) {
  return IsComplex(x.dtype()) ? b.Abs(b.Real(x)) + b.Abs(b.Imag(x)) : b.Abs(x);
}

Value AllFinite(Builder& b, Value x) {
  if (IsComplex(x.dtype())) return b.And(AllFinite(b, b.Real(x)), AllFinite(b, b.Imag(x)));
  return All(b, b.IsFinite(x));
}

Value ScaleOver(Builder& b, Value x, IntArrayRef dims) {
  const Value most = MaxOver(b, b.Abs(x), dims, true);
  const Value power = b.ReducePrecision(most, most.dtype() == DType::Double ? 11 : 8, 0);
  const Value fits = b.And(b.IsFinite(power), b.Gt(power, b.ConstantLike(power, 0)));
  return b.Select(fits, power, b.ConstantLike(power, 1));
}

Pair BroadcastPair(Builder& b, const OpCall& call, Value a, Value x) {
  const Dims batch = BroadcastDims(BatchOf(a), BatchOf(x), call.name());
  return {b.Broadcast(a, With(batch, a.dim(-2), a.dim(-1))),
          b.Broadcast(x, With(batch, x.dim(-2), x.dim(-1)))};
}

bool IsVectorSide(Value a, Value x) {
  if (x.rank() == 1) return true;
  Dims expected = a.dims();
  expected.pop_back();
  return x.dims() == expected;
}

void CheckSystem(const OpCall& call, Value a, Value x, bool left) {
  CheckMatrices(call, a, true);
  CheckMatrices(call, x);
  TORCH_CHECK(a.dtype() == x.dtype(), call.name(), ": expected operands of the same dtype, got ",
              DTypeName(a.dtype()), " and ", DTypeName(x.dtype()));
  TORCH_CHECK(a.dim(-1) == x.dim(left ? -2 : -1), call.name(),
              ": expected matrices of a system, got shapes ", ToString(a.dims()), " and ",
              ToString(x.dims()));
}

Value SolveTriangular(Builder& b, Pair p, bool left, bool lower, bool unit,
                      std::string_view transpose) {
  if (p.x.numel() == 0) return p.x;
  return b.TriangularSolve(p.a, p.x, left, lower, unit, transpose);
}

}  // namespace torch_tpu::lowering
