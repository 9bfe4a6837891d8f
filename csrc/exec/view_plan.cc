#include "exec/view_plan.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

namespace torch_tpu::exec {
namespace {

using hlo::Builder;
using hlo::Value;
using hlo::Values;

// The index type of linear positions: 32 bits where they fit, which is faster everywhere.
DType IndexType(int64_t elements) { return elements < INT32_MAX ? DType::Int : DType::Long; }

// The start index of every axis, from the run-time offset.
Values Starts(Builder& b, const ViewPlan& plan, Value offset) {
  Values starts;
  for (size_t i = 0; i < plan.extents.size(); ++i) {
    const bool whole = (plan.counts[i] - 1) * plan.steps[i] + 1 == plan.extents[i];
    if (whole || !offset.defined()) {
      starts.push_back(b.Constant(DType::Long, 0));
      continue;
    }
    starts.push_back(b.Rem(b.Div(offset, b.Constant(DType::Long, plan.units[i])),
                           b.Constant(DType::Long, plan.extents[i])));
  }
  return starts;
}

Dims Spans(const ViewPlan& plan) {
  Dims spans;
  for (size_t i = 0; i < plan.extents.size(); ++i) {
    spans.push_back((plan.counts[i] - 1) * plan.steps[i] + 1);
  }
  return spans;
}

// Linear positions of the view's elements in the base, dims: sizes.
Value LinearIndices(Builder& b, IntArrayRef sizes, IntArrayRef strides, Value offset, DType type) {
  Value linear =
      offset.defined() ? b.Broadcast(b.Convert(offset, type), sizes) : b.Constant(type, 0, sizes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1 || strides[i] == 0) continue;
    linear = linear + b.Mul(b.Iota(type, sizes, i), b.Constant(type, strides[i], sizes));
  }
  return linear;
}

// The permutation that brings the plan's axes (those with a view dimension) into view order.
Dims AxisOrder(const ViewPlan& plan) {
  Dims axes;
  for (size_t i = 0; i < plan.view_dims.size(); ++i) {
    if (plan.view_dims[i] >= 0) axes.push_back(i);
  }
  std::sort(axes.begin(), axes.end(),
            [&](int64_t x, int64_t y) { return plan.view_dims[x] < plan.view_dims[y]; });
  return axes;
}

}  // namespace

bool ViewPlan::Fits(int64_t offset) const {
  for (size_t i = 0; i < extents.size(); ++i) {
    const int64_t start = offset / units[i] % extents[i];
    if (start + (counts[i] - 1) * steps[i] >= extents[i]) return false;
  }
  return true;
}

ViewPlan PlanView(IntArrayRef base_dims, IntArrayRef sizes, IntArrayRef strides) {
  ViewPlan plan;
  const int64_t elements = NumElements(base_dims);
  c10::SmallVector<int64_t, 6> order;  // view dimensions that move, largest stride first
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1 && strides[i] != 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t x, int64_t y) { return strides[x] > strides[y]; });
  const Dims base_strides = RowMajorStrides(base_dims);
  int64_t outer = elements;  // elements that one step of the axis before covers
  for (size_t k = 0; k < order.size(); ++k) {
    const int64_t stride = strides[order[k]];
    int64_t unit = 0;
    if (stride <= outer && outer % stride == 0) {
      unit = stride;
    } else {
      // A step of several base rows or columns: the largest base stride that divides both.
      for (int64_t s : base_strides) {
        if (s <= stride && stride % s == 0 && outer % s == 0 && s > unit) unit = s;
      }
      if (unit == 0) return plan;
    }
    plan.extents.push_back(outer / unit);
    plan.units.push_back(unit);
    plan.counts.push_back(sizes[order[k]]);
    plan.steps.push_back(stride / unit);
    plan.view_dims.push_back(order[k]);
    outer = unit;
  }
  if (outer > 1 || plan.extents.empty()) {
    plan.extents.push_back(outer);
    plan.units.push_back(1);
    plan.counts.push_back(1);
    plan.steps.push_back(1);
    plan.view_dims.push_back(-1);
  }
  for (size_t i = 0; i < plan.extents.size(); ++i) {
    const int64_t span = (plan.counts[i] - 1) * plan.steps[i] + 1;
    if (span > plan.extents[i]) return ViewPlan{};
    plan.dynamic = plan.dynamic || span != plan.extents[i];
  }
  plan.slices = true;
  return plan;
}

Value Reinterpret(Builder& b, Value base, DType dtype) {
  const DType from = base.dtype();
  if (from == dtype) return base;
  if (IsComplex(from)) {
    Dims pairs = base.dims();
    pairs.push_back(1);
    Value parts = b.Concatenate({b.Reshape(b.Real(base), pairs), b.Reshape(b.Imag(base), pairs)},
                                static_cast<int64_t>(pairs.size()) - 1);
    return Reinterpret(b, parts, dtype);
  }
  if (IsComplex(dtype)) {
    const Value parts = Reinterpret(b, base, RealType(dtype));
    const Value pairs = b.Reshape(parts, {parts.numel() / 2, 2});
    const int64_t n = pairs.dim(0);
    return b.Complex(b.Reshape(b.SliceDim(pairs, 1, 0, 1), {n}),
                     b.Reshape(b.SliceDim(pairs, 1, 1, 2), {n}));
  }
  if (IsBool(from)) return Reinterpret(b, b.Convert(base, DType::Byte), dtype);
  if (IsBool(dtype)) return b.Convert(Reinterpret(b, base, DType::Byte), DType::Bool);
  const int64_t from_size = c10::elementSize(from), to_size = c10::elementSize(dtype);
  if (from_size == to_size) return b.BitcastConvert(base, dtype);
  if (from_size > to_size) return b.BitcastConvert(base, dtype);
  const int64_t k = to_size / from_size;
  return b.BitcastConvert(b.Reshape(base, {base.numel() / k, k}), dtype);
}

