#include "lowering/indexing.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <limits>
#include <numeric>

namespace torch_tpu::lowering {

Value CheckedIndex(Builder& b, const OpCall& call, Value index, int64_t size, Negative negative) {
  const DType type = index.dtype();
  TORCH_CHECK_INDEX(type == DType::Long || type == DType::Int, call.name(),
                    ": expected an index of type int64 or int32, got ", DTypeName(type));
  constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
  if (index.numel() == 0) return b.Convert(index, size <= kInt32Max ? DType::Int : DType::Long);
  TORCH_CHECK_INDEX(size > 0, call.name(),
                    ": expected no index into a dimension of size 0, got an index of shape ",
                    ToString(index.dims()));
  if (size > kInt32Max) index = b.Convert(index, DType::Long);
  const bool wraps = negative == Negative::kWraps;
  const Value zero = b.ConstantLike(index, 0), limit = b.ConstantLike(index, size);
  const Value lowest = wraps ? b.ConstantLike(index, -size) : zero;
  call.RequireIndex(
      All(b, b.And(b.Ge(index, lowest), b.Lt(index, limit))),
      fmt::format("index out of range: expected {} <= index < {}", wraps ? -size : 0, size));
  if (wraps) index = b.Select(b.Lt(index, zero), index + limit, index);
  return b.Convert(index, size <= kInt32Max ? DType::Int : DType::Long);
}

Value TakeAlong(Builder& b, Value x, int64_t dim, Value index) {
  hlo::GatherDims d;
  Dims dims;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i == dim) {
      dims.append(index.dims().begin(), index.dims().end());
    } else {
      d.offset_dims.push_back(static_cast<int64_t>(dims.size()));
      dims.push_back(x.dim(i));
    }
  }
  if (NumElements(dims) == 0) return Zeros(b, x.dtype(), dims);
  d.collapsed_dims = {dim};
  d.start_index_map = {dim};
  d.index_vector_dim = index.rank();
  d.slice_sizes = x.dims();
  d.slice_sizes[dim] = 1;
  return b.Gather(x, index, d);
}

namespace {

Dims AllBut(int64_t rank, int64_t dim) {
  Dims others;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != dim) others.push_back(i);
  }
  return others;
}

// The corner of x that `index` speaks of: cut to its sizes except along `dim`.
Value Corner(Builder& b, Value x, int64_t dim, const Dims& sizes) {
  Dims limit = sizes;
  limit[dim] = x.dim(dim);
  return b.Slice(x, Dims(x.rank(), 0), limit);
}

}  // namespace

Value GatherAlong(Builder& b, Value x, int64_t dim, Value index) {
  if (index.numel() == 0) return Zeros(b, x.dtype(), index.dims());
  if (x.rank() == 0) return b.Reshape(b.Broadcast(x, {index.numel()}), index.dims());
  hlo::GatherDims d;
  d.collapsed_dims = {dim};
  d.start_index_map = {dim};
  d.operand_batching = d.indices_batching = AllBut(x.rank(), dim);
  d.index_vector_dim = index.rank();
  d.slice_sizes = Dims(x.rank(), 1);
  return b.Gather(Corner(b, x, dim, index.dims()), index, d);
}

Value IdentityOf(Builder& b, Combine combine, DType dtype, IntArrayRef dims) {
  switch (combine) {
    case Combine::kProduct:
      return b.Constant(dtype, 1, dims);
    case Combine::kMaximum:
      return b.LowestOf(dtype, dims);
    case Combine::kMinimum:
      return b.HighestOf(dtype, dims);
    default:
      return b.Constant(dtype, 0, dims);
  }
}

Value CombineValues(Builder& b, Combine combine, Value old, Value update) {
  const bool logical = IsBool(old.dtype());
  switch (combine) {
    case Combine::kReplace:
      return update;
    case Combine::kSum:
      return logical ? b.Or(old, update) : old + update;
    case Combine::kProduct:
      return logical ? b.And(old, update) : old * update;
    case Combine::kMaximum:
      return logical ? b.Or(old, update) : b.Max(old, update);
    case Combine::kMinimum:
      return logical ? b.And(old, update) : b.Min(old, update);
  }
  TORCH_INTERNAL_ASSERT(false);
}

