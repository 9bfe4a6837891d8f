// Reading and writing at index tensors: advanced indexing and the index_* ops.
#include <c10/util/Exception.h>

#include <algorithm>

#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {
namespace {

// Advanced indexing: which dimensions are indexed, by what, and where the common shape of the index
// tensors lands in the result (in front when the indexed dimensions are not neighbours).
struct AdvancedIndex {
  Dims indexed;      // ascending dimensions of self
  Dims batch;        // broadcast shape of the index tensors
  int64_t position;  // of `batch` in the result
  Dims result;       // shape of self[indices]

  Dims Windows() const {  // dimensions of the result that come from self as a whole
    Dims windows;
    for (int64_t i = 0; i < static_cast<int64_t>(result.size()); ++i) {
      if (i < position || i >= position + static_cast<int64_t>(batch.size())) windows.push_back(i);
    }
    return windows;
  }
};

Dims BroadcastIndices(const OpCall& call, const Dims& a, const Dims& c) {
  const size_t rank = std::max(a.size(), c.size());
  Dims joined(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t x = d < rank - a.size() ? 1 : a[d - (rank - a.size())];
    const int64_t y = d < rank - c.size() ? 1 : c[d - (rank - c.size())];
    TORCH_CHECK_INDEX(x == y || x == 1 || y == 1, call.name(),
                      ": expected index tensors whose shapes broadcast together, got ", ToString(a),
                      " and ", ToString(c));
    joined[d] = x == 1 ? y : x;
  }
  return joined;
}

AdvancedIndex PlanIndices(const OpCall& call, Value self, const Values& indices) {
  TORCH_CHECK_INDEX(static_cast<int64_t>(indices.size()) <= self.rank(), call.name(),
                    ": expected at most ", self.rank(), " indices for a tensor of shape ",
                    ToString(self.dims()), ", got ", indices.size());
  AdvancedIndex plan;
  Dims windows;
  for (int64_t i = 0; i < self.rank(); ++i) {
    if (i >= static_cast<int64_t>(indices.size()) || !indices[i].defined()) {
      windows.push_back(self.dim(i));
      continue;
    }
    plan.indexed.push_back(i);
    plan.batch = BroadcastIndices(call, plan.batch, indices[i].dims());
  }
  const int64_t count = static_cast<int64_t>(plan.indexed.size());
  const bool neighbours = count > 0 && plan.indexed.back() - plan.indexed.front() + 1 == count;
  plan.position = neighbours ? plan.indexed.front() : 0;
  plan.result = windows;
  plan.result.insert(plan.result.begin() + plan.position, plan.batch.begin(), plan.batch.end());
  return plan;
}

// The index vectors: `plan.batch`, and one more dimension when several dimensions are indexed.
Value IndexVectors(Builder& b, const OpCall& call, Value self, const Values& indices,
                   const AdvancedIndex& plan) {
  Values parts;
  bool wide = false;
  for (int64_t i : plan.indexed) {
    parts.push_back(CheckedIndex(b, call, indices[i], self.dim(i), Negative::kWraps));
    wide = wide || parts.back().dtype() == DType::Long;
  }
  Dims column = plan.batch;
  if (parts.size() > 1) column.push_back(1);
  for (Value& part : parts) {
    part = b.Convert(b.Broadcast(part, plan.batch), wide ? DType::Long : DType::Int);
    part = b.Reshape(part, column);
  }
  return b.Concatenate(parts, static_cast<int64_t>(plan.batch.size()));
}

Value ReadAt(Builder& b, const OpCall& call, Value self, const Values& indices) {
  const AdvancedIndex plan = PlanIndices(call, self, indices);
  if (plan.indexed.empty()) return self;
  if (NumElements(plan.result) == 0) {
    // Nothing is read, so nothing is checked except an index into a dimension of size 0.
    for (int64_t i : plan.indexed) {
      TORCH_CHECK_INDEX(self.dim(i) > 0 || NumElements(plan.batch) == 0, call.name(),
                        ": expected no index into dimension ", i, " of size 0");
    }
    return Zeros(b, self.dtype(), plan.result);
  }
  hlo::GatherDims d;
  d.offset_dims = plan.Windows();
  d.collapsed_dims = d.start_index_map = plan.indexed;
  d.index_vector_dim = static_cast<int64_t>(plan.batch.size());
  d.slice_sizes = self.dims();
  for (int64_t i : plan.indexed) d.slice_sizes[i] = 1;
  return b.Gather(self, IndexVectors(b, call, self, indices, plan), d);
}

// aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
// aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
Value Index(Builder& b, const OpCall& call) {
  return ReadAt(b, call, call.Tensor(0), call.Tensors(1));
}

Value PutAt(Builder& b, const OpCall& call, Value self, const Values& indices, Value values,
            bool accumulate) {
  TORCH_CHECK(values.dtype() == self.dtype(), call.name(),
              ": expected values of the destination's type ", DTypeName(self.dtype()), ", got ",
              DTypeName(values.dtype()));
  const AdvancedIndex plan = PlanIndices(call, self, indices);
  const Value updates = ExpandTo(b, call, values, plan.result, "values");
  if (plan.indexed.empty()) {
    return accumulate ? CombineValues(b, Combine::kSum, self, updates) : updates;
  }
  if (updates.numel() == 0) return self;
  hlo::ScatterDims d;
  d.update_window_dims = plan.Windows();
  d.inserted_dims = d.scatter_to_operand = plan.indexed;
  d.index_vector_dim = static_cast<int64_t>(plan.batch.size());
  const Value vectors = IndexVectors(b, call, self, indices, plan);
  if (!accumulate) return ScatterInto(b, self, vectors, updates, d, Combine::kReplace);
  const DType compute = AccumulateType(self.dtype());
  return b.Convert(ScatterInto(b, b.Convert(self, compute), vectors, b.Convert(updates, compute), d,
                               Combine::kSum),
                   self.dtype());
}

// aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor
// aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False,
//                       bool unsafe=False) -> Tensor
// aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)
//   -> Tensor
Value IndexPut(Builder& b, const OpCall& call) {
  return PutAt(b, call, call.Tensor(0), call.Tensors(1), call.Tensor(2), call.Bool(3));
}

// The indices of a masked index: where the mask is false they are not looked at.
Values Masked(Builder& b, const OpCall& call, const Values& indices, Value mask) {
  Values masked;
  for (const Value& index : indices) {
    if (!index.defined()) {
      masked.push_back(index);
      continue;
    }
    const Dims dims = BroadcastShape(call.name(), {index, mask});
    const Value all = b.Broadcast(index, dims);
    masked.push_back(b.Select(b.Broadcast(mask, dims), all, b.ConstantLike(all, 0)));
  }
  return masked;
}

// aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor
Value UnsafeMaskedIndex(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), mask = call.Tensor(1);
  const Value fill = call.Number(b, 3, self.dtype());
  if (self.numel() == 0) {
    return b.Broadcast(fill, PlanIndices(call, self, call.Tensors(2)).result);
  }
  const Value taken = ReadAt(b, call, self, Masked(b, call, call.Tensors(2), mask));
  return b.Select(b.Broadcast(mask, taken.dims()), taken, b.Broadcast(fill, taken.dims()));
}

// aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices,
//                                           Tensor values) -> Tensor
Value UnsafeMaskedIndexPutAccumulate(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), mask = call.Tensor(1), values = call.Tensor(3);
  if (self.numel() == 0) return self;
  const Dims dims = BroadcastShape(call.name(), {mask, values});
  const Value kept =
      b.Select(b.Broadcast(mask, dims), b.Broadcast(values, dims), Zeros(b, values.dtype(), dims));
  return PutAt(b, call, self, Masked(b, call, call.Tensors(2), mask), kept, true);
}

void CheckVector(const OpCall& call, Value index) {
  TORCH_CHECK_INDEX(index.rank() <= 1, call.name(),
                    ": expected an index of at most 1 dimension, got ", ToString(index.dims()));
}

// aten::index_select(Tensor self, int dim, Tensor index) -> Tensor
Value IndexSelect(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), index = call.Tensor(2);
  const int64_t dim = call.Dim(1, self.rank());
  CheckVector(call, index);
  if (self.rank() == 0) {
    TORCH_CHECK_INDEX(index.numel() == 1, call.name(),
                      ": expected one index for a tensor of 0 dimensions, got ", index.numel());
    CheckedIndex(b, call, index, 1, Negative::kRefused);
    return self;
  }
  const Value checked =
      CheckedIndex(b, call, AtLeast1d(b, index), self.dim(dim), Negative::kRefused);
  return TakeAlong(b, self, dim, checked);
}

