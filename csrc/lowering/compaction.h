// Results whose size depends on the data, as a prefix of a result of the largest possible size.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

struct Compaction {
  Value positions;  // int32 [n]: where the mask is true, ascending; whatever in range behind them
  Value count;      // int32, 0-d
};

// `mask`: bool vector of fewer than 2^31 entries.
Compaction Compact(Builder& b, Value mask);

}  // namespace torch_tpu::lowering
