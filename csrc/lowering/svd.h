// Singular value decomposition.
#pragma once

#include "lowering/matrices.h"

namespace torch_tpu::lowering {

struct Svd {
  Value u;       // [..., m, k]
  Value values;  // real [..., k], descending
  Value vh;      // [..., k, n]
};
// k = min(m, n); `full` makes both factors square. Without `vectors` only values are made.
Svd SvdOf(Builder& b, Value x, bool full, bool vectors);

}  // namespace torch_tpu::lowering
