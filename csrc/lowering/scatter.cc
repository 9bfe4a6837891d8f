// torch.gather, torch.scatter with its reductions, and the masked ops that move elements.
#include <c10/util/Exception.h>

#include "lowering/compaction.h"
#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {
namespace {

// `index` must have as many dimensions as `other` and be no longer than it, `dim` aside.
void CheckIndexFits(const OpCall& call, Value index, Value other, std::string_view what,
                    int64_t except_dim) {
  const Dims a = index.rank() == 0 ? Dims{1} : index.dims();
  const Dims c = other.rank() == 0 ? Dims{1} : other.dims();
  TORCH_CHECK(a.size() == c.size(), call.name(), ": expected an index with as many dimensions as ",
              what, ", got shapes ", ToString(index.dims()), " and ", ToString(other.dims()));
  for (int64_t i = 0; i < static_cast<int64_t>(a.size()); ++i) {
    TORCH_CHECK(i == except_dim || a[i] <= c[i], call.name(), ": expected an index no longer than ",
                what, except_dim < 0 ? "" : " apart from dimension " + std::to_string(except_dim),
                ", got shapes ", ToString(index.dims()), " and ", ToString(other.dims()));
  }
}

// aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
Value Gather(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), index = call.Tensor(2);
  const int64_t dim = call.Dim(1, self.rank());
  if (index.numel() == 0) return Zeros(b, self.dtype(), index.dims());
  CheckIndexFits(call, index, self, "self", dim);
  const Value source = AtLeast1d(b, self);
  const Value checked =
      CheckedIndex(b, call, AtLeast1d(b, index), source.dim(dim), Negative::kRefused);
  return b.Reshape(GatherAlong(b, source, dim, checked), index.dims());
}

// Operands of the scatter family; `source` is cut to the index's shape. Nothing happens where the
// index is empty.
struct ScatterOperands {
  Value self, index, source;
  int64_t dim;
};

ScatterOperands ReadScatter(Builder& b, const OpCall& call, Value source) {
  const Value self = call.Tensor(0), index = call.Tensor(2);
  ScatterOperands s{AtLeast1d(b, self), AtLeast1d(b, index), Value(), call.Dim(1, self.rank())};
  TORCH_CHECK(source.dtype() == self.dtype(), call.name(), ": expected source of type ",
              DTypeName(self.dtype()), ", got ", DTypeName(source.dtype()));
  if (index.numel() == 0) {
    s.source = Zeros(b, self.dtype(), s.index.dims());
    return s;
  }
  CheckIndexFits(call, index, self, "self", s.dim);
  CheckIndexFits(call, index, source, "source", -1);
  s.index = CheckedIndex(b, call, s.index, s.self.dim(s.dim), Negative::kRefused);
  s.source = b.Slice(AtLeast1d(b, source), Dims(s.index.rank(), 0), s.index.dims());
  return s;
}

Value ScatterWith(Builder& b, const OpCall& call, Value source, Combine combine) {
  const Value self = call.Tensor(0);
  const ScatterOperands s = ReadScatter(b, call, source);
  if (s.index.numel() == 0) return self;
  const DType compute = combine == Combine::kReplace ? self.dtype() : AccumulateType(self.dtype());
  const Value scattered = ScatterAlong(b, b.Convert(s.self, compute), s.dim, s.index,
                                       b.Convert(s.source, compute), combine);
  return b.Reshape(b.Convert(scattered, self.dtype()), self.dims());
}

Value NumberSource(Builder& b, const OpCall& call) {
  return b.Broadcast(call.Number(b, 3, call.Tensor(0).dtype()), call.Tensor(2).dims());
}

Combine NamedReduce(const OpCall& call, int i) {
  const std::string_view reduce = call.String(i);
  TORCH_CHECK(reduce == "add" || reduce == "multiply", call.name(),
              ": expected reduce to be add or multiply, got ", reduce);
  return reduce == "add" ? Combine::kSum : Combine::kProduct;
}

// aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
Value ScatterSource(Builder& b, const OpCall& call) {
  return ScatterWith(b, call, call.Tensor(3), Combine::kReplace);
}

// aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
Value ScatterValue(Builder& b, const OpCall& call) {
  return ScatterWith(b, call, NumberSource(b, call), Combine::kReplace);
}

// aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor
Value ScatterSourceReduce(Builder& b, const OpCall& call) {
  return ScatterWith(b, call, call.Tensor(3), NamedReduce(call, 4));
}

// aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce)
//   -> Tensor
Value ScatterValueReduce(Builder& b, const OpCall& call) {
  return ScatterWith(b, call, NumberSource(b, call), NamedReduce(call, 4));
}

// aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
Value ScatterAdd(Builder& b, const OpCall& call) {
  return ScatterWith(b, call, call.Tensor(3), Combine::kSum);
}

// aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *,
//                          bool include_self=True) -> Tensor
Value ScatterReduceTwo(Builder& b, const OpCall& call) {
  const ScatterReduction reduction = ParseReduction(call, call.String(4), call.Bool(5));
  const ScatterOperands s = ReadScatter(b, call, call.Tensor(3));
  const Value reduced = ScatterReduce(b, s.self, s.dim, s.index, s.source, reduction, ScatterAlong);
  return b.Reshape(reduced, call.Tensor(0).dims());
}

Value Flat(Builder& b, Value x) { return b.Reshape(x, {x.numel()}); }

// aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor
Value MaskedScatter(Builder& b, const OpCall& call) {
  const Value source = call.Tensor(2);
  TORCH_CHECK(source.dtype() == call.Tensor(0).dtype(), call.name(), ": expected source of type ",
              DTypeName(call.Tensor(0).dtype()), ", got ", DTypeName(source.dtype()));
  TORCH_CHECK(IsBool(call.Tensor(1).dtype()), call.name(), ": expected a bool mask, got ",
              DTypeName(call.Tensor(1).dtype()));
  const Dims dims = BroadcastShape(call.name(), {call.Tensor(0), call.Tensor(1)});
  const Value self = b.Broadcast(call.Tensor(0), dims);
  const Value mask = Flat(b, b.Broadcast(call.Tensor(1), dims));
  if (self.numel() == 0) return self;
  // The n-th true place takes the n-th element of source.
  const Value rank = RunningSum(b, b.Convert(mask, DType::Int), 0);
  const Value count = b.Reshape(b.SliceDim(rank, 0, mask.numel() - 1, mask.numel()), {});
  const Value held = b.ConstantLike(count, std::min<int64_t>(source.numel(), INT32_MAX));
  call.Require(b.Le(count, held), "expected as many source elements as the mask has true entries");
  if (source.numel() == 0) return self;
  const Value taken = TakeAlong(b, Flat(b, source), 0, rank - 1);
  return b.Reshape(b.Select(mask, taken, Flat(b, self)), dims);
}

// aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor
Value MaskedScatterBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0);
  const Dims sizes = call.Ints(2);
  const int64_t n = NumElements(sizes);
  const Value mask = Flat(b, ExpandTo(b, call, call.Tensor(1), grad.dims(), "a mask"));
  if (n == 0 || grad.numel() == 0) return Zeros(b, grad.dtype(), sizes);
  const Compaction kept = Compact(b, mask);
  Value values = TakeAlong(b, Flat(b, grad), 0, kept.positions);
  const Value valid =
      b.Lt(b.Iota(DType::Int, {grad.numel()}, 0), b.Broadcast(kept.count, {grad.numel()}));
  values = b.Select(valid, values, b.ConstantLike(values, 0));
  const int64_t m = grad.numel();
  values = m < n ? b.Pad(values, b.Constant(grad.dtype(), 0), {0}, {n - m})
                 : b.SliceDim(values, 0, 0, n);
  return b.Reshape(values, sizes);
}

}  // namespace

OpRows ScatterRows() {
  return {
      {"aten::gather", Gather},
      {"aten::scatter.src", ScatterSource},
      {"aten::scatter.value", ScatterValue},
      {"aten::scatter.reduce", ScatterSourceReduce},
      {"aten::scatter.value_reduce", ScatterValueReduce},
      {"aten::scatter_add", ScatterAdd},
      {"aten::scatter_reduce.two", ScatterReduceTwo},
      {"aten::masked_scatter", MaskedScatter},
      {"aten::masked_scatter_backward", MaskedScatterBackward},
  };
}

}  // namespace torch_tpu::lowering
