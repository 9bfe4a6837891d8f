// XLA's CompileOptionsProto, written by hand: the protobuf library is not worth its weight here.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace torch_tpu::pjrt {

using OptionValue = std::variant<std::string, bool, int64_t, double>;

struct CompileOptions {
  int num_replicas = 1;
  int num_partitions = 1;
  // A portable executable is bound to no device: Execute chooses one per call. Single-device only.
  bool portable = true;
  // [replica][partition] -> device id, row-major. Empty: the plugin's default. Not with `portable`.
  std::vector<int64_t> device_assignment;
  // With num_partitions > 1: partition by the program's sharding annotations.
  bool use_spmd_partitioning = false;
  bool use_shardy_partitioner = false;
  // XLA debug options by name, e.g. {"xla_cpu_enable_fast_min_max", false}. An unknown name is an
  // error at compile time.
  std::vector<std::pair<std::string, OptionValue>> overrides;
};

// Equal options give equal bytes, whatever the order of `overrides`.
std::string Serialize(const CompileOptions& options);

}  // namespace torch_tpu::pjrt
