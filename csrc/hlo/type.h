// The type of a value: element type and static dimensions.
#pragma once

#include <string>

#include "base/dtype.h"
#include "base/shape.h"

namespace torch_tpu::hlo {

struct Type {
  DType dtype = DType::Float;
  Dims dims;

  bool operator==(const Type& other) const { return dtype == other.dtype && dims == other.dims; }
};

}  // namespace torch_tpu::hlo
