// PyTorch's dtypes and PJRT's element types.
#pragma once

#include <optional>

#include "base/dtype.h"
#include "pjrt_c_api.h"

namespace torch_tpu::pjrt {

// Throws c10::NotImplementedError for a dtype that XLA cannot hold (quantized types, complex32
// ...).
PJRT_Buffer_Type ToBufferType(DType dtype);
std::optional<PJRT_Buffer_Type> TryToBufferType(DType dtype);

// Throws c10::NotImplementedError for an element type that PyTorch does not have.
DType FromBufferType(PJRT_Buffer_Type type);

}  // namespace torch_tpu::pjrt
