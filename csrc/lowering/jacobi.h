// Jacobi's one-sided rotations: what eigenvectors and singular vectors are found by.
#pragma once

#include "lowering/matrices.h"

namespace torch_tpu::lowering {

// Rotates the rows of matrices [..., n, m] among one another until they are orthogonal to each
// other within rounding. Which row ends where is not said.
Value OrthogonalRows(Builder& b, Value x);

// Euclidean norms of the rows, [..., n].
Value RowNorms(Builder& b, Value x);

}  // namespace torch_tpu::lowering
