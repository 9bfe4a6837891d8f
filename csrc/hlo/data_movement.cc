// Operations that move elements without computing on them.
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <numeric>

#include "hlo/builder.h"
#include "hlo/printer.h"

namespace torch_tpu::hlo {

Value Builder::Reshape(Value x, IntArrayRef dims) {
  if (IntArrayRef(x.dims()) == dims) return x;
  TORCH_INTERNAL_ASSERT(x.numel() == NumElements(dims), "reshape: ", TypeText(x.type()), " to ",
                        ToString(dims));
  return Emit1("reshape", {x}, {x.dtype(), Dims(dims)});
}

Value Builder::Transpose(Value x, IntArrayRef permutation) {
  bool identity = true;
  Dims dims;
  for (size_t i = 0; i < permutation.size(); ++i) {
    identity = identity && permutation[i] == static_cast<int64_t>(i);
    dims.push_back(x.dim(permutation[i]));
  }
  TORCH_INTERNAL_ASSERT(static_cast<int64_t>(permutation.size()) == x.rank(),
                        "transpose: ", ToString(permutation), " of ", TypeText(x.type()));
  if (identity) return x;
  return Emit1("transpose", {x}, {x.dtype(), dims}, "permutation = " + ArrayAttr(permutation));
}

Value Builder::BroadcastInDim(Value x, IntArrayRef dims, IntArrayRef mapping) {
  TORCH_INTERNAL_ASSERT(static_cast<int64_t>(mapping.size()) == x.rank(),
                        "broadcast_in_dim: ", TypeText(x.type()), " mapped by ", ToString(mapping));
  return Emit1("broadcast_in_dim", {x}, {x.dtype(), Dims(dims)},
               "broadcast_dimensions = " + ArrayAttr(mapping));
}

Value Builder::Broadcast(Value x, IntArrayRef dims) {
  if (IntArrayRef(x.dims()) == dims) return x;
  const int64_t rank = static_cast<int64_t>(dims.size());
  TORCH_INTERNAL_ASSERT(rank >= x.rank(), "broadcast: ", TypeText(x.type()), " to ",
                        ToString(dims));
  Dims mapping(x.rank());
  std::iota(mapping.begin(), mapping.end(), rank - x.rank());
  return BroadcastInDim(x, dims, mapping);
}

Value Builder::Slice(Value x, IntArrayRef start, IntArrayRef limit, IntArrayRef strides) {
  Dims steps(strides);
  if (steps.empty()) steps.assign(x.rank(), 1);
  Dims dims;
  bool whole = true;
  for (int64_t i = 0; i < x.rank(); ++i) {
    TORCH_INTERNAL_ASSERT(0 <= start[i] && start[i] <= limit[i] && limit[i] <= x.dim(i),
                          "slice: ", ToString(start), " to ", ToString(limit), " of ",
                          TypeText(x.type()));
    whole = whole && start[i] == 0 && limit[i] == x.dim(i) && steps[i] == 1;
    dims.push_back((limit[i] - start[i] + steps[i] - 1) / steps[i]);
  }
  if (whole) return x;
  return Emit1("slice", {x}, {x.dtype(), dims},
               fmt::format("start_indices = {}, limit_indices = {}, strides = {}", ArrayAttr(start),
                           ArrayAttr(limit), ArrayAttr(steps)));
}

Value Builder::SliceDim(Value x, int64_t dim, int64_t start, int64_t limit, int64_t stride) {
  Dims low(x.rank(), 0), high = x.dims(), steps(x.rank(), 1);
  if (dim < 0) dim += x.rank();
  low[dim] = start;
  high[dim] = limit;
  steps[dim] = stride;
  return Slice(x, low, high, steps);
}

Value Builder::DynamicSlice(Value x, ValueRef starts, IntArrayRef sizes) {
  Values operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return Emit1("dynamic_slice", operands, {x.dtype(), Dims(sizes)},
               "slice_sizes = " + ArrayAttr(sizes));
}

Value Builder::DynamicUpdateSlice(Value x, Value update, ValueRef starts) {
  Values operands = {x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return Emit1("dynamic_update_slice", operands, x.type());
}

Value Builder::Concatenate(ValueRef xs, int64_t dim) {
  if (xs.size() == 1) return xs[0];
  Type type = xs[0].type();
  if (dim < 0) dim += xs[0].rank();
  type.dims[dim] = 0;
  for (const Value& x : xs) type.dims[dim] += x.dim(dim);
  return Emit1("concatenate", xs, type, fmt::format("dimension = {} : i64", dim));
}

Value Builder::Pad(Value x, Value value, IntArrayRef low, IntArrayRef high, IntArrayRef interior) {
  Dims inner(interior);
  if (inner.empty()) inner.assign(x.rank(), 0);
  Dims dims;
  bool nothing = true;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const int64_t n = x.dim(i);
    dims.push_back(low[i] + n + high[i] + (n > 0 ? (n - 1) * inner[i] : 0));
    nothing = nothing && low[i] == 0 && high[i] == 0 && inner[i] == 0;
  }
  if (nothing) return x;
  return Emit1("pad", {x, value}, {x.dtype(), dims},
               fmt::format("edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}",
                           ArrayAttr(low), ArrayAttr(high), ArrayAttr(inner)));
}

Value Builder::Reverse(Value x, IntArrayRef dims) {
  if (dims.empty()) return x;
  return Emit1("reverse", {x}, x.type(), "dimensions = " + ArrayAttr(dims));
}

Value Builder::Gather(Value x, Value indices, const GatherDims& d) {
  // Result: batch dimensions of `indices` (without the index vector) around the offset dimensions.
  Dims batch;
  for (int64_t i = 0; i < indices.rank(); ++i) {
    if (i != d.index_vector_dim) batch.push_back(indices.dim(i));
  }
  Dims window;
  auto contains = [](const Dims& list, int64_t v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  };
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (!contains(d.collapsed_dims, i) && !contains(d.operand_batching, i)) {
      window.push_back(d.slice_sizes[i]);
    }
  }
  Dims dims(batch.size() + window.size());
  size_t next_batch = 0, next_window = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] = contains(d.offset_dims, static_cast<int64_t>(i)) ? window[next_window++]
                                                               : batch[next_batch++];
  }
  return Emit1(
      "gather", {x, indices}, {x.dtype(), dims},
      fmt::format("dimension_numbers = #stablehlo.gather<offset_dims = {}, "
                  "collapsed_slice_dims = {}, operand_batching_dims = {}, "
                  "start_indices_batching_dims = {}, start_index_map = {}, "
                  "index_vector_dim = {}>, slice_sizes = {}, indices_are_sorted = {}",
                  ListText(d.offset_dims), ListText(d.collapsed_dims), ListText(d.operand_batching),
                  ListText(d.indices_batching), ListText(d.start_index_map), d.index_vector_dim,
                  ArrayAttr(d.slice_sizes), d.sorted));
}

Values Builder::Scatter(ValueRef xs, Value indices, ValueRef updates, const ScatterDims& d,
                        const Region& combine) {
  Values operands = xs.vec();
  operands.push_back(indices);
  operands.insert(operands.end(), updates.begin(), updates.end());
  std::vector<Type> results, arguments;
  for (const Value& x : xs) results.push_back(x.type());
  for (int half = 0; half < 2; ++half) {
    for (const Value& x : xs) arguments.push_back({x.dtype(), {}});
  }
  return Emit("scatter", operands, results,
              fmt::format("scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {}, "
                          "inserted_window_dims = {}, input_batching_dims = {}, "
                          "scatter_indices_batching_dims = {}, "
                          "scatter_dims_to_operand_dims = {}, index_vector_dim = {}>, "
                          "indices_are_sorted = {}, unique_indices = {}",
                          ListText(d.update_window_dims), ListText(d.inserted_dims),
                          ListText(d.operand_batching), ListText(d.indices_batching),
                          ListText(d.scatter_to_operand), d.index_vector_dim, d.sorted, d.unique),
              {RegionText(arguments, combine)});
}

}  // namespace torch_tpu::hlo
