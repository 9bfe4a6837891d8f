// One matrix product per group, where groups are runs of rows, columns or contracted elements that
// end at the run-time numbers `offs`.
//
// A loop walks over tiles of a fixed number of rows, each within one group, so that no product is
// computed for a group that a row is not in: about rows / tile + groups steps, as many as there
// are.
#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {
namespace {

int64_t TileRows(int64_t rows, int64_t groups) {
  const auto mean =
      static_cast<uint64_t>(std::max<int64_t>(rows / std::max<int64_t>(groups, 1), 1));
  return std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(mean)), 8, 128);
}

// Tables by group, int32 [groups].
struct Tiling {
  Value starts, ends;  // of the rows
  Value tile_ends;     // running count of tiles
  int64_t tile;
};

Tiling TilesOf(Builder& b, Value offs, int64_t rows, int64_t tile) {
  const int64_t groups = offs.numel();
  const auto number = [&](int64_t v) { return b.Constant(DType::Int, v, {groups}); };
  Tiling t;
  t.tile = tile;
  t.ends =
      b.Clamp(b.Constant(DType::Int, 0), b.Convert(offs, DType::Int), b.Constant(DType::Int, rows));
  t.starts =
      b.Concatenate({b.Constant(DType::Int, 0, {1}), b.SliceDim(t.ends, 0, 0, groups - 1)}, 0);
  const Value count = b.Max(t.ends - t.starts, number(0));
  t.tile_ends = RunningSum(b, b.Div(count + number(tile - 1), number(tile)), 0);
  return t;
}

// One step of the loop: which group, and its rows [row, row + tile) of which those before `end`
// count.
struct Tile {
  Value group, row, end;  // 0-d int32
};

// Runs `body` for each tile. `carried` are the operands it reads (kept) and the value it builds
// (last).
Value ForEachTile(Builder& b, const Tiling& t, const Values& operands, Value init,
                  const std::function<Value(Builder&, const Tile&, hlo::ValueRef, Value)>& body) {
  const int64_t groups = t.ends.numel();
  Values inits = {b.Constant(DType::Int, 0), t.starts, t.ends, t.tile_ends};
  inits.insert(inits.end(), operands.begin(), operands.end());
  inits.push_back(init);
  const auto condition = [&](Builder& b, hlo::ValueRef v) -> Values {
    return {b.Lt(v[0], b.Reshape(b.SliceDim(v[3], 0, groups - 1, groups), {}))};
  };
  const auto step = [&](Builder& b, hlo::ValueRef v) -> Values {
    const auto at = [&](Value table, Value i) {
      return b.Reshape(b.DynamicSlice(table, {i}, {1}), {});
    };
    const Value passed = b.Convert(b.Le(v[3], b.Broadcast(v[0], {groups})), DType::Int);
    const Value group = Sum(b, passed, {0});
    const Value before = b.Sub(group, b.Constant(DType::Int, 1));
    const Value zero = b.Constant(DType::Int, 0);
    const Value first = b.Select(b.Eq(group, zero), zero, at(v[3], b.Max(before, zero)));
    const Value row = at(v[1], group) + (v[0] - first) * b.Constant(DType::Int, t.tile);
    Values out = v.vec();
    out[0] = v[0] + b.Constant(DType::Int, 1);
    out.back() = body(b, {group, row, at(v[2], group)}, v.slice(4, operands.size()), v.back());
    return out;
  };
  return b.While(inits, condition, step).back();
}

// Rows of zeros at the end, so that a tile which starts within the rows is never shifted.
Value PadRows(Builder& b, Value x, int64_t dim, int64_t rows) {
  Dims low(x.rank(), 0), high(x.rank(), 0);
  high[dim] = rows;
  return b.Pad(x, b.Constant(x.dtype(), 0), low, high);
}

// x [T, K] with each group's w [G, K, N] -> [T, N].
Value RaggedRows(Builder& b, Value x, Value w, Value offs, DType result) {
  const int64_t rows = x.dim(0), depth = x.dim(1), groups = w.dim(0), columns = w.dim(2);
  if (rows == 0 || columns == 0 || groups == 0 || depth == 0) {
    return Zeros(b, result, {rows, columns});
  }
  const Tiling t = TilesOf(b, offs, rows, TileRows(rows, groups));
  const Value init = Zeros(b, result, {rows + t.tile, columns});
  // What a tile writes past its group's end is overwritten by the groups after it.
  const Value out = ForEachTile(
      b, t, {PadRows(b, x, 0, t.tile), w}, init,
      [&](Builder& b, const Tile& tile, hlo::ValueRef operands, Value out) {
        const Value zero = b.Constant(DType::Int, 0);
        const Value part = b.DynamicSlice(operands[0], {tile.row, zero}, {t.tile, depth});
        const Value matrix =
            b.Reshape(b.DynamicSlice(operands[1], {tile.group, zero, zero}, {1, depth, columns}),
                      {depth, columns});
        const Value product = b.Convert(MatrixProduct(b, part, matrix), result);
        return b.DynamicUpdateSlice(out, product, {tile.row, zero});
      });
  return b.SliceDim(out, 0, 0, rows);
}

