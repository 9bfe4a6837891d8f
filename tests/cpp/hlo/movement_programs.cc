// Operations that move elements.
#include "programs.h"

namespace torch_tpu::hlo {
namespace {

Values Shapes(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2, 3}}), s = b.Parameter({DType::Float, {}});
  return {b.Reshape(x, {3, 2, 1}),   b.Transpose(x, {1, 0}), b.BroadcastInDim(x, {3, 2}, {1, 0}),
          b.Broadcast(x, {4, 2, 3}), b.Broadcast(s, {2}),    b.Reverse(x, {0, 1})};
}

Values Slices(Builder& b) {
  const Value x = b.Parameter({DType::Float, {4, 6}});
  const Value i = b.Parameter({DType::Int, {}}), j = b.Parameter({DType::Int, {}});
  const Value part = b.DynamicSlice(x, {i, j}, {2, 3});
  return {b.Slice(x, {1, 0}, {4, 6}, {2, 3}), b.Slice(x, {0, 2}, {4, 2}),
          b.SliceDim(x, -1, 1, 6, 2), part, b.DynamicUpdateSlice(x, part, {i, j})};
}

Values Joined(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2, 3}}), y = b.Parameter({DType::Float, {2, 1}});
  const Value zero = b.Constant(DType::Float, 0);
  return {b.Concatenate({x, y, x}, -1), b.Pad(x, zero, {1, 0}, {0, -1}),
          b.Pad(x, zero, {0, 0}, {0, 2}, {0, 1})};
}

// What changes nothing emits nothing.
Values NoOps(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2, 3}});
  const Value zero = b.Parameter({DType::Float, {}});
  return {b.Reshape(x, {2, 3}),   b.Transpose(x, {0, 1}),
          b.Broadcast(x, {2, 3}), b.Slice(x, {0, 0}, {2, 3}),
          b.Concatenate({x}, 0),  b.Pad(x, zero, {0, 0}, {0, 0}),
          b.Reverse(x, {})};
}

Values Gathers(Builder& b) {
  const Value x = b.Parameter({DType::Float, {5, 4}}), rows = b.Parameter({DType::Int, {3, 1}});
  GatherDims embedding;
  embedding.offset_dims = {1};
  embedding.collapsed_dims = {0};
  embedding.start_index_map = {0};
  embedding.index_vector_dim = 1;
  embedding.slice_sizes = {1, 4};
  const Value columns = b.Parameter({DType::Long, {5, 2, 1}});
  GatherDims along;  // torch.gather along dimension 1: dimension 0 is a batch
  along.collapsed_dims = {1};
  along.operand_batching = {0};
  along.indices_batching = {0};
  along.start_index_map = {1};
  along.index_vector_dim = 2;
  along.slice_sizes = {1, 1};
  along.sorted = true;
  return {b.Gather(x, rows, embedding), b.Gather(x, columns, along)};
}

Values Scatters(Builder& b) {
  const Value x = b.Parameter({DType::Float, {5, 4}}), rows = b.Parameter({DType::Int, {3, 1}});
  const Value updates = b.Parameter({DType::Float, {3, 4}});
  ScatterDims dims;
  dims.update_window_dims = {1};
  dims.inserted_dims = {0};
  dims.scatter_to_operand = {0};
  dims.index_vector_dim = 1;
  const Values sums =
      b.Scatter({x}, rows, {updates}, dims,
                [](Builder& b, ValueRef args) -> Values { return {args[0] + args[1]}; });
  const Value n = b.Iota(DType::Int, {5, 4}, 0), m = b.Iota(DType::Int, {3, 4}, 1);
  dims.unique = dims.sorted = true;
  const Values both =
      b.Scatter({x, n}, rows, {updates, m}, dims,
                [](Builder&, ValueRef args) -> Values { return {args[2], args[3]}; });
  return {sums[0], both[0], both[1]};
}

}  // namespace

std::vector<GoldenProgram> MovementPrograms() {
  return {
      {"shapes", Shapes}, {"slices", Slices},  {"joined", Joined},
      {"no_ops", NoOps},  {"gather", Gathers}, {"scatter", Scatters},
  };
}

}  // namespace torch_tpu::hlo
