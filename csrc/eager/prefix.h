// Results of data-dependent size, as prefixes of padded storages.
#pragma once

#include <ATen/core/Tensor.h>

#include "base/shape.h"

namespace torch_tpu::eager {

// The first `count` entries of dimension 0 of a fresh row-major tensor, which becomes them: its
// storage stays longer than it needs.
inline at::Tensor Prefix(const at::Tensor& padded, int64_t count) {
  Dims sizes(padded.sizes());
  sizes[0] = count;
  padded.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return padded;
}

}  // namespace torch_tpu::eager