// x [M, T] and y [T, N], contracted within each group -> [G, M, N].
Value RaggedDepth(Builder& b, Value x, Value y, Value offs, DType result) {
  const int64_t m = x.dim(0), depth = x.dim(1), n = y.dim(1), groups = offs.numel();
  const Dims full = {groups, m, n};
  if (depth == 0 || NumElements(full) == 0) return Zeros(b, result, full);
  const Tiling t = TilesOf(b, offs, depth, TileRows(depth, groups));
  const DType compute = AccumulateType(x.dtype());
  const Value sums = ForEachTile(
      b, t, {PadRows(b, x, 1, t.tile), PadRows(b, y, 0, t.tile)}, Zeros(b, compute, full),
      [&](Builder& b, const Tile& tile, hlo::ValueRef operands, Value sums) {
        const Value zero = b.Constant(DType::Int, 0);
        const Value index = b.Iota(DType::Int, {t.tile}, 0) + b.Broadcast(tile.row, {t.tile});
        const Value counts = b.Lt(index, b.Broadcast(tile.end, {t.tile}));
        const auto masked = [&](Value part, int64_t dim) {
          return b.Select(b.BroadcastInDim(counts, part.dims(), {dim}), part,
                          b.ConstantLike(part, 0));
        };
        const Value left = masked(b.DynamicSlice(operands[0], {zero, tile.row}, {m, t.tile}), 1);
        const Value right = masked(b.DynamicSlice(operands[1], {tile.row, zero}, {t.tile, n}), 0);
        const Value product = b.Reshape(MatrixProduct(b, left, right), {1, m, n});
        const Value before = b.DynamicSlice(sums, {tile.group, zero, zero}, {1, m, n});
        return b.DynamicUpdateSlice(sums, before + product, {tile.group, zero, zero});
      });
  return b.Convert(sums, result);
}

// aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None,
//     ScalarType? out_dtype=None) -> Tensor
Value GroupedMm(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), y = call.Tensor(1), offs = call.TensorOrUndefined(2);
  const auto fits = [&](bool ok, const char* rule) {
    TORCH_CHECK(ok, call.name(), ": expected ", rule, ", got shapes ", ToString(x.dims()), " and ",
                ToString(y.dims()),
                offs.defined() ? " with offs of shape " + ToString(offs.dims()) : " with no offs");
  };
  TORCH_CHECK(IsFloat(x.dtype()) && x.dtype() == y.dtype(), call.name(),
              ": expected floating point operands of the same dtype, got ", DTypeName(x.dtype()),
              " and ", DTypeName(y.dtype()));
  TORCH_CHECK(call.IsNone(3), call.name(), ": expected no bias, got one");
  fits(x.rank() >= 2 && x.rank() <= 3 && y.rank() >= 2 && y.rank() <= 3,
       "operands of 2 or 3 dimensions");
  fits(x.dim(-1) == y.dim(-2), "operands that can be multiplied");
  const bool ragged = x.rank() == 2 || y.rank() == 2;
  fits(offs.defined() == ragged, "offs exactly where an operand has 2 dimensions");
  const DType result = call.DtypeOr(4, x.dtype());
  if (!ragged) {
    fits(x.dim(0) == y.dim(0), "as many matrices on both sides");
    return b.Convert(MatrixProduct(b, x, y), result);
  }
  TORCH_CHECK(offs.rank() == 1 && offs.dtype() == DType::Int, call.name(),
              ": expected offs to be a vector of int32, got ", DTypeName(offs.dtype()),
              " of shape ", ToString(offs.dims()));
  if (x.rank() == 2 && y.rank() == 2) return RaggedDepth(b, x, y, offs, result);
  fits(offs.numel() == (x.rank() == 3 ? x : y).dim(0), "one offset for each matrix");
  if (y.rank() == 3) return RaggedRows(b, x, y, offs, result);
  const Value columns =
      RaggedRows(b, b.Transpose(y, {1, 0}), b.Transpose(x, {0, 2, 1}), offs, result);
  return b.Transpose(columns, {1, 0});
}

}  // namespace

OpRows GroupedMatmulRows() { return {{"aten::_grouped_mm", GroupedMm}}; }

}  // namespace torch_tpu::lowering
