// Dimension lists and the row-major arithmetic on them.
#pragma once

#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <string>

namespace torch_tpu {

using Dims = c10::SmallVector<int64_t, 6>;
using c10::IntArrayRef;

int64_t NumElements(IntArrayRef dims);
Dims RowMajorStrides(IntArrayRef dims);
bool IsRowMajor(IntArrayRef sizes, IntArrayRef strides);
// "[2, 3]"
std::string ToString(IntArrayRef dims);
// Wraps a negative dimension; IndexError in PyTorch's words when it is out of range (a rank of 0
// counts as 1, as in PyTorch).
int64_t WrapDim(int64_t dim, int64_t rank);
// PyTorch's broadcast rule; RuntimeError naming `op` when the shapes do not fit.
Dims BroadcastDims(IntArrayRef a, IntArrayRef b, std::string_view op);

}  // namespace torch_tpu
