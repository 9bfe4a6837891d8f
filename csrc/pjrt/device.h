// A device of a client, and its memories.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pjrt/named_value.h"
#include "pjrt_c_api.h"

namespace torch_tpu::pjrt {

struct MemoryStats {
  int64_t bytes_in_use = 0;
  std::optional<int64_t> peak_bytes_in_use;
  std::optional<int64_t> num_allocs;
  std::optional<int64_t> largest_alloc_size;
  std::optional<int64_t> bytes_limit;
  std::optional<int64_t> bytes_reserved;
  std::optional<int64_t> largest_free_block_bytes;
  std::optional<int64_t> pool_bytes;
};

// Owned by the client, as PJRT has it: a plain view, valid as long as the client.
class Memory {
 public:
  Memory(const PJRT_Api* api, PJRT_Memory* raw) : api_(api), raw_(raw) {}

  PJRT_Memory* raw() const { return raw_; }
  int id() const;
  std::string kind() const;  // "device", "pinned_host", "unpinned_host" ...

 private:
  const PJRT_Api* api_;
  PJRT_Memory* raw_;
};

// Owned by the client: valid as long as it.
class Device {
 public:
  // Reads what never changes, so the getters are free.
  Device(const PJRT_Api* api, PJRT_Device* raw);

  PJRT_Device* raw() const { return raw_; }
  int id() const { return id_; }
  int local_hardware_id() const { return local_hardware_id_; }
  int process_index() const { return process_index_; }
  const std::string& kind() const { return kind_; }  // "TPU v6 lite", "cpu"
  const std::string& debug_string() const { return debug_string_; }
  const NamedValues& attributes() const { return attributes_; }

  // nullopt where the plugin keeps no statistics (the CPU plugin).
  std::optional<MemoryStats> memory_stats() const;
  Memory default_memory() const;

 private:
  const PJRT_Api* api_;
  PJRT_Device* raw_;
  int id_;
  int local_hardware_id_;
  int process_index_;
  std::string kind_;
  std::string debug_string_;
  NamedValues attributes_;
};

}  // namespace torch_tpu::pjrt