Value Flat(Builder& b, Value x) { return b.Reshape(x, {x.numel()}); }

// aten::take(Tensor self, Tensor index) -> Tensor
Value Take(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const Value index = CheckedIndex(b, call, call.Tensor(1), self.numel(), Negative::kWraps);
  return TakeAlong(b, Flat(b, self), 0, index);
}

// aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor
Value Put(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), source = call.Tensor(2);
  TORCH_CHECK(source.dtype() == self.dtype(), call.name(), ": expected source of type ",
              DTypeName(self.dtype()), ", got ", DTypeName(source.dtype()));
  TORCH_CHECK(source.numel() == call.Tensor(1).numel(), call.name(),
              ": expected as many source elements as indices, got ", source.numel(), " and ",
              call.Tensor(1).numel());
  const Value index = CheckedIndex(b, call, call.Tensor(1), self.numel(), Negative::kWraps);
  const Combine combine = call.Bool(3) ? Combine::kSum : Combine::kReplace;
  const DType compute = call.Bool(3) ? AccumulateType(self.dtype()) : self.dtype();
  const Value put = ScatterSlices(b, Flat(b, b.Convert(self, compute)), 0, Flat(b, index),
                                  Flat(b, b.Convert(source, compute)), combine);
  return b.Reshape(b.Convert(put, self.dtype()), self.dims());
}

// The operands of index_add, index_copy and index_reduce, checked, with 0-d tensors as vectors.
struct SliceUpdate {
  Value self, index, source;
  int64_t dim;
};

SliceUpdate ReadSliceUpdate(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), index = call.Tensor(2), source = call.Tensor(3);
  const int64_t dim = call.Dim(1, self.rank());
  CheckVector(call, index);
  TORCH_CHECK(source.dtype() == self.dtype(), call.name(), ": expected source of type ",
              DTypeName(self.dtype()), ", got ", DTypeName(source.dtype()));
  SliceUpdate u{AtLeast1d(b, self), AtLeast1d(b, index), AtLeast1d(b, source), dim};
  Dims expected = u.self.dims();
  expected[dim] = u.index.numel();
  const bool scalar_source = source.rank() == 0 && NumElements(expected) == 1;
  TORCH_CHECK_INDEX(scalar_source || u.source.rank() > dim, call.name(),
                    ": expected a source of shape ", ToString(expected), ", got ",
                    ToString(source.dims()));
  TORCH_CHECK_INDEX(scalar_source || u.source.dim(dim) == u.index.numel(), call.name(),
                    ": expected as many indices as source slices, got ", u.index.numel(), " and ",
                    u.source.dim(dim));
  TORCH_CHECK(scalar_source || u.source.dims() == expected, call.name(),
              ": expected a source of shape ", ToString(expected), ", got ",
              ToString(source.dims()));
  u.source = b.Reshape(u.source, expected);
  u.index = CheckedIndex(b, call, u.index, u.self.dim(dim), Negative::kRefused);
  return u;
}

// aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor
Value IndexAdd(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const SliceUpdate u = ReadSliceUpdate(b, call);
  const DType compute = AccumulateType(self.dtype());
  const NumberArg& alpha = call.RawNumber(4);
  Value source = b.Convert(u.source, compute);
  if (!alpha.constant || !alpha.constant->equal(1)) {
    const Value scale = b.Broadcast(NumberValue(b, alpha, compute), source.dims());
    source = CombineValues(b, Combine::kProduct, source, scale);
  }
  const Value sum =
      ScatterSlices(b, b.Convert(u.self, compute), u.dim, u.index, source, Combine::kSum);
  return b.Reshape(b.Convert(sum, self.dtype()), self.dims());
}

// aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor
Value IndexCopy(Builder& b, const OpCall& call) {
  const SliceUpdate u = ReadSliceUpdate(b, call);
  return b.Reshape(ScatterSlices(b, u.self, u.dim, u.index, u.source, Combine::kReplace),
                   call.Tensor(0).dims());
}

// aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *,
//                    bool include_self=True) -> Tensor
Value IndexReduce(Builder& b, const OpCall& call) {
  const std::string_view reduce = call.String(4);
  TORCH_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
              call.name(), ": expected reduce to be prod, mean, amax or amin, got ", reduce);
  const SliceUpdate u = ReadSliceUpdate(b, call);
  const Value reduced = ScatterReduce(b, u.self, u.dim, u.index, u.source,
                                      ParseReduction(call, reduce, call.Bool(5)), ScatterSlices);
  return b.Reshape(reduced, call.Tensor(0).dims());
}

Value FillSlices(Builder& b, const OpCall& call, Value value) {
  const Value self = AtLeast1d(b, call.Tensor(0)), index = call.Tensor(2);
  const int64_t dim = call.Dim(1, self.rank()), size = self.dim(dim);
  CheckVector(call, index);
  const Value checked = CheckedIndex(b, call, AtLeast1d(b, index), size, Negative::kWraps);
  const Value hit = ScatterSlices(b, b.Constant(DType::Bool, false, {size}), 0, checked,
                                  b.Constant(DType::Bool, true, checked.dims()), Combine::kReplace);
  const Value mask = b.BroadcastInDim(hit, self.dims(), {dim});
  return b.Reshape(b.Select(mask, b.Broadcast(value, self.dims()), self), call.Tensor(0).dims());
}

// aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
Value IndexFillScalar(Builder& b, const OpCall& call) {
  return FillSlices(b, call, call.Number(b, 3, call.Tensor(0).dtype()));
}

// aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor
Value IndexFillTensor(Builder& b, const OpCall& call) {
  const Value value = call.Tensor(3);
  TORCH_CHECK(value.rank() == 0, call.name(), ": expected a value of 0 dimensions, got ",
              ToString(value.dims()));
  return FillSlices(b, call, b.Convert(value, call.Tensor(0).dtype()));
}

// Eagerly, masks become positions first (eager/indexing.cc).
const OpRow::Flags kGraphOnly = {.graph_only = true};

}  // namespace

OpRows IndexRows() {
  return {
      {"aten::index.Tensor", Index},
      {"aten::_unsafe_index.Tensor", Index, kGraphOnly},
      {"aten::index_put", IndexPut, kGraphOnly},
      {"aten::_index_put_impl", IndexPut, kGraphOnly},
      {"aten::_unsafe_index_put", IndexPut, kGraphOnly},
      {"aten::_unsafe_masked_index", UnsafeMaskedIndex},
      {"aten::_unsafe_masked_index_put_accumulate", UnsafeMaskedIndexPutAccumulate},
      {"aten::index_select", IndexSelect},
      {"aten::take", Take},
      {"aten::put", Put},
      {"aten::index_add", IndexAdd},
      {"aten::index_copy", IndexCopy},
      {"aten::index_reduce", IndexReduce},
      {"aten::index_fill.int_Scalar", IndexFillScalar},
      {"aten::index_fill.int_Tensor", IndexFillTensor},
  };
}

}  // namespace torch_tpu::lowering
