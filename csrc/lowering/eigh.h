// Eigenvalues and eigenvectors of Hermitian matrices.
#pragma once

#include "lowering/matrices.h"

namespace torch_tpu::lowering {

struct Eigh {
  Value values;   // real [..., n], ascending
  Value vectors;  // [..., n, n], in columns
};
// `x` must be Hermitian.
Eigh EighOf(Builder& b, Value x);

}  // namespace torch_tpu::lowering
