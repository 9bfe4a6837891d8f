#include "pjrt/device.h"

#include "pjrt/api.h"

namespace torch_tpu::pjrt {

int Memory::id() const { return PJRT_CALL(api_, Memory_Id, .memory = raw_).id; }

std::string Memory::kind() const {
  const auto got = PJRT_CALL(api_, Memory_Kind, .memory = raw_);
  return std::string(got.kind, got.kind_size);
}

Device::Device(const PJRT_Api* api, PJRT_Device* raw) : api_(api), raw_(raw) {
  PJRT_DeviceDescription* description =
      PJRT_CALL(api, Device_GetDescription, .device = raw).device_description;
  id_ = PJRT_CALL(api, DeviceDescription_Id, .device_description = description).id;
  process_index_ = PJRT_CALL(api, DeviceDescription_ProcessIndex, .device_description = description)
                       .process_index;
  local_hardware_id_ = PJRT_CALL(api, Device_LocalHardwareId, .device = raw).local_hardware_id;
  const auto kind = PJRT_CALL(api, DeviceDescription_Kind, .device_description = description);
  kind_.assign(kind.device_kind, kind.device_kind_size);
  const auto text =
      PJRT_CALL(api, DeviceDescription_DebugString, .device_description = description);
  debug_string_.assign(text.debug_string, text.debug_string_size);
  const auto got = PJRT_CALL(api, DeviceDescription_Attributes, .device_description = description);
  attributes_ = ReadNamedValues(got.attributes, got.num_attributes);
}

std::optional<MemoryStats> Device::memory_stats() const {
  PJRT_Device_MemoryStats_Args got;
  try {
    got = PJRT_CALL(api_, Device_MemoryStats, .device = raw_);
  } catch (const Error& error) {
    if (error.code() == PJRT_Error_Code_UNIMPLEMENTED) return std::nullopt;
    throw;
  }
  const auto optional = [](bool is_set, int64_t value) {
    return is_set ? std::optional<int64_t>(value) : std::nullopt;
  };
  return MemoryStats{
      .bytes_in_use = got.bytes_in_use,
      .peak_bytes_in_use = optional(got.peak_bytes_in_use_is_set, got.peak_bytes_in_use),
      .num_allocs = optional(got.num_allocs_is_set, got.num_allocs),
      .largest_alloc_size = optional(got.largest_alloc_size_is_set, got.largest_alloc_size),
      .bytes_limit = optional(got.bytes_limit_is_set, got.bytes_limit),
      .bytes_reserved = optional(got.bytes_reserved_is_set, got.bytes_reserved),
      .largest_free_block_bytes =
          optional(got.largest_free_block_bytes_is_set, got.largest_free_block_bytes),
      .pool_bytes = optional(got.pool_bytes_is_set, got.pool_bytes),
  };
}

Memory Device::default_memory() const {
  return Memory(api_, PJRT_CALL(api_, Device_DefaultMemory, .device = raw_).memory);
}

}  // namespace torch_tpu::pjrt
