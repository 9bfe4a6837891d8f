#include "pjrt/client.h"

#include <c10/util/Exception.h>

#include <utility>

#include "pjrt/element_type.h"

namespace torch_tpu::pjrt {

void Client::Destroyer::operator()(PJRT_Client* client) const noexcept {
  PJRT_CALL_NO_THROW(table, Client_Destroy, .client = client);
}

std::shared_ptr<Client> Client::Create(Api api, const NamedValues& options) {
  const std::vector<PJRT_NamedValue> views = ViewNamedValues(options);
  Owner raw(PJRT_CALL(api.table(), Client_Create, .create_options = views.data(),
                      .num_options = views.size())
                .client,
            Destroyer{api.table()});
  ArmForkGuard();
  return std::make_shared<Client>(Passkey{}, std::move(api), std::move(raw));
}

Client::Client(Passkey, Api api, Owner raw) : api_(std::move(api)), raw_(std::move(raw)) {
  const PJRT_Api* table = api_.table();
  PJRT_Client* client = raw_.get();
  const auto name = PJRT_CALL(table, Client_PlatformName, .client = client);
  platform_name_.assign(name.platform_name, name.platform_name_size);
  is_host_memory_ = platform_name_ == "cpu";
  const auto version = PJRT_CALL(table, Client_PlatformVersion, .client = client);
  platform_version_.assign(version.platform_version, version.platform_version_size);
  process_index_ = PJRT_CALL(table, Client_ProcessIndex, .client = client).process_index;
  const auto devices = PJRT_CALL(table, Client_AddressableDevices, .client = client);
  devices_.reserve(devices.num_addressable_devices);
  for (size_t i = 0; i < devices.num_addressable_devices; ++i) {
    devices_.emplace_back(table, devices.addressable_devices[i]);
  }
}

const Device& Client::device(int index) const {
  TORCH_CHECK(index >= 0 && static_cast<size_t>(index) < devices_.size(),
              "tpu: expected a device index from 0 to ", devices_.size() - 1, ", got ", index);
  return devices_[index];
}

int Client::IndexOf(const PJRT_Device* raw) const {
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].raw() == raw) return static_cast<int>(i);
  }
  return -1;
}

Executable Client::Compile(std::string_view mlir_text, std::string_view compile_options) {
  static constexpr std::string_view kFormat = "mlir";
  const PJRT_Program program{
      .struct_size = PJRT_Program_STRUCT_SIZE,
      .code = const_cast<char*>(mlir_text.data()),  // the plugin only reads it
      .code_size = mlir_text.size(),
      .format = kFormat.data(),
      .format_size = kFormat.size()};
  const auto got = PJRT_CALL(table(), Client_Compile, .client = raw(), .program = &program,
                             .compile_options = compile_options.data(),
                             .compile_options_size = compile_options.size());
  return Executable(shared_from_this(), got.executable);
}

Executable Client::Deserialize(std::string_view bytes, std::string_view compile_options) {
  const auto got =
      PJRT_CALL(table(), Executable_DeserializeAndLoad, .client = raw(),
                .serialized_executable = bytes.data(), .serialized_executable_size = bytes.size(),
                .overridden_serialized_compile_options =
                    compile_options.empty() ? nullptr : compile_options.data(),
                .overridden_serialized_compile_options_size = compile_options.size());
  return Executable(shared_from_this(), got.loaded_executable);
}

Buffer Client::BufferFromHost(const void* data, DType dtype, c10::IntArrayRef dims,
                              std::optional<c10::IntArrayRef> byte_strides, int device_index) {
  const c10::IntArrayRef strides = byte_strides.value_or(c10::IntArrayRef());
  TORCH_CHECK(!byte_strides || strides.size() == dims.size(), "BufferFromHost: expected ",
              dims.size(), " strides, got ", strides.size());
  const auto got =
      PJRT_CALL(table(), Client_BufferFromHostBuffer, .client = raw(), .data = data,
                .type = ToBufferType(dtype), .dims = dims.data(), .num_dims = dims.size(),
                .byte_strides = strides.data(), .num_byte_strides = strides.size(),
                .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
                .device = device(device_index).raw());
  // Under these semantics the plugin is done with `data` by now; the event is only to be freed.
  internal::DestroyEvent(*this, got.done_with_host_buffer);
  return Buffer(shared_from_this(), got.buffer, dtype, dims);
}

Buffer Client::CreateUninitialized(DType dtype, c10::IntArrayRef dims, int device_index) {
  const auto got =
      PJRT_CALL(table(), Client_CreateUninitializedBuffer, .client = raw(),
                .shape_dims = dims.data(), .shape_num_dims = dims.size(),
                .shape_element_type = ToBufferType(dtype), .device = device(device_index).raw());
  return Buffer(shared_from_this(), got.buffer, dtype, dims);
}

}  // namespace torch_tpu::pjrt