Value ScatterInto(Builder& b, Value x, Value index, Value updates, const hlo::ScatterDims& dims,
                  Combine combine) {
  if (updates.numel() == 0 || x.numel() == 0) return x;
  return b.Scatter({x}, index, {updates}, dims, [&](Builder& b, hlo::ValueRef v) -> Values {
    return {CombineValues(b, combine, v[0], v[1])};
  })[0];
}

Value ScatterSlices(Builder& b, Value x, int64_t dim, Value index, Value updates, Combine combine) {
  hlo::ScatterDims d;
  d.update_window_dims = AllBut(x.rank(), dim);
  d.inserted_dims = {dim};
  d.scatter_to_operand = {dim};
  d.index_vector_dim = 1;
  // The index vector's dimension is where the updates have `dim`; all others are windows.
  return ScatterInto(b, x, index, updates, d, combine);
}

Value ScatterAlong(Builder& b, Value x, int64_t dim, Value index, Value updates, Combine combine) {
  if (updates.numel() == 0 || x.numel() == 0) return x;
  if (x.rank() == 0) {
    // Every entry of the index is 0: with a 0-d or 1-element index there is one update.
    return b.Reshape(ScatterAlong(b, b.Reshape(x, {1}), 0, b.Reshape(index, {index.numel()}),
                                  b.Reshape(updates, {updates.numel()}), combine),
                     {});
  }
  hlo::ScatterDims d;
  d.inserted_dims = {dim};
  d.scatter_to_operand = {dim};
  d.operand_batching = d.indices_batching = AllBut(x.rank(), dim);
  d.index_vector_dim = index.rank();
  const Value corner = Corner(b, x, dim, index.dims());
  const Value scattered = ScatterInto(b, corner, index, updates, d, combine);
  if (corner.dims() == x.dims()) return scattered;
  return b.DynamicUpdateSlice(x, scattered, Values(x.rank(), b.Constant(DType::Int, 0)));
}

ScatterReduction ParseReduction(const OpCall& call, std::string_view name, bool include_self) {
  if (name == "sum" || name == "add") return {Combine::kSum, false, include_self};
  if (name == "prod" || name == "multiply") return {Combine::kProduct, false, include_self};
  if (name == "mean") return {Combine::kSum, true, include_self};
  if (name == "amax") return {Combine::kMaximum, false, include_self};
  if (name == "amin") return {Combine::kMinimum, false, include_self};
  TORCH_CHECK(false, call.name(), ": expected reduce to be sum, prod, mean, amax or amin, got ",
              name);
}

Value ScatterReduce(Builder& b, Value x, int64_t dim, Value index, Value updates,
                    const ScatterReduction& reduction,
                    Value (*scatter)(Builder&, Value, int64_t, Value, Value, Combine)) {
  if (updates.numel() == 0 || x.numel() == 0) return x;
  const DType compute = AccumulateType(x.dtype());
  const Value self = b.Convert(x, compute), source = b.Convert(updates, compute);
  const Combine combine = reduction.combine;
  const Value start = reduction.include_self ? self : IdentityOf(b, combine, compute, self.dims());
  Value result = scatter(b, start, dim, index, source, combine);
  if (reduction.mean || !reduction.include_self) {
    const Value ones = b.Constant(DType::Int, 1, updates.dims());
    const Value count =
        scatter(b, b.Constant(DType::Int, 0, x.dims()), dim, index, ones, Combine::kSum);
    const Value touched = b.Gt(count, b.ConstantLike(count, 0));
    if (reduction.mean) {
      const Value met = reduction.include_self ? count + 1 : b.Max(count, b.ConstantLike(count, 1));
      const Value divisor = b.Convert(met, compute);
      Value quotient = result / divisor;
      if (IsInteger(compute) && !IsUnsigned(compute)) {  // floor, not truncation
        const Value zero = b.ConstantLike(result, 0);
        const Value below = b.And(b.Lt(result, zero), b.Ne(b.Rem(result, divisor), zero));
        quotient = b.Select(below, quotient - 1, quotient);
      }
      result = quotient;
    }
    if (!reduction.include_self) result = b.Select(touched, result, self);
  }
  return b.Convert(result, x.dtype());
}

