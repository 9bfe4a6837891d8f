// The arguments of slice, select and diagonal as PyTorch reads them.
#pragma once

#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>

#include "lowering/op_call.h"

namespace torch_tpu::lowering {

struct SliceBounds {
  int64_t dim, start, end, step;
};

// (dim, start, end, step) from argument `i` on; out-of-range bounds are clipped as in Python.
inline SliceBounds ReadSlice(const OpCall& call, int i, const Dims& sizes) {
  TORCH_CHECK(!sizes.empty(), call.name(), ": expected at least one dimension, got []");
  const int64_t dim = call.Dim(i, static_cast<int64_t>(sizes.size())), n = sizes[dim];
  int64_t start = call.IntOr(i + 1, 0),
          end = call.IntOr(i + 2, std::numeric_limits<int64_t>::max());
  const int64_t step = call.Int(i + 3);
  TORCH_CHECK(step > 0, call.name(), ": expected step > 0, got ", step);
  if (start < 0) start += n;
  if (end < 0) end += n;
  start = std::clamp<int64_t>(start, 0, n);
  end = std::clamp(end, start, n);
  return {dim, start, end, step};
}

// One index of dimension argument `dim`, as a slice of length 1.
inline SliceBounds ReadSelect(const OpCall& call, int dim_arg, int index_arg, const Dims& sizes) {
  TORCH_CHECK_INDEX(!sizes.empty(), call.name(), ": expected at least one dimension, got []");
  const int64_t dim = call.Dim(dim_arg, static_cast<int64_t>(sizes.size())), n = sizes[dim];
  int64_t index = call.Int(index_arg);
  TORCH_CHECK_INDEX(index >= -n && index < n, call.name(), ": expected an index in [", -n, ", ", n,
                    "), got ", index);
  if (index < 0) index += n;
  return {dim, index, index + 1, 1};
}

struct DiagonalBounds {
  int64_t offset, dim1, dim2;
  int64_t row, column, length;  // where it starts, how long it is
  Dims others;                  // all other dimensions
};

// (offset, dim1, dim2) from argument `i` on.
inline DiagonalBounds ReadDiagonal(const OpCall& call, int i, const Dims& sizes) {
  const int64_t rank = static_cast<int64_t>(sizes.size());
  DiagonalBounds d{call.Int(i), call.Dim(i + 1, rank), call.Dim(i + 2, rank), 0, 0, 0, {}};
  TORCH_CHECK(d.dim1 != d.dim2, call.name(), ": expected two different dimensions, got ", d.dim1,
              " twice");
  d.row = std::max<int64_t>(-d.offset, 0);
  d.column = std::max<int64_t>(d.offset, 0);
  d.length = std::max<int64_t>(std::min(sizes[d.dim1] - d.row, sizes[d.dim2] - d.column), 0);
  for (int64_t k = 0; k < rank; ++k) {
    if (k != d.dim1 && k != d.dim2) d.others.push_back(k);
  }
  return d;
}

}  // namespace torch_tpu::lowering
