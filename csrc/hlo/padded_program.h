// One program for every size up to a bound: arrays are padded, the real size comes as an operand,
// and whatever lies in the padding reaches no result.
#pragma once

#include "hlo/size_pattern.h"

namespace torch_tpu::hlo {

// Emits into the empty `out` the program of `pattern`. Parameters and results have the given dims:
// where the program's own vary, at least those at the real size. One more parameter comes last,
// int64[1]: the size, from 1 to the pattern's bound. Throws std::runtime_error with the reason
// where an operation along a padded dimension is not understood.
void EmitPadded(const SizePattern& pattern, c10::ArrayRef<Dims> parameter_dims,
                c10::ArrayRef<Dims> result_dims, Builder& out);

}  // namespace torch_tpu::hlo
