// Sorting and order statistics: sort, topk, kthvalue, median, mode.
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/sorting.h"

namespace torch_tpu::lowering {

Value Before(Builder& b, Value x, Value y, bool descending) {
  if (descending) std::swap(x, y);
  const Value less = b.Lt(x, y);
  if (!IsFloat(x.dtype())) return less;
  // Written for x < y in ascending order; swapped above, NaN comes first.
  return b.Or(less, b.And(b.Ne(y, y), b.Eq(x, x)));
}

Sorted SortAlong(Builder& b, Value x, int64_t dim, bool descending) {
  if (x.rank() == 0 || x.numel() == 0) return {x, b.Constant(DType::Int, 0, x.dims())};
  const Value place = IotaLike(b, DType::Int, x.dims(), dim);
  const Value key = IsBool(x.dtype()) ? b.Convert(x, DType::Byte) : x;
  const Values sorted = b.Sort({key, place}, dim, true, [&](Builder& b, hlo::ValueRef v) -> Values {
    return {Before(b, v[0], v[1], descending)};
  });
  return {b.Convert(sorted[0], x.dtype()), sorted[1]};
}

Sorted TopAlong(Builder& b, Value x, int64_t dim, int64_t k, bool descending) {
  const DType type = x.dtype();
  const bool exact_in_float32 = IsFloat(type) ? type != DType::Double : c10::elementSize(type) <= 2;
  if (!exact_in_float32 || k == 0 || k == x.dim(dim)) {
    const Sorted s = SortAlong(b, x, dim, descending);
    return {b.SliceDim(s.values, dim, 0, k), b.SliceDim(s.indices, dim, 0, k)};
  }
  // chlo.top_k takes the largest by total order: one zero, and NaN above or below everything.
  Value key = b.Convert(x, DType::Float);
  const Value nan = b.Ne(key, key), zero = b.ConstantLike(key, 0);
  if (!descending) key = -key;
  key = b.Select(b.Eq(key, zero), zero, key);
  const double quiet = std::numeric_limits<double>::quiet_NaN();
  key = b.Select(nan, b.ConstantLike(key, descending ? quiet : -quiet), key);
  Dims to_last(x.rank());  // its own inverse
  std::iota(to_last.begin(), to_last.end(), 0);
  std::swap(to_last[dim], to_last.back());
  key = b.Transpose(key, to_last);
  Dims dims = key.dims();
  dims.back() = k;
  const std::vector<hlo::Type> types = {{DType::Float, dims}, {DType::Int, dims}};
  const Value top = b.Raw("chlo.top_k", {key}, types, "k = " + std::to_string(k) + " : i64")[1];
  const Value indices = b.Transpose(top, to_last);
  return {GatherAlong(b, x, dim, indices), indices};
}

void CheckOrdered(const OpCall& call, DType dtype) {
  TORCH_CHECK(!IsComplex(dtype), call.name(), ": expected a type with an order, got ",
              DTypeName(dtype));
}

namespace {

Value Long(Builder& b, Value x) { return b.Convert(x, DType::Long); }

Values SortRow(Builder& b, const OpCall& call, int dim_arg, int descending_arg) {
  const Value self = call.Tensor(0);
  CheckOrdered(call, self.dtype());
  const int64_t dim = call.Dim(dim_arg, self.rank());
  const Sorted s = SortAlong(b, self, dim, call.Bool(descending_arg));
  return {s.values, Long(b, s.indices)};
}

// aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
Values Sort(Builder& b, const OpCall& call) { return SortRow(b, call, 1, 2); }

// aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)
//   -> (Tensor values, Tensor indices)
Values SortStable(Builder& b, const OpCall& call) { return SortRow(b, call, 2, 3); }

// aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)
//   -> (Tensor values, Tensor indices)
Values TopK(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckOrdered(call, self.dtype());
  TORCH_CHECK(!IsBool(self.dtype()), call.name(), ": expected numbers, got bool");
  const int64_t k = call.Int(1), dim = call.Dim(2, self.rank());
  const int64_t n = self.rank() == 0 ? 1 : self.dim(dim);
  TORCH_CHECK(k >= 0 && k <= n, call.name(), ": expected k in [0, ", n, "], got ", k);
  if (self.rank() == 0) return {self, b.Constant(DType::Long, 0)};
  const Sorted s = TopAlong(b, self, dim, k, call.Bool(3));
  return {s.values, Long(b, s.indices)};
}

// One element of each sorted slice: its value and index, with the dimension dropped or kept as 1.
Values PickAt(Builder& b, const Sorted& s, int64_t dim, Value place, const Dims& result) {
  const Value at = b.Reshape(place, [&] {
    Dims dims = s.values.dims();
    dims[dim] = 1;
    return dims;
  }());
  return {b.Reshape(GatherAlong(b, s.values, dim, at), result),
          Long(b, b.Reshape(GatherAlong(b, s.indices, dim, at), result))};
}

Dims Reduced(Dims dims, int64_t dim, bool keep_dim) {
  if (dims.empty()) return dims;
  if (keep_dim) {
    dims[dim] = 1;
  } else {
    dims.erase(dims.begin() + dim);
  }
  return dims;
}

// aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False)
//   -> (Tensor values, Tensor indices)
Values KthValue(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckOrdered(call, self.dtype());
  const int64_t k = call.Int(1), dim = call.Dim(2, self.rank());
  const int64_t n = self.rank() == 0 ? 1 : self.dim(dim);
  TORCH_CHECK_INDEX(n > 0, call.name(), ": expected a dimension ", dim,
                    " of non-zero size, got shape ", ToString(self.dims()));
  TORCH_CHECK(k >= 1 && k <= n, call.name(), ": expected k in [1, ", n, "], got ", k);
  if (self.rank() == 0) return {self, b.Constant(DType::Long, 0)};
  const Sorted s = SortAlong(b, self, dim, false);
  const Dims result = Reduced(self.dims(), dim, call.Bool(3));
  return {b.Reshape(b.SliceDim(s.values, dim, k - 1, k), result),
          Long(b, b.Reshape(b.SliceDim(s.indices, dim, k - 1, k), result))};
}

// The lower median of each slice. With NaN in it: NaN at its first place, or the median of the
// rest.
Values MedianAlong(Builder& b, const OpCall& call, Value x, int64_t dim, bool keep_dim,
                   bool ignore_nan) {
  CheckOrdered(call, x.dtype());
  if (x.rank() == 0) return {x, b.Constant(DType::Long, 0)};
  TORCH_CHECK_INDEX(x.dim(dim) > 0, call.name(), ": expected a dimension ", dim,
                    " of non-zero size, got shape ", ToString(x.dims()));
  const Dims result = Reduced(x.dims(), dim, keep_dim);
  if (NumElements(result) == 0) return {Zeros(b, x.dtype(), result), Zeros(b, DType::Long, result)};
  const Sorted s = SortAlong(b, x, dim, false);
  const Value valid = b.Convert(b.Not(IsNaN(b, x)), DType::Int);
  const Value count = b.Reduce("add", valid, b.Constant(DType::Int, 0), {dim});
  const Value one = b.ConstantLike(count, 1), two = b.ConstantLike(count, 2);
  const Value zero = b.ConstantLike(count, 0), n = b.ConstantLike(count, x.dim(dim));
  // NaN sorts last and stably, so the first one stands at `count`.
  Value middle = b.Div(b.Max(count - one, zero), two);
  if (!ignore_nan) middle = b.Select(b.Lt(count, n), count, b.Div(n - one, two));
  return PickAt(b, s, dim, middle, result);
}

// aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
template <bool ignore_nan>
Values MedianDim(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  return MedianAlong(b, call, self, call.Dim(1, self.rank()), call.Bool(2), ignore_nan);
}

// aten::median(Tensor self) -> Tensor
template <bool ignore_nan>
Value Median(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  if (self.numel() == 0) {
    // As PyTorch: NaN, or the smallest integer.
    return IsFloat(self.dtype()) ? b.NaN(self.dtype()) : b.LowestOf(self.dtype());
  }
  return MedianAlong(b, call, b.Reshape(self, {self.numel()}), 0, false, ignore_nan)[0];
}

// aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
Values Mode(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckOrdered(call, self.dtype());
  const int64_t dim = call.Dim(1, self.rank());
  if (self.rank() == 0) return {self, b.Constant(DType::Long, 0)};
  const int64_t n = self.dim(dim);
  const Dims result = Reduced(self.dims(), dim, call.Bool(2));
  TORCH_CHECK_INDEX(n > 0, call.name(), ": expected a dimension ", dim,
                    " of non-zero size, got shape ", ToString(self.dims()));
  if (NumElements(result) == 0) {
    return {Zeros(b, self.dtype(), result), Zeros(b, DType::Long, result)};
  }
  const Sorted s = SortAlong(b, self, dim, false);
  // Length of the run of equal values that ends at each place: place - start of the run.
  const Value place = IotaLike(b, DType::Int, self.dims(), dim);
  Value start = place;
  if (n > 1) {
    const Value key = IsBool(self.dtype()) ? b.Convert(s.values, DType::Byte) : s.values;
    const Value changed = b.Ne(b.SliceDim(key, dim, 1, n), b.SliceDim(key, dim, 0, n - 1));
    Dims low(self.rank(), 0), none(self.rank(), 0);
    low[dim] = 1;
    const Value starts = b.Pad(changed, b.Constant(DType::Bool, true), low, none);
    start = RunningMaximum(b, b.Select(starts, place, b.ConstantLike(place, 0)), dim);
  }
  // The longest run, the first of them when several are: the smallest value. Its last place is the
  // largest index of that value.
  const Value length = place - start;
  const Values best = b.Reduce(
      {length, place}, {b.Constant(DType::Int, -1), b.Constant(DType::Int, 0)}, {dim},
      [](Builder& b, hlo::ValueRef v) -> Values {
        const Value better = b.Or(b.Gt(v[2], v[0]), b.And(b.Eq(v[2], v[0]), b.Lt(v[3], v[1])));
        return {b.Select(better, v[2], v[0]), b.Select(better, v[3], v[1])};
      });
  return PickAt(b, s, dim, best[1], result);
}

}  // namespace

OpRows SortRows() {
  return {
      {"aten::sort", Sort},
      {"aten::sort.stable", SortStable},
      {"aten::topk", TopK},
      {"aten::kthvalue", KthValue, {.disjoint = true}},
      {"aten::median", Median<false>},
      {"aten::median.dim", MedianDim<false>},
      {"aten::nanmedian", Median<true>},
      {"aten::nanmedian.dim", MedianDim<true>},
      {"aten::mode", Mode},
  };
}

}  // namespace torch_tpu::lowering
