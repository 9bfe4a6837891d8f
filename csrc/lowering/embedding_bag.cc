// Sums, means and maxima over bags of embedding rows.
#include "lowering/embedding_bag.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {
namespace {

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

void CheckBag(const OpCall& call, Value weight, Value indices, Value offsets, int64_t mode,
              Value per_sample_weights) {
  TORCH_CHECK(weight.rank() == 2 && indices.rank() == 1 && offsets.rank() == 1, call.name(),
              ": expected a weight of 2 dimensions and vectors of indices and offsets, got shapes ",
              ToString(weight.dims()), ", ", ToString(indices.dims()), " and ",
              ToString(offsets.dims()));
  TORCH_CHECK(IsFloat(weight.dtype()), call.name(), ": expected a floating point weight, got ",
              DTypeName(weight.dtype()));
  for (const Value& v : {indices, offsets}) {
    TORCH_CHECK(v.dtype() == DType::Long || v.dtype() == DType::Int, call.name(),
                ": expected indices and offsets of type int64 or int32, got ",
                DTypeName(v.dtype()));
  }
  if (!per_sample_weights.defined()) return;
  TORCH_CHECK(mode == kSum, call.name(), ": expected mode 'sum' with per_sample_weights");
  TORCH_CHECK(per_sample_weights.dims() == indices.dims(), call.name(),
              ": expected one per_sample_weight for each of ", indices.numel(),
              " indices, got shape ", ToString(per_sample_weights.dims()));
  TORCH_CHECK(per_sample_weights.dtype() == weight.dtype(), call.name(),
              ": expected per_sample_weights of the weight's dtype ", DTypeName(weight.dtype()),
              ", got ", DTypeName(per_sample_weights.dtype()));
}

// The bag of each of `count` positions: how many offsets are at or before it, less one.
Value BagOfPosition(Builder& b, const OpCall& call, Value offsets, int64_t count) {
  const DType type = offsets.dtype();
  if (count == 0 || offsets.numel() == 0) return Zeros(b, type, {count});
  const Value first = b.Reshape(b.SliceDim(offsets, 0, 0, 1), {});
  const Value limit = b.ConstantLike(offsets, count);
  const Value zero = b.ConstantLike(offsets, 0);
  call.Require(b.And(b.Eq(first, b.Constant(type, 0)),
                     All(b, b.And(b.Ge(offsets, zero), b.Le(offsets, limit)))),
               fmt::format("expected offsets from 0 to at most {}", count));
  const Value starts = ScatterSlices(b, Zeros(b, type, {count + 1}), 0, offsets,
                                     b.ConstantLike(offsets, 1), Combine::kSum);
  const Value number = RunningSum(b, b.SliceDim(starts, 0, 0, count), 0);
  return number - b.ConstantLike(number, 1);
}

// aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool
// scale_grad_by_freq=False,
//     int mode=0, bool sparse=False, Tensor? per_sample_weights=None,
//     bool include_last_offset=False, int padding_idx=-1)
//     -> (Tensor output, Tensor offset2bag, Tensor bag_size, Tensor max_indices)
// aten::_embedding_bag_forward_only(...)
Values EmbeddingBag(Builder& b, const OpCall& call) {
  const Value weight = call.Tensor(0), sample_weights = call.TensorOrUndefined(6);
  Value indices = call.Tensor(1), offsets = call.Tensor(2);
  const int64_t mode = call.Int(4), padding = call.Int(8);
  CheckBag(call, weight, indices, offsets, mode, sample_weights);
  const DType index_type = c10::promoteTypes(indices.dtype(), offsets.dtype());
  indices = b.Convert(indices, index_type);
  offsets = b.Convert(offsets, index_type);
  const int64_t count = indices.numel(), features = weight.dim(1);
  int64_t bags = offsets.numel();
  if (call.Bool(7)) {
    TORCH_CHECK(bags >= 1, call.name(),
                ": expected at least one offset with include_last_offset, got none");
    --bags;
  }
  const DType compute = AccumulateType(weight.dtype());
  const Dims shape = {bags, features};
  const Value index = CheckedIndex(b, call, indices, weight.dim(0), Negative::kRefused);
  const Value bag_of = BagOfPosition(b, call, offsets, count);
  // Padding, and what follows the last offset, belongs to no bag: scatter leaves it out.
  const Value target = b.Select(b.Eq(indices, b.ConstantLike(indices, padding)),
                                b.ConstantLike(bag_of, bags), bag_of);
  const Value size = ScatterSlices(b, Zeros(b, index_type, {bags}), 0, target,
                                   b.ConstantLike(target, 1), Combine::kSum);
  Value rows = b.Convert(TakeAlong(b, weight, 0, index), compute);
  Value out, max_indices = Zeros(b, index_type, {0});
  if (mode == kMax) {
    const Value max =
        ScatterSlices(b, b.LowestOf(compute, shape), 0, target, rows, Combine::kMaximum);
    const Value filled = b.BroadcastInDim(b.Gt(size, b.ConstantLike(size, 0)), shape, {0});
    out = b.Select(filled, max, Zeros(b, compute, shape));
    max_indices = Zeros(b, index_type, shape);
    if (count > 0 && bags > 0) {
      // The first position that reached the maximum (or is NaN, as the maximum is then), by its
      // table row.
      const Value reached = TakeAlong(b, max, 0, bag_of);
      const Value hit = b.Or(b.Eq(rows, reached), IsNaN(b, rows));
      const Value position = b.Iota(index_type, rows.dims(), 0);
      const Value never = b.ConstantLike(position, count);
      const Value first = ScatterSlices(b, b.Constant(index_type, count, shape), 0, target,
                                        b.Select(hit, position, never), Combine::kMinimum);
      const Value last = b.ConstantLike(first, count - 1);
      const Value named = TakeAlong(b, indices, 0, b.Min(first, last));
      max_indices = b.Select(filled, named, max_indices);
    }
  } else {
    if (sample_weights.defined()) {
      rows = rows * b.BroadcastInDim(b.Convert(sample_weights, compute), rows.dims(), {0});
    }
    out = ScatterSlices(b, Zeros(b, compute, shape), 0, target, rows, Combine::kSum);
    if (mode == kMean) {
      const Value divisor = b.Max(size, b.ConstantLike(size, 1));
      out = out / b.BroadcastInDim(b.Convert(divisor, compute), shape, {0});
    }
  }
  return {b.Convert(out, weight.dtype()), bag_of, size, max_indices};
}

// Arguments of both gradients: grad, indices, offset2bag, bag_size, maximum_indices from `first`.
Value BagGradient(Builder& b, const OpCall& call, Value offset2bag, Value bag_size,
                  Value max_indices, int num_weights_at, int64_t mode, Value sample_weights,
                  bool scale_by_frequency, int64_t padding) {
  const Value grad = call.Tensor(0), indices = call.Tensor(1);
  const int64_t num_weights = call.Int(num_weights_at), bags = grad.dim(0), features = grad.dim(1);
  const DType type = grad.dtype(), compute = AccumulateType(type);
  if (indices.numel() == 0 || bags == 0) return Zeros(b, type, {num_weights, features});
  const Value wide = b.Convert(grad, compute);
  if (mode == kMax) {
    TORCH_CHECK(!scale_by_frequency, call.name(),
                ": expected no scale_grad_by_freq with mode 'max'");
    // Element (b, d) goes to (max_indices[b, d], d); nothing comes from empty bags.
    const Value empty =
        b.BroadcastInDim(b.Eq(bag_size, b.ConstantLike(bag_size, 0)), grad.dims(), {0});
    const Value row = b.Select(empty, b.ConstantLike(max_indices, num_weights), max_indices);
    hlo::ScatterDims d;
    d.inserted_dims = {0};
    d.scatter_to_operand = {0};
    d.operand_batching = {1};
    d.indices_batching = {1};
    d.index_vector_dim = 2;
    const Value table = Zeros(b, compute, {num_weights, features});
    return b.Convert(ScatterInto(b, table, row, wide, d, Combine::kSum), type);
  }
  const Value index = CheckedIndex(b, call, indices, num_weights, Negative::kRefused);
  Value rows = TakeAlong(b, wide, 0, offset2bag);
  if (sample_weights.defined()) {
    rows = rows * b.BroadcastInDim(b.Convert(sample_weights, compute), rows.dims(), {0});
  }
  if (mode == kMean) {
    const Value divisor = b.Max(bag_size, b.ConstantLike(bag_size, 1));
    const Value own = TakeAlong(b, b.Convert(divisor, compute), 0, offset2bag);
    rows = rows / b.BroadcastInDim(own, rows.dims(), {0});
  }
  // Positions after the last offset are in no bag.
  const Value outside = b.Ge(offset2bag, b.ConstantLike(offset2bag, bags));
  rows = b.Select(b.BroadcastInDim(outside, rows.dims(), {0}), b.ConstantLike(rows, 0), rows);
  return b.Convert(TableGradient(b, index, rows, num_weights, padding, scale_by_frequency), type);
}

// CPU PyTorch's forward leaves offset2bag out where its fast path has no use for it.
Value OffsetToBag(Builder& b, const OpCall& call, Value indices, Value offsets, Value offset2bag) {
  if (offset2bag.numel() == indices.numel()) return offset2bag;
  return BagOfPosition(b, call, offsets, indices.numel());
}

// aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag,
//     Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int
//     mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor
Value EmbeddingBagBackward(Builder& b, const OpCall& call) {
  TORCH_CHECK_NOT_IMPLEMENTED(!call.Bool(9), call.name(),
                              ": expected sparse=False, got True: tpu has no sparse tensors");
  const Value offset2bag = OffsetToBag(b, call, call.Tensor(1), call.Tensor(2), call.Tensor(3));
  return BagGradient(b, call, offset2bag, call.Tensor(4), call.Tensor(5), 6, call.Int(8),
                     call.TensorOrUndefined(10), call.Bool(7), call.Int(11));
}

// aten::_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag,
//     Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int
//     mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor
Value EmbeddingBagDenseBackward(Builder& b, const OpCall& call) {
  return BagGradient(b, call, call.Tensor(2), call.Tensor(3), call.Tensor(4), 5, call.Int(7),
                     call.TensorOrUndefined(8), call.Bool(6), call.Int(9));
}

// aten::_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices,
//     Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor
Value SampleWeightsBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0), weight = call.Tensor(1), indices = call.Tensor(2);
  const Value offset2bag = OffsetToBag(b, call, indices, call.Tensor(3), call.Tensor(4));
  TORCH_CHECK(call.Int(5) == kSum, call.name(), ": expected mode 'sum' with per_sample_weights");
  const DType compute = AccumulateType(grad.dtype());
  const int64_t count = indices.numel(), bags = grad.dim(0);
  if (count == 0 || bags == 0) return Zeros(b, grad.dtype(), {count});
  const Value index = CheckedIndex(b, call, indices, weight.dim(0), Negative::kRefused);
  const Value rows = b.Convert(TakeAlong(b, weight, 0, index), compute);
  const Value grads = TakeAlong(b, b.Convert(grad, compute), 0, offset2bag);
  const Value unused = b.Or(b.Eq(indices, b.ConstantLike(indices, call.Int(6))),
                            b.Ge(offset2bag, b.ConstantLike(offset2bag, bags)));
  const Value sums = Sum(b, rows * grads, {1});
  return b.Convert(b.Select(unused, b.ConstantLike(sums, 0), sums), grad.dtype());
}

}  // namespace

OpRows EmbeddingBagRows() {
  return {
      {"aten::_embedding_bag", EmbeddingBag},
      {"aten::_embedding_bag_forward_only", EmbeddingBag},
      {"aten::_embedding_bag_backward", EmbeddingBagBackward},
      {"aten::_embedding_bag_dense_backward", EmbeddingBagDenseBackward},
      {"aten::_embedding_bag_per_sample_weights_backward", SampleWeightsBackward},
  };
}

}  // namespace torch_tpu::lowering
