// What embedding tables and bags share.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

// The gradient of a table [num_weights, D]: row index[i] receives rows[i], unless it is padding.
// `index` is checked; `rows` is [..., D].
Value TableGradient(Builder& b, Value index, Value rows, int64_t num_weights, int64_t padding_idx,
                    bool scale_by_frequency);

}  // namespace torch_tpu::lowering
