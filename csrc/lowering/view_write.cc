// Writing into a view of a tensor in functional form (*_scatter), and the gradients of views.
#include <c10/util/Exception.h>

#include <numeric>

#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/view_bounds.h"

namespace torch_tpu::lowering {
namespace {

// `source`, shaped like a slice of `base`, put in its place.
Value PlaceSlice(Builder& b, Value base, Value source, const SliceBounds& s) {
  if (source.numel() == 0) return base;
  if (s.step == 1 || source.dim(s.dim) == 1) {
    Values starts(base.rank(), b.Constant(DType::Int, 0));
    starts[s.dim] = b.Constant(DType::Long, s.start);
    for (Value& start : starts) start = b.Convert(start, DType::Long);
    return b.DynamicUpdateSlice(base, source, starts);
  }
  // Spread out to the base's size beside a mask of the places that it fills.
  Dims low(base.rank(), 0), high(base.rank(), 0), interior(base.rank(), 0);
  low[s.dim] = s.start;
  interior[s.dim] = s.step - 1;
  high[s.dim] = base.dim(s.dim) - s.start - ((source.dim(s.dim) - 1) * s.step + 1);
  const Value spread = b.Pad(source, b.Constant(source.dtype(), 0), low, high, interior);
  const int64_t n = source.dim(s.dim);
  const Value filled = b.Pad(b.Constant(DType::Bool, true, {n}), b.Constant(DType::Bool, false),
                             {s.start}, {high[s.dim]}, {s.step - 1});
  return b.Select(b.BroadcastInDim(filled, base.dims(), {s.dim}), spread, base);
}

// The gradient of a slice: `grad` among zeros, from `start` (0-d int64) on.
Value PadSlice(Builder& b, Value grad, const Dims& sizes, int64_t dim, Value start, int64_t step) {
  if (grad.numel() == 0) return Zeros(b, grad.dtype(), sizes);
  const Dims none(sizes.size(), 0);
  Dims interior = none;
  interior[dim] = step - 1;
  const Value spread = b.Pad(grad, b.Constant(grad.dtype(), 0), none, none, interior);
  Values starts(sizes.size(), b.Constant(DType::Long, 0));
  starts[dim] = start;
  return b.DynamicUpdateSlice(Zeros(b, grad.dtype(), sizes), spread, starts);
}

// A start or index as Python counts: from the end where it is negative, inside [0, size].
Value FromEnd(Builder& b, Value place, int64_t size) {
  const Value zero = b.Constant(DType::Long, 0), end = b.Constant(DType::Long, size);
  return b.Clamp(zero, b.Select(b.Lt(place, zero), place + end, place), end);
}

Dims SliceSizes(Dims sizes, const SliceBounds& s) {
  sizes[s.dim] = (s.end - s.start + s.step - 1) / s.step;
  return sizes;
}

Value Fit(Builder& b, const OpCall& call, Value source, const Dims& view, DType dtype) {
  TORCH_CHECK(source.dims() == view, call.name(), ": expected a source of the view's shape ",
              ToString(view), ", got ", ToString(source.dims()));
  return b.Convert(source, dtype);
}

// aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None,
//                     SymInt step=1) -> Tensor
Value SliceScatter(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const SliceBounds s = ReadSlice(call, 2, self.dims());
  return PlaceSlice(b, self, Fit(b, call, call.Tensor(1), SliceSizes(self.dims(), s), self.dtype()),
                    s);
}

// aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end,
//                      SymInt step) -> Tensor
Value SliceBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0);
  const Dims sizes = call.Ints(1);
  const int64_t dim = call.Dim(2, static_cast<int64_t>(sizes.size())), step = call.Int(5);
  Dims expected = sizes;
  if (grad.rank() > dim) expected[dim] = grad.dim(dim);
  return PadSlice(b, Fit(b, call, grad, expected, grad.dtype()), sizes, dim,
                  FromEnd(b, call.Offset(b, 3), sizes[dim]), step);
}

Dims WithOne(Dims dims, int64_t dim) {
  dims.insert(dims.begin() + dim, 1);
  return dims;
}

Dims Without(Dims dims, int64_t dim) {
  dims.erase(dims.begin() + dim);
  return dims;
}

// aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor
Value SelectScatter(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const SliceBounds s = ReadSelect(call, 2, 3, self.dims());
  const Value source = Fit(b, call, call.Tensor(1), Without(self.dims(), s.dim), self.dtype());
  return PlaceSlice(b, self, b.Reshape(source, WithOne(source.dims(), s.dim)), s);
}

// aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor
Value SelectBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0);
  const Dims sizes = call.Ints(1);
  const int64_t dim = call.Dim(2, static_cast<int64_t>(sizes.size()));
  const Value source = Fit(b, call, grad, Without(sizes, dim), grad.dtype());
  return PadSlice(b, b.Reshape(source, WithOne(source.dims(), dim)), sizes, dim,
                  FromEnd(b, call.Offset(b, 3), sizes[dim]), 1);
}

// The last dimension of `source` along the diagonal; everywhere else `base`.
Value PlaceDiagonal(Builder& b, Value base, Value source, const DiagonalBounds& d) {
  if (source.numel() == 0) return base;
  const int64_t rows = base.dim(d.dim1), columns = base.dim(d.dim2);
  Dims low(source.rank(), 0), high(source.rank(), 0), mapping = d.others;
  low.back() = d.row;
  high.back() = rows - d.row - d.length;
  mapping.push_back(d.dim1);
  // One entry per row, the same in every column.
  Value spread = b.Pad(source, b.Constant(source.dtype(), 0), low, high);
  Dims order(mapping.size());  // as the places come in `base`
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t c) { return mapping[a] < mapping[c]; });
  spread = b.Transpose(spread, order);
  std::sort(mapping.begin(), mapping.end());
  spread = b.BroadcastInDim(spread, base.dims(), mapping);
  const Dims matrix = {rows, columns};
  const Value row = b.Iota(DType::Int, matrix, 0);
  Value on = b.Eq(b.Iota(DType::Int, matrix, 1), row + b.ConstantLike(row, d.offset));
  if (d.dim2 < d.dim1) on = b.Transpose(on, {1, 0});
  on = b.BroadcastInDim(on, base.dims(), {std::min(d.dim1, d.dim2), std::max(d.dim1, d.dim2)});
  return b.Select(on, spread, base);
}

Dims DiagonalSizes(const Dims& sizes, const DiagonalBounds& d) {
  Dims view;
  for (int64_t i : d.others) view.push_back(sizes[i]);
  view.push_back(d.length);
  return view;
}

// aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor
Value DiagonalScatter(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const DiagonalBounds d = ReadDiagonal(call, 2, self.dims());
  return PlaceDiagonal(
      b, self, Fit(b, call, call.Tensor(1), DiagonalSizes(self.dims(), d), self.dtype()), d);
}

// aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2)
//   -> Tensor
Value DiagonalBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0);
  const Dims sizes = call.Ints(1);
  const DiagonalBounds d = ReadDiagonal(call, 2, sizes);
  return PlaceDiagonal(b, Zeros(b, grad.dtype(), sizes),
                       Fit(b, call, grad, DiagonalSizes(sizes, d), grad.dtype()), d);
}

// aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor
Value DiagEmbed(Builder& b, const OpCall& call) {
  const Value self = AtLeast1d(b, call.Tensor(0));
  const int64_t rank = self.rank() + 1, offset = call.Int(1);
  const int64_t dim1 = call.Dim(2, rank), dim2 = call.Dim(3, rank);
  TORCH_CHECK(dim1 != dim2, call.name(), ": expected two different dimensions, got ", dim1,
              " twice");
  const int64_t n = self.dim(-1) + std::abs(offset);
  Dims sizes(self.dims().begin(), self.dims().end() - 1);
  sizes.insert(sizes.begin() + std::min(dim1, dim2), n);
  sizes.insert(sizes.begin() + std::max(dim1, dim2), n);
  return PlaceDiagonal(b, Zeros(b, self.dtype(), sizes), self, ReadDiagonal(call, 1, sizes));
}

}  // namespace

OpRows ViewWriteRows() {
  return {
      {"aten::slice_scatter", SliceScatter},
      {"aten::slice_backward", SliceBackward, {.offsets = 0b11000}},
      {"aten::select_scatter", SelectScatter},
      {"aten::select_backward", SelectBackward, {.offsets = 0b1000}},
      {"aten::diagonal_scatter", DiagonalScatter},
      {"aten::diagonal_backward", DiagonalBackward},
      {"aten::diag_embed", DiagEmbed},
  };
}

}  // namespace torch_tpu::lowering
