// Batches of matrices [..., m, n]: shapes, triangles, diagonals and what decompositions share.
#pragma once

#include <utility>

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

// RuntimeError naming the op unless `x` holds matrices (square ones) of a type that LAPACK has.
void CheckMatrices(const OpCall& call, Value x, bool square = false);

// Leading dimensions of a batch of matrices, and a shape made of them.
Dims BatchOf(Value x);
Dims With(Dims batch, int64_t rows, int64_t columns);
Dims With(Dims batch, int64_t size);

Value SwapLast(Builder& b, Value x);
Value Adjoint(Builder& b, Value x);  // conjugate transpose

Value RowIota(Builder& b, const Dims& dims);
Value ColumnIota(Builder& b, const Dims& dims);
// Elements on and below (above) diagonal number `offset`; zeros elsewhere.
Value Triangle(Builder& b, Value x, bool lower, int64_t offset = 0);
Value Identity(Builder& b, DType dtype, const Dims& dims);
// The main diagonal, [..., min(m, n)].
Value Diagonal(Builder& b, Value x);
// A vector [..., k] against the rows (columns) of matrices of shape `dims`.
Value OverRows(Builder& b, Value vector, const Dims& dims);
Value OverColumns(Builder& b, Value vector, const Dims& dims);
// x[.., rows, columns] of the upper left corner.
Value Corner(Builder& b, Value x, int64_t rows, int64_t columns);
// x enlarged to that corner by zeros.
Value PadTo(Builder& b, Value x, int64_t rows, int64_t columns);
// Rows of x by int32 `index` [..., k], per matrix.
Value TakeRows(Builder& b, Value x, Value index);
// A real vector or matrix in x's type.
Value AsTypeOf(Builder& b, Value real, Value x);
// |re| + |im|: what LAPACK compares complex pivots by.
Value Abs1(Builder& b, Value x);
// Every element of x is finite, as a 0-d bool.
Value AllFinite(Builder& b, Value x);

// The power of two at the largest magnitude over `dims` (kept as 1s), 1 where that is zero or not
// finite: dividing by it rounds nothing, and squares then neither overflow nor vanish.
Value ScaleOver(Builder& b, Value x, IntArrayRef dims);

struct Pair {
  Value a, x;
};

// Matrices `a` and right hand sides `x` with one batch shape.
Pair BroadcastPair(Builder& b, const OpCall& call, Value a, Value x);
// PyTorch's rule for when right hand sides `x` of `a` are vectors, not matrices.
bool IsVectorSide(Value a, Value x);
// `a` square, of x's type and fitting x from the left (right).
void CheckSystem(const OpCall& call, Value a, Value x, bool left);
Value SolveTriangular(Builder& b, Pair p, bool left, bool lower, bool unit,
                      std::string_view transpose);

}  // namespace torch_tpu::lowering
