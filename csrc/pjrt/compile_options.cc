#include "pjrt/compile_options.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace torch_tpu::pjrt {
namespace {

// The protobuf wire format, as far as these messages need it.
class Writer {
 public:
  void Varint(int field, int64_t value) {
    Tag(field, 0);
    Raw(static_cast<uint64_t>(value));
  }
  void Double(int field, double value) {
    Tag(field, 1);
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(bits >> (8 * i)));
  }
  void Bytes(int field, std::string_view value) {
    Tag(field, 2);
    Raw(value.size());
    bytes_ += value;
  }
  void Packed(int field, const int64_t* values, size_t size, size_t stride) {
    Writer packed;
    for (size_t i = 0; i < size; ++i) packed.Raw(static_cast<uint64_t>(values[i * stride]));
    Bytes(field, packed.bytes_);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  void Tag(int field, int wire_type) { Raw(static_cast<uint64_t>(field) << 3 | wire_type); }
  void Raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

// xla.DeviceAssignmentProto: one ComputationDevice per partition, listing its replicas.
std::string DeviceAssignment(const CompileOptions& options) {
  Writer w;
  w.Varint(1, options.num_replicas);
  w.Varint(2, options.num_partitions);
  for (int partition = 0; partition < options.num_partitions; ++partition) {
    Writer devices;
    devices.Packed(1, options.device_assignment.data() + partition, options.num_replicas,
                   options.num_partitions);
    w.Bytes(3, devices.Take());
  }
  return w.Take();
}

// xla.ExecutableBuildOptionsProto
std::string BuildOptions(const CompileOptions& options) {
  Writer w;
  w.Varint(1, -1);  // device_ordinal: none; 0 would bind the executable to the first device
  w.Varint(4, options.num_replicas);
  w.Varint(5, options.num_partitions);
  if (options.use_spmd_partitioning) w.Varint(6, 1);
  if (!options.device_assignment.empty()) w.Bytes(9, DeviceAssignment(options));
  if (options.use_shardy_partitioner) w.Varint(19, 1);
  return w.Take();
}

// xla.OptionOverrideProto
std::string Override(const OptionValue& value) {
  Writer w;
  if (const auto* text = std::get_if<std::string>(&value)) {
    w.Bytes(1, *text);
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    w.Varint(2, *flag);
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    w.Varint(3, *number);
  } else {
    w.Double(4, std::get<double>(value));
  }
  return w.Take();
}

}  // namespace

std::string Serialize(const CompileOptions& options) {
  TORCH_CHECK_VALUE(options.num_replicas >= 1 && options.num_partitions >= 1,
                    "compile options: expected at least one replica and one partition, got ",
                    options.num_replicas, " and ", options.num_partitions);
  const int64_t devices = int64_t{options.num_replicas} * options.num_partitions;
  TORCH_CHECK_VALUE(!options.portable || (devices == 1 && options.device_assignment.empty()),
                    "compile options: expected a portable executable to have one device and no "
                    "device assignment, got ",
                    devices, " device(s) and an assignment of ", options.device_assignment.size());
  TORCH_CHECK_VALUE(options.device_assignment.empty() ||
                        static_cast<int64_t>(options.device_assignment.size()) == devices,
                    "compile options: expected a device assignment of ", devices, ", got ",
                    options.device_assignment.size());
  Writer w;
  w.Bytes(3, BuildOptions(options));
  if (options.portable) w.Varint(4, 1);
  auto overrides = options.overrides;
  std::stable_sort(overrides.begin(), overrides.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [name, value] : overrides) {
    Writer entry;
    entry.Bytes(1, name);
    entry.Bytes(2, Override(value));
    w.Bytes(7, entry.Take());
  }
  return w.Take();
}

}  // namespace torch_tpu::pjrt
