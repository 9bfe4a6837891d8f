// LU decomposition with partial pivoting, in LAPACK's conventions.
#pragma once

#include "lowering/matrices.h"

namespace torch_tpu::lowering {

struct Lu {
  Value factors;      // [..., m, n]: unit lower L below the diagonal, U on and above
  Value pivots;       // int32 [..., min(m, n)], from 1: the row that was swapped in
  Value permutation;  // int32 [..., m]: A[permutation] = L U
  Value info;         // int32 [...]: 0, or the first (from 1) zero on U's diagonal
};
Lu LuOf(Builder& b, Value x, bool pivot);

// The permutation of `rows` rows that swapping by `pivots` makes.
Value PermutationOf(Builder& b, Value pivots, int64_t rows);

// Solves A X = B (A^H X = B where `adjoint`) from A's factors.
Value LuSolve(Builder& b, Value factors, Value permutation, Value x, bool adjoint);

}  // namespace torch_tpu::lowering
