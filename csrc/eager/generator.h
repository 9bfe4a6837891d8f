// The random generator of a device: Philox with a seed and an offset, both operands of the
// programs.
#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>
#include <optional>

namespace torch_tpu::eager {

struct RandomState {
  uint64_t seed;
  uint64_t offset;
};

// The state for one op that draws `count` 32-bit numbers; moves the offset on by `count`, rounded
// up to a multiple of 4 (one Philox block). Takes the device's default generator where none is
// given. Thread-safe. RuntimeError for a generator of another device type.
RandomState NextRandomState(const std::optional<at::Generator>& generator, int device,
                            uint64_t count);

// Starts from a random seed. The reference stays valid. Starts no plugin.
const at::Generator& DefaultGenerator(int device);
at::Generator NewGenerator(int device);
// Seeds every device's default generator, those that only show once the plugin runs included.
void SeedDefaultGenerators(uint64_t seed);

}  // namespace torch_tpu::eager
