#include "lowering/combinators.h"

#include <c10/util/Exception.h>

#include <numeric>

namespace torch_tpu::lowering {

Dims BroadcastShape(std::string_view op, std::initializer_list<Value> values) {
  Dims dims;
  for (const Value& v : values) dims = BroadcastDims(dims, v.dims(), op);
  return dims;
}

Value Operand(Builder& b, const OpCall& call, int i, DType dtype) {
  if (call.arg(i).kind == Arg::Kind::kNumber) return call.Number(b, i, dtype);
  return b.Convert(call.Tensor(i), dtype);
}

Value KeepDims(Builder& b, Value reduced, const Dims& original, IntArrayRef dims) {
  Dims kept = original;
  for (int64_t d : dims) kept[d] = 1;
  return b.Reshape(reduced, kept);
}

Value Sum(Builder& b, Value x, IntArrayRef dims, bool keep_dims) {
  const Value wide = b.Convert(x, AccumulateType(x.dtype()));
  const Value sum = b.Reduce("add", wide, b.Constant(wide.dtype(), 0), dims);
  return keep_dims ? KeepDims(b, sum, x.dims(), dims) : sum;
}

Value MaxOver(Builder& b, Value x, IntArrayRef dims, bool keep_dims) {
  const Value max = b.Reduce("maximum", x, b.LowestOf(x.dtype()), dims);
  return keep_dims ? KeepDims(b, max, x.dims(), dims) : max;
}

Value MinOver(Builder& b, Value x, IntArrayRef dims, bool keep_dims) {
  const Value min = b.Reduce("minimum", x, b.HighestOf(x.dtype()), dims);
  return keep_dims ? KeepDims(b, min, x.dims(), dims) : min;
}

Value All(Builder& b, Value predicate) {
  Dims every(predicate.rank());
  std::iota(every.begin(), every.end(), 0);
  return b.Reduce("and", predicate, b.Constant(DType::Bool, true), every);
}

Value Any(Builder& b, Value predicate) {
  Dims every(predicate.rank());
  std::iota(every.begin(), every.end(), 0);
  return b.Reduce("or", predicate, b.Constant(DType::Bool, false), every);
}

int64_t CountOver(const Dims& sizes, IntArrayRef dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= sizes[d];
  return n;
}

Value AlongDim(Builder& b, Value vector, int64_t rank, int64_t dim) {
  Dims dims(rank, 1);
  dims[dim] = vector.numel();
  return b.Reshape(vector, dims);
}

Value IotaLike(Builder& b, DType dtype, const Dims& dims, int64_t dim) {
  return b.Iota(dtype, dims, dim);
}

Value IsNaN(Builder& b, Value x) {
  if (IsComplex(x.dtype())) return b.Or(IsNaN(b, b.Real(x)), IsNaN(b, b.Imag(x)));
  if (!IsFloat(x.dtype())) return b.Constant(DType::Bool, false, x.dims());
  return b.Ne(x, x);
}

}  // namespace torch_tpu::lowering
