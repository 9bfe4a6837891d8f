// Embedding tables: lookups, bags and their gradients.
#include <c10/util/Exception.h>

#include "lowering/distance.h"
#include "lowering/embedding_bag.h"
#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {

Value TableGradient(Builder& b, Value index, Value rows, int64_t num_weights, int64_t padding_idx,
                    bool scale_by_frequency) {
  const DType type = rows.dtype(), compute = AccumulateType(type);
  const int64_t count = index.numel(), features = rows.dim(-1);
  index = b.Reshape(index, {count});
  Value updates = b.Convert(b.Reshape(rows, {count, features}), compute);
  if (count == 0) return Zeros(b, type, {num_weights, features});
  if (scale_by_frequency) {
    const Value ones = b.Constant(compute, 1, {count});
    const Value counts =
        ScatterSlices(b, Zeros(b, compute, {num_weights}), 0, index, ones, Combine::kSum);
    const Value own = b.Reshape(TakeAlong(b, counts, 0, index), {count, 1});
    updates = updates / b.Broadcast(own, updates.dims());
  }
  // Scatter leaves out what is out of range.
  index = b.Select(b.Eq(index, b.ConstantLike(index, padding_idx)),
                   b.ConstantLike(index, num_weights), index);
  const Value table = Zeros(b, compute, {num_weights, features});
  return b.Convert(ScatterSlices(b, table, 0, index, updates, Combine::kSum), type);
}

namespace {

// aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1,
//     bool scale_grad_by_freq=False, bool sparse=False) -> Tensor
Value Embedding(Builder& b, const OpCall& call) {
  const Value weight = call.Tensor(0);
  TORCH_CHECK(weight.rank() == 2, call.name(), ": expected a weight of 2 dimensions, got shape ",
              ToString(weight.dims()));
  const Value index = CheckedIndex(b, call, call.Tensor(1), weight.dim(0), Negative::kRefused);
  return TakeAlong(b, weight, 0, index);
}

// aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights,
//     SymInt padding_idx, bool scale_grad_by_freq) -> Tensor
Value EmbeddingBackward(Builder& b, const OpCall& call) {
  const int64_t num_weights = call.Int(2);
  const Value index = CheckedIndex(b, call, call.Tensor(1), num_weights, Negative::kRefused);
  return TableGradient(b, index, call.Tensor(0), num_weights, call.Int(3), call.Bool(4));
}

// aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor
Value EmbeddingRenorm(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  TORCH_CHECK(self.rank() == 2, call.name(), ": expected a weight of 2 dimensions, got shape ",
              ToString(self.dims()));
  const Value index = CheckedIndex(b, call, call.Tensor(1), self.dim(0), Negative::kRefused);
  const Value flat = b.Reshape(index, {index.numel()});
  const Value rows = b.Convert(TakeAlong(b, self, 0, flat), AccumulateType(self.dtype()));
  const Value norm = PNorm(b, rows, call.StaticNumber(3).toDouble(), {1}, true);
  const Value max = b.Broadcast(call.Number(b, 2, norm.dtype()), norm.dims());
  const Value factor = b.Select(b.Gt(norm, max), max / (norm + 1e-7), b.ConstantLike(norm, 1));
  const Value scaled = b.Convert(rows * b.Broadcast(factor, rows.dims()), self.dtype());
  return ScatterSlices(b, self, 0, flat, scaled, Combine::kReplace);
}

}  // namespace

OpRows EmbeddingRows() {
  return {
      {"aten::embedding", Embedding},
      {"aten::embedding_dense_backward", EmbeddingBackward},
      {"aten::embedding_renorm", EmbeddingRenorm, {.static_numbers = 1u << 3}},
  };
}

}  // namespace torch_tpu::lowering