Value ReinterpretAs(Builder& b, Value changed, const hlo::Type& like) {
  return b.Reshape(Reinterpret(b, changed, like.dtype), like.dims);
}

Value ReadView(Builder& b, Value base, IntArrayRef sizes, IntArrayRef strides, const ViewPlan& plan,
               Value offset) {
  if (NumElements(sizes) == 0) return b.Constant(base.dtype(), 0, sizes);
  if (!plan.slices) {
    const DType type = IndexType(base.numel());
    Dims indices_dims(sizes);
    indices_dims.push_back(1);
    const Value indices = b.Reshape(LinearIndices(b, sizes, strides, offset, type), indices_dims);
    hlo::GatherDims dims;
    dims.collapsed_dims = {0};
    dims.start_index_map = {0};
    dims.index_vector_dim = static_cast<int64_t>(sizes.size());
    dims.slice_sizes = {1};
    return b.Gather(b.Reshape(base, {base.numel()}), indices, dims);
  }
  Value x = b.Reshape(base, plan.extents);
  const Dims spans = Spans(plan);
  if (plan.dynamic) x = b.DynamicSlice(x, Starts(b, plan, offset), spans);
  x = b.Slice(x, Dims(spans.size(), 0), spans, plan.steps);
  const Dims order = AxisOrder(plan);
  Dims moving, permutation, kept(sizes), mapping(sizes.size());
  for (size_t i = 0; i < plan.view_dims.size(); ++i) {
    if (plan.view_dims[i] >= 0) moving.push_back(plan.counts[i]);
  }
  x = b.Reshape(x, moving);
  Dims rank_of(plan.view_dims.size());
  int64_t next = 0;
  for (size_t i = 0; i < plan.view_dims.size(); ++i) {
    if (plan.view_dims[i] >= 0) rank_of[i] = next++;
  }
  for (int64_t axis : order) permutation.push_back(rank_of[axis]);
  x = b.Transpose(x, permutation);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] == 0) kept[i] = 1;
  }
  x = b.Reshape(x, kept);
  if (IntArrayRef(kept) == sizes) return x;
  std::iota(mapping.begin(), mapping.end(), 0);
  return b.BroadcastInDim(x, sizes, mapping);
}

Value WriteView(Builder& b, Value base, IntArrayRef sizes, IntArrayRef strides,
                const ViewPlan& plan, Value offset, Value value) {
  if (NumElements(sizes) == 0) return base;
  const Dims base_dims = base.dims();
  if (!plan.slices) {
    const DType type = IndexType(base.numel());
    const int64_t n = NumElements(sizes);
    const Value indices = b.Reshape(LinearIndices(b, sizes, strides, offset, type), {n, 1});
    hlo::ScatterDims dims;
    dims.inserted_dims = {0};
    dims.scatter_to_operand = {0};
    dims.index_vector_dim = 1;
    dims.unique = true;
    const Values written =
        b.Scatter({b.Reshape(base, {base.numel()})}, indices, {b.Reshape(value, {n})}, dims,
                  [](Builder&, hlo::ValueRef args) -> Values { return {args[1]}; });
    return b.Reshape(written[0], base_dims);
  }
  // Undo what ReadView does, from the back.
  const Dims order = AxisOrder(plan);
  Dims moving, rank_of(plan.view_dims.size());
  int64_t next = 0;
  for (size_t i = 0; i < plan.view_dims.size(); ++i) {
    if (plan.view_dims[i] >= 0) rank_of[i] = next++;
  }
  Dims in_view_order, inverse(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    in_view_order.push_back(plan.counts[order[k]]);
    inverse[rank_of[order[k]]] = static_cast<int64_t>(k);
  }
  Value x = b.Transpose(b.Reshape(value, in_view_order), inverse);
  x = b.Reshape(x, plan.counts);
  const Value extended = b.Reshape(base, plan.extents);
  const Dims spans = Spans(plan);
  const Values starts = plan.dynamic ? Starts(b, plan, offset) : Values();
  if (IntArrayRef(plan.counts) != IntArrayRef(spans)) {
    // Steps: spread the values out and keep what lies between them.
    const Dims zeros(spans.size(), 0);
    Dims interior;
    for (int64_t step : plan.steps) interior.push_back(step - 1);
    for (size_t i = 0; i < interior.size(); ++i) {
      if (plan.counts[i] == 1) interior[i] = 0;
    }
    const Value hits = b.Pad(b.Constant(DType::Bool, true, plan.counts),
                             b.Constant(DType::Bool, false), zeros, zeros, interior);
    const Value spread = b.Pad(x, b.Constant(x.dtype(), 0), zeros, zeros, interior);
    const Value old = plan.dynamic ? b.DynamicSlice(extended, starts, spans) : extended;
    x = b.Select(hits, spread, old);
  }
  if (plan.dynamic) x = b.DynamicUpdateSlice(extended, x, starts);
  return b.Reshape(x, base_dims);
}

}  // namespace torch_tpu::exec
