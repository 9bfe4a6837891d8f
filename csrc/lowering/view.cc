// Copies that rearrange: concatenation, repetition, flips, triangles, block diagonals.
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {
namespace {

// Joins along `dim` in the promoted type. As PyTorch has always done, an empty vector takes no
// part.
Value Join(Builder& b, const OpCall& call, const Values& tensors, int64_t dim) {
  TORCH_CHECK_VALUE(!tensors.empty(), call.name(),
                    ": expected a non-empty list of tensors, got []");
  PromotionState promotion;
  for (const Value& t : tensors) {
    TORCH_CHECK(t.rank() > 0, call.name(), ": expected tensors of at least one dimension, got []");
    promotion.Add(t.dtype(), false, false);
  }
  const DType type = promotion.Result(call.default_dtype());
  auto skipped = [](const Value& t) { return t.rank() == 1 && t.dim(0) == 0; };
  Values parts;
  for (const Value& t : tensors) {
    if (!skipped(t)) parts.push_back(b.Convert(t, type));
  }
  if (parts.empty()) return b.Convert(tensors[0], type);
  dim = WrapDim(dim, parts[0].rank());
  for (const Value& part : parts) {
    Dims expected = parts[0].dims();
    if (part.rank() == parts[0].rank()) expected[dim] = part.dim(dim);
    TORCH_CHECK(part.dims() == expected, call.name(),
                ": expected tensors whose sizes match except in dimension ", dim, ", got shapes ",
                ToString(parts[0].dims()), " and ", ToString(part.dims()));
  }
  return b.Concatenate(parts, dim);
}

// aten::cat(Tensor[] tensors, int dim=0) -> Tensor
Value Cat(Builder& b, const OpCall& call) { return Join(b, call, call.Tensors(0), call.Int(1)); }

// aten::stack(Tensor[] tensors, int dim=0) -> Tensor
// aten::_stack(Tensor[] tensors, int dim=0) -> Tensor
Value Stack(Builder& b, const OpCall& call) {
  const Values& tensors = call.Tensors(0);
  TORCH_CHECK(!tensors.empty(), call.name(), ": expected a non-empty list of tensors, got []");
  const int64_t dim = call.Dim(1, tensors[0].rank() + 1);
  Values parts;
  for (const Value& t : tensors) {
    TORCH_CHECK(t.dims() == tensors[0].dims(), call.name(),
                ": expected tensors of equal shape, got ", ToString(tensors[0].dims()), " and ",
                ToString(t.dims()));
    Dims dims = t.dims();
    dims.insert(dims.begin() + dim, 1);
    parts.push_back(b.Reshape(t, dims));
  }
  return Join(b, call, parts, dim);
}

// aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor
Value ChunkCat(Builder& b, const OpCall& call) {
  const int64_t chunks = call.Int(2);
  TORCH_CHECK(chunks >= 1, call.name(), ": expected num_chunks >= 1, got ", chunks);
  TORCH_CHECK(!call.Tensors(0).empty(), call.name(), ": expected a non-empty list, got []");
  const int64_t dim = call.Dim(1, call.Tensors(0)[0].rank());
  Values parts;
  for (const Value& t : call.Tensors(0)) {
    TORCH_CHECK(t.numel() > 0 && t.rank() > dim, call.name(),
                ": expected non-empty tensors with a dimension ", dim, ", got ",
                ToString(t.dims()));
    // Padded to whole chunks, which come first; the rest of the tensor is one dimension.
    const int64_t length = (t.dim(dim) + chunks - 1) / chunks;
    Dims none(t.rank(), 0), high(t.rank(), 0), dims(t.dims().begin(), t.dims().begin() + dim);
    high[dim] = length * chunks - t.dim(dim);
    dims.push_back(chunks);
    dims.push_back(length * NumElements(IntArrayRef(t.dims()).slice(dim + 1)));
    parts.push_back(b.Reshape(b.Pad(t, b.Constant(t.dtype(), 0), none, high), dims));
  }
  return Join(b, call, parts, dim + 1);
}

// aten::repeat(Tensor self, SymInt[] repeats) -> Tensor
Value Repeat(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const Dims repeats = call.Ints(1);
  const int64_t rank = static_cast<int64_t>(repeats.size()), extra = rank - self.rank();
  TORCH_CHECK(extra >= 0, call.name(), ": expected at least ", self.rank(), " repeats, got ",
              ToString(repeats));
  Dims split, mapping, result;
  for (int64_t i = 0; i < rank; ++i) {
    TORCH_CHECK(repeats[i] >= 0, call.name(), ": expected no negative repeat, got ",
                ToString(repeats));
    const int64_t size = i < extra ? 1 : self.dim(i - extra);
    split.push_back(repeats[i]);
    if (i >= extra) mapping.push_back(static_cast<int64_t>(split.size()));
    if (i >= extra) split.push_back(size);
    result.push_back(repeats[i] * size);
  }
  if (NumElements(result) == 0) return Zeros(b, self.dtype(), result);
  return b.Reshape(b.BroadcastInDim(self, split, mapping), result);
}

// aten::flip(Tensor self, int[] dims) -> Tensor
Value Flip(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const Dims named = call.Ints(1);
  if (named.empty()) return self;
  const Dims dims = call.ReduceDims(1, self.rank());
  return b.Reverse(self, dims);
}

Value RollDim(Builder& b, Value x, int64_t dim, int64_t shift) {
  const int64_t n = x.dim(dim);
  if (n == 0) return x;
  const int64_t cut = ((n - shift % n) % n + n) % n;
  if (cut == 0) return x;
  return b.Concatenate({b.SliceDim(x, dim, cut, n), b.SliceDim(x, dim, 0, cut)}, dim);
}

// aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor
Value Roll(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const Dims shifts = call.Ints(1), dims = call.IsNone(2) ? Dims() : call.Ints(2);
  TORCH_CHECK(!shifts.empty(), call.name(), ": expected at least one shift, got []");
  if (dims.empty()) {
    TORCH_CHECK(shifts.size() == 1, call.name(),
                ": expected one shift when no dims are given, got ", ToString(shifts));
    return b.Reshape(RollDim(b, b.Reshape(self, {self.numel()}), 0, shifts[0]), self.dims());
  }
  TORCH_CHECK(shifts.size() == dims.size(), call.name(), ": expected as many shifts as dims, got ",
              ToString(shifts), " and ", ToString(dims));
  TORCH_CHECK_INDEX(self.rank() > 0, call.name(), ": expected dimensions for dims ", ToString(dims),
                    ", got a tensor of 0 dimensions");
  Value x = self;
  for (size_t i = 0; i < dims.size(); ++i) {
    x = RollDim(b, x, WrapDim(dims[i], self.rank()), shifts[i]);
  }
  return x;
}

// aten::rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor
Value Rot90(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const Dims dims = call.Ints(2);
  TORCH_CHECK(dims.size() == 2, call.name(), ": expected 2 rotation dims, got ", ToString(dims));
  TORCH_CHECK(self.rank() >= 2, call.name(), ": expected at least 2 dimensions, got ",
              ToString(self.dims()));
  TORCH_CHECK(dims[0] != dims[1] && std::abs(dims[0] - dims[1]) != self.rank(), call.name(),
              ": expected two different dims, got ", ToString(dims));
  const int64_t rank = self.rank();
  for (int64_t d : dims) {
    TORCH_CHECK(d >= -rank && d < rank, call.name(), ": expected dims in [", -rank, ", ", rank,
                "), got ", ToString(dims));
  }
  const int64_t first = WrapDim(dims[0], rank), second = WrapDim(dims[1], rank);
  Dims swapped(rank);
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[first], swapped[second]);
  switch ((call.Int(1) % 4 + 4) % 4) {
    case 1:
      return b.Transpose(b.Reverse(self, {second}), swapped);
    case 2:
      return b.Reverse(self, {first, second});
    case 3:
      return b.Transpose(b.Reverse(self, {first}), swapped);
    default:
      return self;
  }
}

// Keeps what lies on one side of a diagonal of the last two dimensions.
template <bool lower>
Value Triangle(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const int64_t rank = self.rank();
  TORCH_CHECK(rank >= 2, call.name(), ": expected at least 2 dimensions, got ",
              ToString(self.dims()));
  const Dims last = {self.dim(-2), self.dim(-1)};
  const Value row = b.Iota(DType::Int, last, 0), column = b.Iota(DType::Int, last, 1);
  const Value diagonal = b.Clamp(b.Constant(DType::Long, -last[0] - 1), call.Offset(b, 1),
                                 b.Constant(DType::Long, last[1] + 1));
  const Value edge = row + b.Broadcast(b.Convert(diagonal, DType::Int), last);
  const Value keep = lower ? b.Le(column, edge) : b.Ge(column, edge);
  return b.Select(b.Broadcast(keep, self.dims()), self, b.ConstantLike(self, 0));
}

// aten::block_diag(Tensor[] tensors) -> Tensor
Value BlockDiag(Builder& b, const OpCall& call) {
  PromotionState promotion;
  int64_t rows = 0, columns = 0;
  Values blocks;
  for (const Value& t : call.Tensors(0)) {
    TORCH_CHECK(t.rank() <= 2, call.name(), ": expected tensors of at most 2 dimensions, got ",
                ToString(t.dims()));
    promotion.Add(t.dtype(), false, false);
    blocks.push_back(t.rank() == 2 ? t : b.Reshape(t, {1, t.numel()}));
    rows += blocks.back().dim(0);
    columns += blocks.back().dim(1);
  }
  if (blocks.empty()) return Zeros(b, call.default_dtype(), {1, 0});
  const DType type = promotion.Result(call.default_dtype());
  int64_t left = 0;
  for (Value& block : blocks) {
    const int64_t width = block.dim(1);
    block =
        b.Pad(b.Convert(block, type), b.Constant(type, 0), {0, left}, {0, columns - left - width});
    left += width;
  }
  return b.Concatenate(blocks, 0);
}

// aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, ...) -> Tensor
template <bool lower>
Value TriangleIndices(Builder& b, const OpCall& call) {
  const int64_t rows = call.Int(0), columns = call.Int(1);
  TORCH_CHECK(rows >= 0 && columns >= 0, call.name(), ": expected sizes >= 0, got ", rows, " and ",
              columns);
  const int64_t offset = std::clamp<int64_t>(call.Int(2), -rows, columns);
  // Row r holds columns [begin, end): the sizes are known here, the entries are computed there.
  std::vector<int64_t> starts;
  int64_t total = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t edge = r + offset;
    const int64_t kept = lower ? std::clamp<int64_t>(edge + 1, 0, columns)
                               : columns - std::clamp<int64_t>(edge, 0, columns);
    starts.push_back(total);
    total += kept;
  }
  const DType type = call.DtypeOr(3, DType::Long);
  if (total == 0) return Zeros(b, type, {2, 0});
  // The row of entry k is the number of later rows that start at or before k.
  const Value start = b.ConstantInts(DType::Int, starts, {rows});
  const Value marks = ScatterSlices(b, b.Constant(DType::Int, 0, {total}), 0, start,
                                    b.Constant(DType::Int, 1, {rows}), Combine::kSum);
  const Value row = RunningSum(b, marks, 0) - 1;
  Value column = b.Iota(DType::Int, {total}, 0) - TakeAlong(b, start, 0, row);
  if (!lower) {
    const Value edge = row + b.ConstantLike(row, offset);
    column = column + b.Max(edge, b.ConstantLike(edge, 0));
  }
  return b.Convert(b.Concatenate({b.Reshape(row, {1, total}), b.Reshape(column, {1, total})}, 0),
                   type);
}

}  // namespace

OpRows ViewRows() {
  return {
      {"aten::cat", Cat, {.disjoint = true}},
      {"aten::stack", Stack},
      {"aten::_stack", Stack},
      {"aten::_chunk_cat", ChunkCat},
      {"aten::repeat", Repeat},
      {"aten::flip", Flip},
      {"aten::roll", Roll},
      {"aten::rot90", Rot90},
      // A causal mask's diagonal moves with every token that is generated.
      {"aten::tril", Triangle<true>, {.offsets = 0b10, .exact_out = true}},
      {"aten::triu", Triangle<false>, {.offsets = 0b10, .exact_out = true}},
      {"aten::block_diag", BlockDiag},
      {"aten::tril_indices", TriangleIndices<true>},
      {"aten::triu_indices", TriangleIndices<false>},
  };
}

}  // namespace torch_tpu::lowering
