// Largest and smallest elements over dimensions, with the position of the first of them. A NaN
// counts as both the largest and the smallest.
#include <c10/util/Exception.h>

#include <limits>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

Value Reduced(Builder& b, Value x, IntArrayRef dims, bool largest) {
  return largest ? MaxOver(b, x, dims, /*keep_dims=*/true)
                 : MinOver(b, x, dims, /*keep_dims=*/true);
}

Value Finish(Builder& b, Value kept, IntArrayRef dims, bool keep_dims) {
  return keep_dims ? kept : DropDims(b, kept, dims);
}

void CheckOrdered(const OpCall& call) {
  CheckDtype(call.name(), call.Tensor(0).dtype(), Accept::kReal);
}

// IndexError unless every reduced dimension has an element: an extremum has no identity.
void CheckNotEmpty(const OpCall& call, IntArrayRef dims, bool dim_given) {
  const Value self = call.Tensor(0);
  TORCH_CHECK(dim_given || self.numel() > 0, call.name(),
              ": expected reduction dim to be specified for input.numel() == 0, got shape ",
              ToString(self.dims()), ". Specify the reduction dim with the 'dim' argument.");
  for (int64_t d : dims) {
    TORCH_CHECK_INDEX(self.dim(d) != 0, call.name(), ": expected reduction dim ", d,
                      " to have non-zero size, got shape ", ToString(self.dims()));
  }
}

Dims Every(const OpCall& call) {
  Dims dims(call.Tensor(0).rank());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

// Position along `dim` of the first element equal to `extremum` (1 where `dim` was), int64.
Value FirstIndex(Builder& b, Value x, Value extremum, int64_t dim) {
  const Value wanted = b.Broadcast(extremum, x.dims());
  Value found = b.Eq(x, wanted);
  if (IsFloat(x.dtype())) found = b.Or(found, b.Ne(x, x));  // any NaN is the extremum
  const int64_t size = x.dim(dim);
  const DType type = size < std::numeric_limits<int32_t>::max() ? DType::Int : DType::Long;
  const Value positions = b.Iota(type, x.dims(), dim);
  const Value candidates = b.Select(found, positions, b.ConstantLike(positions, size - 1));
  return b.Convert(MinOver(b, candidates, {dim}, /*keep_dims=*/true), DType::Long);
}

// aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
template <bool largest>
Value Amax(Builder& b, const OpCall& call) {
  CheckOrdered(call);
  const Dims dims = call.ReduceDims(1, call.Tensor(0).rank());
  CheckNotEmpty(call, dims, !call.Ints(1).empty());
  return Finish(b, Reduced(b, call.Tensor(0), dims, largest), dims, call.Bool(2));
}

// aten::max(Tensor self) -> Tensor
template <bool largest>
Value MaxAll(Builder& b, const OpCall& call) {
  CheckOrdered(call);
  CheckNotEmpty(call, {}, false);
  const Dims dims = Every(call);
  return DropDims(b, Reduced(b, call.Tensor(0), dims, largest), dims);
}

// aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
template <bool largest>
Values MaxDim(Builder& b, const OpCall& call) {
  CheckOrdered(call);
  const Value x = call.Tensor(0);
  const int64_t dim = call.Dim(1, x.rank());
  if (x.rank() == 0) return {x, b.Constant(DType::Long, 0)};
  CheckNotEmpty(call, {dim}, true);
  const Value extremum = Reduced(b, x, {dim}, largest);
  return {Finish(b, extremum, {dim}, call.Bool(2)),
          Finish(b, FirstIndex(b, x, extremum, dim), {dim}, call.Bool(2))};
}

// aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
template <bool largest>
Value Argmax(Builder& b, const OpCall& call) {
  const DType type = call.Tensor(0).dtype();
  TORCH_CHECK(!IsComplex(type) && !IsBool(type), call.name(),
              ": expected a real number dtype, got ", DTypeName(type));
  const Value self = call.Tensor(0);
  const bool keep = call.Bool(2);
  if (call.IsNone(1)) {
    TORCH_CHECK_INDEX(self.numel() > 0, call.name(),
                      ": expected reduction dim to be specified for input.numel() == 0. Specify "
                      "the reduction dim with the 'dim' argument.");
    const Value flat = b.Reshape(self, {self.numel()});
    const Value index = FirstIndex(b, flat, Reduced(b, flat, {0}, largest), 0);
    return b.Reshape(index, keep ? Dims(self.rank(), 1) : Dims());
  }
  const int64_t dim = call.Dim(1, self.rank());
  if (self.rank() == 0) return b.Constant(DType::Long, 0);
  CheckNotEmpty(call, {dim}, true);
  return Finish(b, FirstIndex(b, self, Reduced(b, self, {dim}, largest), dim), {dim}, keep);
}

// aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)
Values AminMax(Builder& b, const OpCall& call) {
  CheckOrdered(call);
  const Value x = call.Tensor(0);
  TORCH_CHECK(x.rank() <= 64, call.name(), ": expected at most 64 dimensions, got ", x.rank());
  const bool all = call.IsNone(1);
  const Dims dims = all ? Every(call) : x.rank() == 0 ? Dims() : Dims({call.Dim(1, x.rank())});
  if (!all && x.rank() == 0) call.Dim(1, 0);
  CheckNotEmpty(call, all ? Dims() : dims, !all);
  return {Finish(b, Reduced(b, x, dims, false), dims, call.Bool(2)),
          Finish(b, Reduced(b, x, dims, true), dims, call.Bool(2))};
}

}  // namespace

OpRows ExtremumRows() {
  return {
      {"aten::amax", Amax<true>, {.exact_out = true}},
      {"aten::amin", Amax<false>, {.exact_out = true}},
      {"aten::max", MaxAll<true>},
      {"aten::min", MaxAll<false>},
      {"aten::max.dim", MaxDim<true>},
      {"aten::min.dim", MaxDim<false>},
      {"aten::argmax", Argmax<true>},
      {"aten::argmin", Argmax<false>},
      {"aten::aminmax", AminMax, {.exact_out = true}},
  };
}

}  // namespace torch_tpu::lowering
