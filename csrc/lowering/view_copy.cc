// The *_copy forms of view ops: the view's elements as a tensor of their own.
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/view_bounds.h"

namespace torch_tpu::lowering {
namespace {

// aten::alias_copy(Tensor self) -> Tensor, and others that keep values and shape.
Value Same(Builder& b, const OpCall& call) { return call.Tensor(0); }

// aten::view_copy(Tensor self, SymInt[] size) -> Tensor
// aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor
// aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor
Value ViewCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  Dims size = call.Ints(1);
  int64_t known = 1;
  const auto open = std::find(size.begin(), size.end(), -1);
  for (int64_t s : size) known *= s == -1 ? 1 : s;
  if (open != size.end() && known > 0) *open = self.numel() / known;
  TORCH_CHECK(std::all_of(size.begin(), size.end(), [](int64_t s) { return s >= 0; }) &&
                  NumElements(size) == self.numel(),
              call.name(), ": expected a size that fits ", self.numel(), " elements, got ",
              ToString(call.Ints(1)));
  return b.Reshape(self, size);
}

// aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor
Value ViewCopyDtype(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const DType dtype = call.Dtype(1);
  const int64_t from = c10::elementSize(self.dtype()), to = c10::elementSize(dtype);
  auto raw = [](DType t) { return IsBool(t) ? DType::Byte : t; };
  auto without_bool = [&](Value x) { return b.Convert(x, raw(x.dtype())); };
  TORCH_CHECK(!IsComplex(self.dtype()) && !IsComplex(dtype), call.name(),
              ": expected real types, got ", DTypeName(self.dtype()), " and ", DTypeName(dtype));
  TORCH_CHECK(from == to || self.rank() > 0, call.name(),
              ": expected types of equal size for a tensor of 0 dimensions, got ",
              DTypeName(self.dtype()), " and ", DTypeName(dtype));
  Dims dims = self.dims();
  Value bits = without_bool(self);
  if (from > to) {
    dims.back() *= from / to;
  } else if (from < to) {
    TORCH_CHECK(dims.back() % (to / from) == 0, call.name(),
                ": expected a last dimension divisible by ", to / from, ", got ", dims.back());
    dims.back() /= to / from;
    Dims split = dims;
    split.push_back(to / from);
    bits = b.Reshape(bits, split);
  }
  if (NumElements(dims) == 0) return Zeros(b, dtype, dims);
  return b.Convert(b.Reshape(b.BitcastConvert(bits, raw(dtype)), dims), dtype);
}

// aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor
Value ExpandCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  Dims size = call.Ints(1);
  const int64_t extra = static_cast<int64_t>(size.size()) - self.rank();
  TORCH_CHECK(extra >= 0, call.name(), ": expected at least ", self.rank(), " sizes, got ",
              ToString(size));
  for (int64_t i = 0; i < self.rank(); ++i) {
    if (size[i + extra] == -1) size[i + extra] = self.dim(i);
  }
  return ExpandTo(b, call, self, size, "self");
}

// aten::permute_copy(Tensor self, int[] dims) -> Tensor
Value PermuteCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  Dims order = call.Ints(1);
  TORCH_CHECK(static_cast<int64_t>(order.size()) == self.rank(), call.name(), ": expected ",
              self.rank(), " dims, got ", ToString(order));
  for (int64_t& d : order) d = WrapDim(d, self.rank());
  Dims sorted = order;
  std::sort(sorted.begin(), sorted.end());
  TORCH_CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), call.name(),
              ": expected every dim once, got ", ToString(order));
  return b.Transpose(self, order);
}

Value Swap(Builder& b, Value x, int64_t a, int64_t c) {
  if (x.rank() < 2) return x;
  Dims order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[a], order[c]);
  return b.Transpose(x, order);
}

// aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor
Value TransposeCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  return Swap(b, self, call.Dim(1, self.rank()), call.Dim(2, self.rank()));
}

// aten::t_copy(Tensor self) -> Tensor
Value TCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  TORCH_CHECK(self.rank() <= 2, call.name(), ": expected at most 2 dimensions, got ",
              ToString(self.dims()));
  return Swap(b, self, 0, 1);
}

Value Squeeze(Builder& b, Value x, const std::vector<bool>& chosen) {
  Dims dims;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (x.dim(i) != 1 || !chosen[i]) dims.push_back(x.dim(i));
  }
  return b.Reshape(x, dims);
}

// aten::squeeze_copy(Tensor self) -> Tensor
Value SqueezeCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  return Squeeze(b, self, std::vector<bool>(self.rank(), true));
}

// aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor
// aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor
Value SqueezeCopyDims(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  std::vector<bool> chosen(std::max<int64_t>(self.rank(), 1), false);
  for (int64_t d : call.Ints(1)) chosen[WrapDim(d, self.rank())] = true;
  return Squeeze(b, self, chosen);
}

// aten::unsqueeze_copy(Tensor self, int dim) -> Tensor
Value UnsqueezeCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  Dims dims = self.dims();
  dims.insert(dims.begin() + call.Dim(1, self.rank() + 1), 1);
  return b.Reshape(self, dims);
}

// aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None,
//                         SymInt step=1) -> Tensor
Value SliceCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const SliceBounds s = ReadSlice(call, 1, self.dims());
  return b.SliceDim(self, s.dim, s.start, s.end, s.step);
}

// aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor
Value NarrowCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  TORCH_CHECK(self.rank() > 0, call.name(), ": expected at least one dimension, got []");
  const int64_t dim = call.Dim(1, self.rank()), size = self.dim(dim), length = call.Int(3);
  TORCH_CHECK(length >= 0, call.name(), ": expected length >= 0, got ", length);
  int64_t start = call.Int(2);
  TORCH_CHECK_INDEX(start >= -size && start <= size, call.name(), ": expected a start in [", -size,
                    ", ", size, "], got ", start);
  if (start < 0) start += size;
  TORCH_CHECK(start + length <= size, call.name(), ": expected start + length <= ", size, ", got ",
              start, " + ", length);
  return b.SliceDim(self, dim, start, start + length);
}

// aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor
Value SelectCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const SliceBounds s = ReadSelect(call, 1, 2, self.dims());
  Dims dims = self.dims();
  dims.erase(dims.begin() + s.dim);
  return b.Reshape(b.SliceDim(self, s.dim, s.start, s.end), dims);
}

// aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor
Value DiagonalCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const DiagonalBounds d = ReadDiagonal(call, 1, self.dims());
  // [.., rows, columns] flattened: the diagonal is every (columns + 1)-th element.
  Dims order = d.others;
  order.push_back(d.dim1);
  order.push_back(d.dim2);
  const Value last = b.Transpose(self, order);
  const int64_t rows = self.dim(d.dim1), columns = self.dim(d.dim2);
  Dims flat, result;
  for (int64_t i : d.others) flat.push_back(self.dim(i));
  result = flat;
  result.push_back(d.length);
  if (NumElements(result) == 0) return Zeros(b, self.dtype(), result);
  flat.push_back(rows * columns);
  const int64_t start = d.row * columns + d.column;
  return b.SliceDim(b.Reshape(last, flat), -1, start, start + (d.length - 1) * (columns + 1) + 1,
                    columns + 1);
}

// aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor
Value UnfoldCopy(Builder& b, const OpCall& call) {
  const Value self = AtLeast1d(b, call.Tensor(0));
  const int64_t rank = call.Tensor(0).rank(), dim = call.Dim(1, rank), size = call.Int(2),
                step = call.Int(3), n = self.dim(dim);
  TORCH_CHECK(size >= 0 && size <= n, call.name(), ": expected a size in [0, ", n, "], got ", size);
  TORCH_CHECK(step > 0, call.name(), ": expected step > 0, got ", step);
  const int64_t windows = (n - size) / step + 1;
  Dims result = self.dims();
  result[dim] = windows;
  result.push_back(size);
  if (rank == 0) result.erase(result.begin());
  if (NumElements(result) == 0) return Zeros(b, self.dtype(), result);
  const Value start = b.Iota(DType::Int, {windows, size}, 0);
  const Value index = start * b.ConstantLike(start, step) + b.Iota(DType::Int, {windows, size}, 1);
  const Value taken = TakeAlong(b, self, dim, index);
  // The window's own dimension goes to the end.
  Dims order(taken.rank());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + dim + 1);
  order.push_back(dim + 1);
  return b.Reshape(b.Transpose(taken, order), result);
}

Values Pieces(Builder& b, Value x, int64_t dim, const Dims& sizes) {
  Values pieces;
  int64_t start = 0;
  for (int64_t size : sizes) {
    pieces.push_back(b.SliceDim(x, dim, start, start + size));
    start += size;
  }
  return pieces;
}

// aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
// aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
Values SplitCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  TORCH_CHECK(self.rank() > 0, call.name(), ": expected at least one dimension, got []");
  const int64_t split = call.Int(1), dim = call.Dim(2, self.rank()), n = self.dim(dim);
  TORCH_CHECK(split > 0 || (split == 0 && n == 0), call.name(), ": expected a split size > 0, got ",
              split);
  Dims sizes;
  for (int64_t start = 0; start < n; start += split) sizes.push_back(std::min(split, n - start));
  if (sizes.empty()) sizes.push_back(0);
  return Pieces(b, self, dim, sizes);
}

// aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]
// aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]
Values SplitWithSizesCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  TORCH_CHECK(self.rank() > 0, call.name(), ": expected at least one dimension, got []");
  const int64_t dim = call.Dim(2, self.rank());
  const Dims sizes = call.Ints(1);
  int64_t sum = 0;
  for (int64_t s : sizes) {
    TORCH_CHECK(s >= 0, call.name(), ": expected sizes >= 0, got ", ToString(sizes));
    sum += s;
  }
  TORCH_CHECK(sum == self.dim(dim), call.name(), ": expected sizes that sum to ", self.dim(dim),
              ", got ", ToString(sizes));
  return Pieces(b, self, dim, sizes);
}

// aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]
Values UnbindCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const int64_t dim = call.Dim(1, self.rank());
  TORCH_CHECK_INDEX(self.rank() > 0, call.name(), ": expected at least one dimension, got []");
  Dims dims = self.dims();
  dims.erase(dims.begin() + dim);
  Values pieces = Pieces(b, self, dim, Dims(self.dim(dim), 1));
  for (Value& piece : pieces) piece = b.Reshape(piece, dims);
  return pieces;
}

// aten::view_as_real_copy(Tensor self) -> Tensor
Value ViewAsRealCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  TORCH_CHECK(IsComplex(self.dtype()), call.name(), ": expected a complex tensor, got ",
              DTypeName(self.dtype()));
  Dims dims = self.dims();
  dims.push_back(1);
  return b.Concatenate({b.Reshape(b.Real(self), dims), b.Reshape(b.Imag(self), dims)}, -1);
}

// aten::view_as_complex_copy(Tensor self) -> Tensor
Value ViewAsComplexCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  TORCH_CHECK(self.dtype() == DType::Float || self.dtype() == DType::Double, call.name(),
              ": expected float32 or float64, got ", DTypeName(self.dtype()));
  TORCH_CHECK(self.rank() > 0 && self.dim(-1) == 2, call.name(),
              ": expected a last dimension of size 2, got ", ToString(self.dims()));
  const Dims dims(self.dims().begin(), self.dims().end() - 1);
  return b.Complex(b.Reshape(b.SliceDim(self, -1, 0, 1), dims),
                   b.Reshape(b.SliceDim(self, -1, 1, 2), dims));
}

// aten::_conj_copy(Tensor self) -> Tensor
Value ConjCopy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  return IsComplex(self.dtype()) ? b.Complex(b.Real(self), b.Neg(b.Imag(self))) : self;
}

// aten::_neg_view_copy(Tensor self) -> Tensor
Value NegCopy(Builder& b, const OpCall& call) { return b.Neg(call.Tensor(0)); }

}  // namespace

OpRows ViewCopyRows() {
  return {
      {"aten::alias_copy", Same},
      {"aten::detach_copy", Same},
      {"aten::lift_fresh_copy", Same},
      {"aten::view_copy", ViewCopy},
      {"aten::_reshape_copy", ViewCopy},
      {"aten::_unsafe_view", ViewCopy},
      {"aten::view_copy.dtype", ViewCopyDtype},
      {"aten::expand_copy", ExpandCopy},
      {"aten::permute_copy", PermuteCopy},
      {"aten::transpose_copy.int", TransposeCopy},
      {"aten::t_copy", TCopy},
      {"aten::squeeze_copy", SqueezeCopy},
      {"aten::squeeze_copy.dim", SqueezeCopyDims},
      {"aten::squeeze_copy.dims", SqueezeCopyDims},
      {"aten::unsqueeze_copy", UnsqueezeCopy},
      {"aten::slice_copy.Tensor", SliceCopy},
      {"aten::narrow_copy", NarrowCopy},
      {"aten::select_copy.int", SelectCopy},
      {"aten::diagonal_copy", DiagonalCopy},
      {"aten::unfold_copy", UnfoldCopy},
      {"aten::split_copy.Tensor", SplitCopy},
      {"aten::unsafe_split.Tensor", SplitCopy},
      {"aten::split_with_sizes_copy", SplitWithSizesCopy},
      {"aten::unsafe_split_with_sizes", SplitWithSizesCopy},
      {"aten::unbind_copy.int", UnbindCopy},
      {"aten::view_as_real_copy", ViewAsRealCopy},
      {"aten::view_as_complex_copy", ViewAsComplexCopy},
      {"aten::_conj_copy", ConjCopy},
      {"aten::_neg_view_copy", NegCopy},
  };
}

}  // namespace torch_tpu::lowering
