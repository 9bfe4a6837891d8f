// LU decomposition and what follows from it: systems, inverses, determinants.
#include "lowering/lu.h"

#include <c10/util/Exception.h>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/sorting.h"

namespace torch_tpu::lowering {
namespace {

// Columns that are factored one by one before the rest is brought up to date in one product.
constexpr int64_t kPanel = 64;

// Row (column) number `i` of every matrix, as [..., 1, n] ([..., m, 1]).
Value RowAt(Builder& b, Value x, Value i) {
  Values starts(x.rank(), b.ConstantLike(i, 0));
  starts[x.rank() - 2] = i;
  return b.DynamicSlice(x, starts, With(BatchOf(x), 1, x.dim(-1)));
}

Value ColumnAt(Builder& b, Value x, Value i) {
  Values starts(x.rank(), b.ConstantLike(i, 0));
  starts[x.rank() - 1] = i;
  return b.DynamicSlice(x, starts, With(BatchOf(x), x.dim(-2), 1));
}

// The first row from `i` on whose magnitude is the largest of a column [..., m, 1]: int32
// [..., 1, 1].
Value PivotRow(Builder& b, Value column, Value i) {
  const Value row = RowIota(b, column.dims());
  const int64_t rows = column.rank() - 2, m = column.dim(-2);
  const Value magnitude = b.Select(b.Ge(row, b.Broadcast(i, row.dims())), Abs1(b, column),
                                   b.Constant(RealType(column.dtype()), -1, column.dims()));
  const Value most = b.Broadcast(MaxOver(b, magnitude, {rows}, true), magnitude.dims());
  const Value here = b.Or(b.Eq(magnitude, most), b.And(IsNaN(b, magnitude), IsNaN(b, most)));
  return MinOver(b, b.Select(here, row, b.ConstantLike(row, m - 1)), {rows}, true);
}

// Rows `i` and `pivot` of x exchanged.
Value SwapRows(Builder& b, Value x, Value i, Value pivot) {
  const int64_t rows = x.rank() - 2;
  const Value row = RowIota(b, x.dims());
  const Value at_i = b.Eq(row, b.Broadcast(i, x.dims()));
  const Value at_pivot = b.Eq(row, b.Broadcast(pivot, x.dims()));
  const Value first = RowAt(b, x, i);
  const Value other = KeepDims(b,
                               b.Reduce("add", b.Select(at_pivot, x, b.ConstantLike(x, 0)),
                                        b.Constant(x.dtype(), 0), {rows}),
                               x.dims(), {rows});
  return b.Select(at_i, b.Broadcast(other, x.dims()),
                  b.Select(at_pivot, b.Broadcast(first, x.dims()), x));
}

// One panel [..., m, n]: pivots from 0 within it ([..., k, 1]) and the permutation ([..., m, 1]).
struct Panel {
  Value factors, pivots, permutation;
};

Panel FactorPanel(Builder& b, Value x, bool pivot) {
  const int64_t m = x.dim(-2), n = x.dim(-1), k = std::min(m, n);
  const Dims batch = BatchOf(x);
  const Value pivots = RowIota(b, With(batch, k, 1));
  const Value permutation = RowIota(b, With(batch, m, 1));
  const auto step = [pivot](Builder& b, ValueRef s) -> Values {
    const Value i = s[0];
    Value x = s[1], pivots = s[2], permutation = s[3];
    if (pivot) {
      const Value row = PivotRow(b, ColumnAt(b, x, i), i);
      x = SwapRows(b, x, i, row);
      permutation = SwapRows(b, permutation, i, row);
      const Value here = b.Eq(RowIota(b, pivots.dims()), b.Broadcast(i, pivots.dims()));
      pivots = b.Select(here, b.Broadcast(row, pivots.dims()), pivots);
    }
    const Value row = RowIota(b, x.dims()), column = ColumnIota(b, x.dims());
    const Value at = b.Broadcast(i, x.dims());
    const Value below = b.Gt(row, at);
    const Value line = RowAt(b, x, i), divisor = ColumnAt(b, line, i);
    const Value zero = b.Eq(divisor, b.ConstantLike(divisor, 0));
    const Value safe = b.Select(zero, b.ConstantLike(divisor, 1), divisor);
    const Value lower = ColumnAt(b, x, i);
    const Value scaled = lower / b.Broadcast(safe, lower.dims());
    const Value update = x - b.Broadcast(scaled, x.dims()) * b.Broadcast(line, x.dims());
    x = b.Select(b.And(below, b.Gt(column, at)), update,
                 b.Select(b.And(below, b.Eq(column, at)), b.Broadcast(scaled, x.dims()), x));
    return {i + 1, x, pivots, permutation};
  };
  const Values out = b.While(
      {b.Constant(DType::Int, 0), x, pivots, permutation},
      [k](Builder& b, ValueRef s) -> Values { return {b.Lt(s[0], b.ConstantLike(s[0], k))}; },
      step);
  return {out[1], out[2], out[3]};
}

Value RowRange(Builder& b, Value x, int64_t from, int64_t to) {
  return b.SliceDim(x, x.rank() - 2, from, to);
}

Value ColumnRange(Builder& b, Value x, int64_t from, int64_t to) {
  return b.SliceDim(x, x.rank() - 1, from, to);
}

// [..., k, 1] -> [..., k]
Value AsVector(Builder& b, Value x) { return DropDims(b, x, {x.rank() - 1}); }

// Panels from left to right: each one's rows are exchanged in what lies left and right of it.
Panel FactorBlocked(Builder& b, Value x, bool pivot) {
  const int64_t m = x.dim(-2), n = x.dim(-1), k = std::min(m, n);
  const int64_t rows = x.rank() - 2, columns = x.rank() - 1;
  Value left, rest = x, permutation = RowIota(b, With(BatchOf(x), m, 1));
  Values done, pivots;  // finished rows of all columns
  for (int64_t at = 0; at < k; at += kPanel) {
    const int64_t width = std::min(kPanel, k - at), height = m - at;
    const Panel panel = FactorPanel(b, ColumnRange(b, rest, 0, width), pivot);
    pivots.push_back(panel.pivots + static_cast<double>(at));
    const Value order = AsVector(b, panel.permutation);
    const auto moved = [&](Value v) { return pivot ? TakeRows(b, v, order) : v; };
    Value right = moved(ColumnRange(b, rest, width, n - at));
    if (at > 0) left = moved(left);
    permutation = b.Concatenate(
        {RowRange(b, permutation, 0, at), moved(RowRange(b, permutation, at, m))}, rows);
    const Value upper =
        SolveTriangular(b, {RowRange(b, panel.factors, 0, width), RowRange(b, right, 0, width)},
                        true, true, true, "NO_TRANSPOSE");
    Values top = {RowRange(b, panel.factors, 0, width), upper};
    if (at > 0) top.insert(top.begin(), RowRange(b, left, 0, width));
    done.push_back(b.Concatenate(top, columns));
    const Value below = RowRange(b, panel.factors, width, height);
    left = at > 0 ? b.Concatenate({RowRange(b, left, width, height), below}, columns) : below;
    rest = RowRange(b, right, width, height);
    if (rest.numel() > 0) rest = rest - MatrixProduct(b, below, upper);
  }
  done.push_back(b.Concatenate({left, rest}, columns));
  return {b.Concatenate(done, rows), b.Concatenate(pivots, rows), permutation};
}

}  // namespace

Lu LuOf(Builder& b, Value x, bool pivot) {
  const Dims batch = BatchOf(x);
  const int64_t m = x.dim(-2), k = std::min(m, x.dim(-1));
  const Value none = Zeros(b, DType::Int, batch);
  if (x.numel() == 0) {
    const Dims order = With(batch, m);
    return {x, Zeros(b, DType::Int, With(batch, k)),
            b.Iota(DType::Int, order, static_cast<int64_t>(order.size()) - 1), none};
  }
  const Panel panel = k <= kPanel ? FactorPanel(b, x, pivot) : FactorBlocked(b, x, pivot);
  const Value diagonal = Diagonal(b, panel.factors);
  const Value place = b.Iota(DType::Int, diagonal.dims(), diagonal.rank() - 1);
  const Value first = MinOver(
      b, b.Select(b.Eq(diagonal, b.ConstantLike(diagonal, 0)), place, b.ConstantLike(place, k)),
      {diagonal.rank() - 1});
  const Value info = b.Select(b.Eq(first, b.ConstantLike(first, k)), none, first + 1);
  return {panel.factors, AsVector(b, panel.pivots) + 1, AsVector(b, panel.permutation), info};
}

Value PermutationOf(Builder& b, Value pivots, int64_t rows) {
  Dims batch = pivots.dims();
  const int64_t k = batch.back();
  batch.pop_back();
  const Value start = RowIota(b, With(batch, rows, 1));
  if (NumElements(pivots.dims()) == 0) return AsVector(b, start);
  const Value swaps = b.Reshape(pivots - 1, With(batch, k, 1));
  const Values out = b.While(
      {b.Constant(DType::Int, 0), swaps, start},
      [k](Builder& b, ValueRef s) -> Values { return {b.Lt(s[0], b.ConstantLike(s[0], k))}; },
      [](Builder& b, ValueRef s) -> Values {
        return {s[0] + 1, s[1], SwapRows(b, s[2], s[0], RowAt(b, s[1], s[0]))};
      });
  return AsVector(b, out[2]);
}

Value LuSolve(Builder& b, Value factors, Value permutation, Value x, bool adjoint) {
  if (x.numel() == 0) return x;
  if (!adjoint) {
    const Value half = SolveTriangular(b, {factors, TakeRows(b, x, permutation)}, true, true, true,
                                       "NO_TRANSPOSE");
    return SolveTriangular(b, {factors, half}, true, false, false, "NO_TRANSPOSE");
  }
  const Value half = SolveTriangular(b, {factors, x}, true, false, false, "ADJOINT");
  const Value solution = SolveTriangular(b, {factors, half}, true, true, true, "ADJOINT");
  const Value inverse = SortAlong(b, permutation, permutation.rank() - 1, false).indices;
  return TakeRows(b, solution, inverse);
}

namespace {

void RequireNonsingular(Builder& b, const OpCall& call, Value info, bool check) {
  if (!check) return;
  call.Require(All(b, b.Eq(info, b.ConstantLike(info, 0))),
               "expected matrices that are not singular");
}

// aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False)
//     -> (Tensor LU, Tensor pivots, Tensor info)
Values LuFactorEx(Builder& b, const OpCall& call) {
  CheckMatrices(call, call.Tensor(0));
  const Lu lu = LuOf(b, call.Tensor(0), call.Bool(1));
  RequireNonsingular(b, call, lu.info, call.Bool(2));
  return {lu.factors, lu.pivots, lu.info};
}

// P [..., m, m], with P[permutation[i]][i] = 1.
Value PermutationMatrix(Builder& b, DType dtype, Value permutation) {
  Dims batch = permutation.dims();
  const int64_t m = batch.back();
  batch.pop_back();
  const Dims dims = With(batch, m, m);
  return b.Convert(b.Eq(RowIota(b, dims), OverColumns(b, permutation, dims)), dtype);
}

Value UnitLower(Builder& b, Value factors) {
  const int64_t m = factors.dim(-2), k = std::min(m, factors.dim(-1));
  const Value corner = Corner(b, factors, m, k);
  return Triangle(b, corner, true, -1) + Identity(b, corner.dtype(), corner.dims());
}

Value Upper(Builder& b, Value factors) {
  const int64_t k = std::min(factors.dim(-2), factors.dim(-1));
  return Triangle(b, Corner(b, factors, k, factors.dim(-1)), false);
}

// aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)
Values LinalgLu(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckMatrices(call, x);
  const bool pivot = call.Bool(1);
  const Lu lu = LuOf(b, x, pivot);
  const Value p =
      pivot ? PermutationMatrix(b, x.dtype(), lu.permutation) : Zeros(b, x.dtype(), {0});
  return {p, UnitLower(b, lu.factors), Upper(b, lu.factors)};
}

Value CheckedPermutation(Builder& b, const OpCall& call, Value pivots, int64_t rows) {
  TORCH_CHECK(pivots.dtype() == DType::Int, call.name(), ": expected int32 pivots, got ",
              DTypeName(pivots.dtype()), ". Call it with the pivots that lu_factor returns");
  const Value fits =
      b.And(b.Ge(pivots, b.ConstantLike(pivots, 1)), b.Le(pivots, b.ConstantLike(pivots, rows)));
  call.Require(All(b, fits), "expected pivots between 1 and " + std::to_string(rows));
  return PermutationOf(b, pivots, rows);
}

// aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True,
//     bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)
Values LuUnpack(Builder& b, const OpCall& call) {
  const Value factors = call.Tensor(0), pivots = call.Tensor(1);
  CheckMatrices(call, factors);
  const Value none = Zeros(b, factors.dtype(), {0});
  Values out = {none, none, none};
  if (call.Bool(3)) {
    TORCH_CHECK(pivots.rank() + 1 == factors.rank() &&
                    pivots.dim(-1) == std::min(factors.dim(-1), factors.dim(-2)),
                call.name(), ": expected one pivot for each column and row, got shapes ",
                ToString(factors.dims()), " and ", ToString(pivots.dims()));
    out[0] =
        PermutationMatrix(b, factors.dtype(), CheckedPermutation(b, call, pivots, factors.dim(-2)));
  }
  if (call.Bool(2)) {
    out[1] = UnitLower(b, factors);
    out[2] = Upper(b, factors);
  }
  return out;
}

// aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)
//     -> Tensor
Value LinalgLuSolve(Builder& b, const OpCall& call) {
  const Value factors = call.Tensor(0), pivots = call.Tensor(1), x = call.Tensor(2);
  const bool left = call.Bool(3), adjoint = call.Bool(4);
  CheckSystem(call, factors, x, left);
  Dims expected = factors.dims();
  expected.pop_back();
  TORCH_CHECK(pivots.dims() == expected, call.name(), ": expected pivots of shape ",
              ToString(expected), ", got ", ToString(pivots.dims()));
  const Value permutation = CheckedPermutation(b, call, pivots, factors.dim(-1));
  const Pair p = BroadcastPair(b, call, factors, x);
  const Value order = b.Broadcast(permutation, With(BatchOf(p.a), permutation.dim(-1)));
  if (left) return LuSolve(b, p.a, order, p.x, adjoint);
  return Adjoint(b, LuSolve(b, p.a, order, Adjoint(b, p.x), !adjoint));
}

// aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)
//     -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)
Values SolveEx(Builder& b, const OpCall& call) {
  const Value a = call.Tensor(0), x = call.Tensor(1);
  const bool left = call.Bool(2);
  CheckMatrices(call, a, true);
  const bool vector = IsVectorSide(a, x);
  TORCH_CHECK(left || !vector, call.name(), ": expected matrices where left=False, got shape ",
              ToString(x.dims()));
  const Value sides = vector ? b.Reshape(x, With(x.dims(), 1)) : x;
  CheckSystem(call, a, sides, left);
  const Lu lu = LuOf(b, a, true);
  RequireNonsingular(b, call, lu.info, call.Bool(3));
  const Pair p = BroadcastPair(b, call, lu.factors, sides);
  const Value order = b.Broadcast(lu.permutation, With(BatchOf(p.a), lu.permutation.dim(-1)));
  Value result = left ? LuSolve(b, p.a, order, p.x, false)
                      : Adjoint(b, LuSolve(b, p.a, order, Adjoint(b, p.x), true));
  if (vector) result = AsVector(b, result);
  return {result, lu.factors, lu.pivots, lu.info};
}

// aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)
Values InvEx(Builder& b, const OpCall& call) {
  const Value a = call.Tensor(0);
  CheckMatrices(call, a, true);
  const Lu lu = LuOf(b, a, true);
  RequireNonsingular(b, call, lu.info, call.Bool(1));
  const Value one = Identity(b, a.dtype(), a.dims());
  return {LuSolve(b, lu.factors, lu.permutation, one, false), lu.info};
}

// 1 or -1 per matrix: the sign of the row exchanges.
Value ExchangeSign(Builder& b, const Lu& lu, DType dtype) {
  const int64_t last = lu.pivots.rank() - 1;
  const Value here = b.Iota(DType::Int, lu.pivots.dims(), last) + 1;
  const Value swaps = Sum(b, b.Convert(b.Ne(lu.pivots, here), DType::Int), {last});
  const Value odd = b.Rem(swaps, b.ConstantLike(swaps, 2));
  return 1.0 - 2.0 * b.Convert(odd, dtype);
}

Value Product(Builder& b, Value x) {
  return b.Reduce("multiply", x, b.Constant(x.dtype(), 1), {x.rank() - 1});
}

// PyTorch's gradients of determinants expect the factors of the transpose where the matrices are
// real and contiguous. The eager room says whether they are; elsewhere they count as contiguous.
Lu LuOfDeterminant(Builder& b, const OpCall& call) {
  const Value a = call.Tensor(0);
  CheckMatrices(call, a, true);
  const bool transposed = call.size() > 1 ? call.Bool(1) : !IsComplex(a.dtype());
  return LuOf(b, transposed ? SwapLast(b, a) : a, true);
}

// aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)
// tpu::_linalg_det(Tensor A, bool transposed) -> the same
Values Det(Builder& b, const OpCall& call) {
  const Lu lu = LuOfDeterminant(b, call);
  const Value diagonal = Diagonal(b, lu.factors);
  return {Product(b, diagonal) * ExchangeSign(b, lu, diagonal.dtype()), lu.factors, lu.pivots};
}

// aten::_linalg_slogdet(Tensor A)
//     -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)
// tpu::_linalg_slogdet(Tensor A, bool transposed) -> the same
Values Slogdet(Builder& b, const OpCall& call) {
  const Lu lu = LuOfDeterminant(b, call);
  const Value diagonal = Diagonal(b, lu.factors);
  const Value sign = Product(b, b.Sign(diagonal)) * ExchangeSign(b, lu, diagonal.dtype());
  return {sign, Sum(b, b.Log(b.Abs(diagonal)), {diagonal.rank() - 1}), lu.factors, lu.pivots};
}

}  // namespace

OpRows LuRows() {
  return {
      {"aten::linalg_lu_factor_ex", LuFactorEx},
      {"aten::linalg_lu", LinalgLu},
      {"aten::lu_unpack", LuUnpack},
      {"aten::linalg_lu_solve", LinalgLuSolve},
      {"aten::_linalg_solve_ex", SolveEx},
      {"aten::linalg_inv_ex", InvEx},
      {"aten::_linalg_det", Det},
      {"aten::_linalg_slogdet", Slogdet},
      {"tpu::_linalg_det", Det},
      {"tpu::_linalg_slogdet", Slogdet},
  };
}

}  // namespace torch_tpu::lowering
