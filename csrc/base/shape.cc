#include "base/shape.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace torch_tpu {

int64_t NumElements(IntArrayRef dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

Dims RowMajorStrides(IntArrayRef dims) {
  Dims strides(dims.size(), 1);
  for (int64_t i = static_cast<int64_t>(dims.size()) - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * std::max<int64_t>(dims[i + 1], 1);
  }
  return strides;
}

bool IsRowMajor(IntArrayRef sizes, IntArrayRef strides) {
  int64_t expected = 1;
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

std::string ToString(IntArrayRef dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

int64_t WrapDim(int64_t dim, int64_t rank) {
  const int64_t limit = std::max<int64_t>(rank, 1);
  TORCH_CHECK_INDEX(dim >= -limit && dim < limit,
                    "Dimension out of range (expected to be in range of [", -limit, ", ", limit - 1,
                    "], but got ", dim, ")");
  return dim < 0 ? dim + limit : dim;
}

Dims BroadcastDims(IntArrayRef a, IntArrayRef b, std::string_view op) {
  const size_t rank = std::max(a.size(), b.size());
  Dims out(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t da = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t db = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    TORCH_CHECK(da == db || da == 1 || db == 1, op, ": The size of tensor a (", da,
                ") must match the size of tensor b (", db, ") at non-singleton dimension ", i,
                ", got shapes ", ToString(a), " and ", ToString(b));
    out[i] = da == 1 ? db : da;
  }
  return out;
}

}  // namespace torch_tpu