Value AtLeast1d(Builder& b, Value x) { return x.rank() == 0 ? b.Reshape(x, {1}) : x; }

Value ExpandTo(Builder& b, const OpCall& call, Value x, IntArrayRef dims, std::string_view what) {
  const int64_t rank = static_cast<int64_t>(dims.size());
  bool fits = x.rank() <= rank;
  for (int64_t i = 0; fits && i < x.rank(); ++i) {
    fits = x.dim(i) == 1 || x.dim(i) == dims[rank - x.rank() + i];
  }
  TORCH_CHECK(fits, call.name(), ": expected ", what, " of a shape that expands to ",
              ToString(dims), ", got ", ToString(x.dims()));
  return b.Broadcast(x, dims);
}

Value Zeros(Builder& b, DType dtype, IntArrayRef dims) { return b.Constant(dtype, 0, dims); }

namespace {

// Inclusive scan by doubling steps: log2(n) shifted combinations. 0 is the identity of both.
Value DoublingScan(Builder& b, Value x, int64_t dim, const char* op) {
  const Value zero = b.Constant(x.dtype(), 0);
  for (int64_t step = 1; step < x.dim(dim); step *= 2) {
    Dims low(x.rank(), 0), none(x.rank(), 0);
    low[dim] = step;
    const Value before = b.Pad(b.SliceDim(x, dim, 0, x.dim(dim) - step), zero, low, none);
    // Steps fused into one another would compute every element n times.
    x = b.OptimizationBarrier({b.Binary(op, before, x)})[0];
  }
  return x;
}

Value BlockedScan(Builder& b, Value x, int64_t dim, const char* op) {
  constexpr int64_t kBlock = 32;
  const int64_t n = x.dim(dim);
  if (n <= 2 * kBlock || x.numel() == 0) return DoublingScan(b, x, dim, op);
  // Blocks of kBlock: scans inside, then the scan of the blocks' totals in front of each.
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  Dims none(x.rank(), 0), high(x.rank(), 0), split = x.dims();
  high[dim] = blocks * kBlock - n;
  split[dim] = blocks;
  split.insert(split.begin() + dim + 1, kBlock);
  const Value zero = b.Constant(x.dtype(), 0);
  const Value inside = DoublingScan(b, b.Reshape(b.Pad(x, zero, none, high), split), dim + 1, op);
  const Value last = b.SliceDim(inside, dim + 1, kBlock - 1, kBlock);
  Dims total_dims = x.dims();
  total_dims[dim] = blocks;
  const Value totals = BlockedScan(b, b.Reshape(last, total_dims), dim, op);
  Dims low(x.rank(), 0);
  low[dim] = 1;
  const Value before = b.Pad(b.SliceDim(totals, dim, 0, blocks - 1), zero, low, none);
  Dims mapping;
  for (int64_t i = 0; i < x.rank(); ++i) mapping.push_back(i <= dim ? i : i + 1);
  const Value all = b.Binary(op, b.BroadcastInDim(before, split, mapping), inside);
  Dims flat = x.dims();
  flat[dim] = blocks * kBlock;
  return b.SliceDim(b.Reshape(all, flat), dim, 0, n);
}

}  // namespace

Value RunningSum(Builder& b, Value x, int64_t dim) { return BlockedScan(b, x, dim, "add"); }

Value RunningMaximum(Builder& b, Value x, int64_t dim) { return BlockedScan(b, x, dim, "maximum"); }

}  // namespace torch_tpu::lowering
