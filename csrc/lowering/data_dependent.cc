// Ops whose result's size depends on the data. A row returns the largest possible result, and how
// much of it counts; the eager room reads the count and keeps that prefix.
#include <c10/util/Exception.h>

#include <limits>

#include "lowering/compaction.h"
#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/sorting.h"

namespace torch_tpu::lowering {
namespace {

Value Flat(Builder& b, Value x) { return b.Reshape(x, {x.numel()}); }

// Row-major places as coordinates: int64 [n, rank].
Value Coordinates(Builder& b, Value places, const Dims& sizes) {
  const Dims strides = RowMajorStrides(sizes);
  Values columns;
  const int64_t n = places.numel();
  for (size_t i = 0; i < sizes.size(); ++i) {
    Value column = places;
    if (strides[i] > 1) column = b.Div(column, b.ConstantLike(column, strides[i]));
    if (i > 0) column = b.Rem(column, b.ConstantLike(column, sizes[i]));
    columns.push_back(b.Reshape(b.Convert(column, DType::Long), {n, 1}));
  }
  if (columns.empty()) return Zeros(b, DType::Long, {n, 0});
  return b.Concatenate(columns, 1);
}

// tpu::nonzero_padded(Tensor self) -> (Tensor indices, Tensor count)
// int64 [numel, rank] in row-major order and int64 0-d.
Values NonzeroPadded(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const Compaction kept = Compact(b, Flat(b, b.Convert(self, DType::Bool)));
  if (self.numel() == 0) {
    return {Zeros(b, DType::Long, {0, self.rank()}), b.Constant(DType::Long, 0)};
  }
  return {Coordinates(b, kept.positions, self.dims()), b.Convert(kept.count, DType::Long)};
}

// aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor
Value NonzeroStatic(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const int64_t size = call.Int(1);
  TORCH_CHECK(size >= 0, call.name(), ": expected size >= 0, got ", size);
  const Value fill = b.Constant(DType::Long, call.Int(2), {size, self.rank()});
  if (fill.numel() == 0 || self.numel() == 0) return fill;
  const Compaction kept = Compact(b, Flat(b, b.Convert(self, DType::Bool)));
  Value places = kept.positions;
  const int64_t n = places.numel();
  places = size <= n ? b.SliceDim(places, 0, 0, size)
                     : b.Pad(places, b.Constant(DType::Int, 0), {0}, {size - n});
  const Value valid =
      b.Lt(b.Iota(DType::Int, fill.dims(), 0), b.Broadcast(kept.count, fill.dims()));
  return b.Select(valid, Coordinates(b, places, self.dims()), fill);
}

// tpu::masked_select_padded(Tensor self, Tensor mask) -> (Tensor values, Tensor count)
Values MaskedSelectPadded(Builder& b, const OpCall& call) {
  TORCH_CHECK(IsBool(call.Tensor(1).dtype()), "masked_select: expected a bool mask, got ",
              DTypeName(call.Tensor(1).dtype()));
  const Dims dims = BroadcastShape("masked_select", {call.Tensor(0), call.Tensor(1)});
  const Value self = Flat(b, b.Broadcast(call.Tensor(0), dims));
  const Compaction kept = Compact(b, Flat(b, b.Broadcast(call.Tensor(1), dims)));
  return {TakeAlong(b, self, 0, kept.positions), b.Convert(kept.count, DType::Long)};
}

// aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor
// The eager room reads the sum of the repeats where no output_size is given.
Value RepeatInterleave(Builder& b, const OpCall& call) {
  const Value repeats = call.Tensor(0);
  TORCH_CHECK(repeats.rank() == 1, call.name(), ": expected repeats of 1 dimension, got ",
              ToString(repeats.dims()));
  TORCH_CHECK(repeats.dtype() == DType::Long || repeats.dtype() == DType::Int, call.name(),
              ": expected int32 or int64 repeats, got ", DTypeName(repeats.dtype()));
  TORCH_CHECK(!call.IsNone(1), call.name(), ": expected an output_size, got None");
  const int64_t size = call.Int(1), n = repeats.numel();
  TORCH_CHECK(size >= 0, call.name(), ": expected output_size >= 0, got ", size);
  if (n == 0) {
    TORCH_CHECK(size == 0, call.name(), ": expected output_size 0 without repeats, got ", size);
    return Zeros(b, repeats.dtype(), {0});
  }
  const Value ends = RunningSum(b, repeats, 0);
  const Value total = b.Reshape(b.SliceDim(ends, 0, n - 1, n), {});
  call.Require(b.Eq(total, b.ConstantLike(total, size)),
               "expected repeats that sum to output_size " + std::to_string(size));
  call.Require(All(b, b.Ge(repeats, b.ConstantLike(repeats, 0))), "expected no negative repeats");
  if (size == 0) return Zeros(b, repeats.dtype(), {0});
  // Entry j belongs to the number of repeats that end at or before j.
  const Value marks = ScatterSlices(b, Zeros(b, DType::Int, {size}), 0, ends,
                                    b.Constant(DType::Int, 1, {n}), Combine::kSum);
  return b.Convert(RunningSum(b, marks, 0), repeats.dtype());
}

// Sorted or consecutive slices: where a new group starts, and from where each one came.
struct Groups {
  Value starts;  // bool [n]
  Value origin;  // int32 [n]; undefined when nothing was moved
};

// `same` says whether slices k-1 and k are equal, for k in 1 .. n-1.
Value StartsFrom(Builder& b, Value same) {
  return b.Pad(b.Not(same), b.Constant(DType::Bool, true), {1}, {0});
}

// Values, inverse, counts (both int64) and the number of groups of `x` along `dim`.
Values UniqueFrom(Builder& b, Value x, int64_t dim, const Groups& groups,
                  const Dims& inverse_dims) {
  const int64_t n = groups.starts.numel();
  const Value group = RunningSum(b, b.Convert(groups.starts, DType::Int), 0) - 1;
  const Compaction firsts = Compact(b, groups.starts);
  Value inverse = group, first = firsts.positions;
  if (groups.origin.defined()) {
    inverse =
        ScatterSlices(b, Zeros(b, DType::Int, {n}), 0, groups.origin, group, Combine::kReplace);
    first = TakeAlong(b, groups.origin, 0, firsts.positions);
  }
  // A group ends where the next one starts; the last one at n.
  const Value place = b.Iota(DType::Int, {n}, 0);
  const Value next =
      b.Pad(b.SliceDim(firsts.positions, 0, 1, n), b.Constant(DType::Int, 0), {0}, {1});
  const Value is_last = b.Ge(place + 1, b.Broadcast(firsts.count, {n}));
  const Value end = b.Select(is_last, b.ConstantLike(next, n), next);
  return {TakeAlong(b, x, dim, first), b.Reshape(b.Convert(inverse, DType::Long), inverse_dims),
          b.Convert(end - firsts.positions, DType::Long), b.Convert(firsts.count, DType::Long)};
}

// Rows [n, m] in lexicographic order: stable sorts from the last column to the first.
Value LexicographicOrder(Builder& b, Value rows) {
  const int64_t n = rows.dim(0), m = rows.dim(1);
  const Values ordered = b.While(
      {b.Constant(DType::Int, m - 1), b.Iota(DType::Int, {n}, 0), rows},
      [](Builder& b, hlo::ValueRef s) -> Values { return {b.Ge(s[0], b.ConstantLike(s[0], 0))}; },
      [n](Builder& b, hlo::ValueRef s) -> Values {
        const Value column =
            b.Reshape(b.DynamicSlice(s[2], {b.Constant(DType::Int, 0), s[0]}, {n, 1}), {n});
        const Values sorted = b.Sort(
            {TakeAlong(b, column, 0, s[1]), s[1]}, 0, true,
            [](Builder& b, hlo::ValueRef v) -> Values { return {Before(b, v[0], v[1], false)}; });
        return {s[0] - 1, sorted[1], s[2]};
      });
  return ordered[1];
}

// tpu::unique_padded(Tensor self, int? dim, bool consecutive)
//   -> (Tensor values, Tensor inverse, Tensor counts, Tensor count)
// Without a dim the elements of the flattened tensor, otherwise slices along it; sorted, or in
// order with only neighbours compared. NaN equals nothing.
Values UniquePadded(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckDtype("unique", self.dtype(), Accept::kReal);
  const bool consecutive = call.Bool(2), flat = call.IsNone(1);
  const Value x = flat ? Flat(b, self) : self;
  const int64_t dim = flat ? 0 : call.Dim(1, self.rank());
  TORCH_CHECK(x.rank() > 0, "unique: expected at least one dimension, got []");
  const int64_t n = x.dim(dim);
  const Dims inverse_dims = flat ? self.dims() : Dims{n};
  TORCH_CHECK(n < std::numeric_limits<int32_t>::max(),
              "unique: expected fewer than 2^31 elements, got ", n);
  if (n == 0) {
    return {x, Zeros(b, DType::Long, inverse_dims), Zeros(b, DType::Long, {0}),
            b.Constant(DType::Long, 0)};
  }
  TORCH_CHECK(x.numel() > 0, "unique: expected slices along dimension ", dim,
              " that have elements, got shape ", ToString(x.dims()));
  // Rows [n, m], bools as bytes.
  Dims order = {dim};
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != dim) order.push_back(i);
  }
  Value rows = b.Reshape(b.Transpose(x, order), {n, x.numel() / n});
  if (IsBool(rows.dtype())) rows = b.Convert(rows, DType::Byte);
  Groups groups;
  if (!consecutive && rows.dim(1) == 1) {
    const Sorted sorted = SortAlong(b, b.Reshape(rows, {n}), 0, false);
    groups.origin = sorted.indices;
    rows = b.Reshape(sorted.values, {n, 1});
  } else if (!consecutive) {
    groups.origin = LexicographicOrder(b, rows);
    rows = TakeAlong(b, rows, 0, groups.origin);
  }
  const Value equal = b.Eq(b.SliceDim(rows, 0, 1, n), b.SliceDim(rows, 0, 0, n - 1));
  groups.starts = StartsFrom(b, b.Reduce("and", equal, b.Constant(DType::Bool, true), {1}));
  return UniqueFrom(b, x, dim, groups, inverse_dims);
}

}  // namespace

OpRows DataDependentRows() {
  return {
      {"tpu::nonzero_padded", NonzeroPadded},
      {"aten::nonzero_static", NonzeroStatic},
      {"tpu::masked_select_padded", MaskedSelectPadded},
      {"aten::repeat_interleave.Tensor", RepeatInterleave},
      {"tpu::unique_padded", UniquePadded},
  };
}

}  // namespace torch_tpu::lowering
