// How exact float32 products and convolutions have to be.
#pragma once

#include <cstdint>

namespace torch_tpu::eager {

// XLA's names, with the values of torch.tpu.Precision; torch.set_float32_matmul_precision calls
// them medium, high and highest.
enum class MatmulPrecision : int8_t { kDefault = 0, kHigh = 1, kHighest = 2 };

// The innermost torch.tpu.precision() around the call, else torch.set_float32_matmul_precision.
MatmulPrecision GetMatmulPrecision();

// Sets the override of this thread and of the backward passes that it starts; -1 takes it away.
// Returns what was there, -1 for none.
int ExchangeMatmulPrecision(int precision);

}  // namespace torch_tpu::eager
