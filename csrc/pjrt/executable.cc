#include "pjrt/executable.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "pjrt/client.h"
#include "pjrt/element_type.h"

namespace torch_tpu::pjrt {

namespace internal {
void DestroyExecutable(const Client& client, PJRT_Executable* executable) noexcept {
  PJRT_CALL_NO_THROW(client.table(), Executable_Destroy, .executable = executable);
}
void DestroyLoadedExecutable(const Client& client, PJRT_LoadedExecutable* executable) noexcept {
  PJRT_CALL_NO_THROW(client.table(), LoadedExecutable_Destroy, .executable = executable);
}
}  // namespace internal

Executable::Executable(std::shared_ptr<Client> client, PJRT_LoadedExecutable* raw)
    : loaded_(client, raw),
      executable_(client, PJRT_CALL(client->table(), LoadedExecutable_GetExecutable,
                                    .loaded_executable = raw)
                              .executable),
      num_outputs_(
          PJRT_CALL(client->table(), Executable_NumOutputs, .executable = executable_.get())
              .num_outputs) {}

std::string Executable::name() const {
  const auto got = PJRT_CALL(client()->table(), Executable_Name, .executable = executable_.get());
  return std::string(got.executable_name, got.executable_name_size);
}

std::vector<OutputType> Executable::output_types() const {
  const PJRT_Api* api = client()->table();
  const auto types = PJRT_CALL(api, Executable_OutputElementTypes, .executable = executable_.get());
  const auto dims = PJRT_CALL(api, Executable_OutputDimensions, .executable = executable_.get());
  TORCH_CHECK(types.num_output_types == num_outputs_ && dims.num_outputs == num_outputs_,
              "PJRT_Executable_OutputElementTypes: expected ", num_outputs_, " outputs, got ",
              types.num_output_types, " types and ", dims.num_outputs, " shapes");
  std::vector<OutputType> result;
  result.reserve(num_outputs_);
  const int64_t* next = dims.dims;
  for (size_t i = 0; i < num_outputs_; ++i) {
    result.push_back({FromBufferType(types.output_types[i]), Dims(next, next + dims.dim_sizes[i])});
    next += dims.dim_sizes[i];
  }
  return result;
}

void Executable::Execute(std::span<PJRT_Buffer* const> args, int device_index,
                         std::span<const int64_t> non_donatable, std::span<PJRT_Buffer*> outputs,
                         Event* done) const {
  TORCH_CHECK(outputs.size() == num_outputs_, "Execute: expected places for ", num_outputs_,
              " outputs, got ", outputs.size());
  std::fill(outputs.begin(), outputs.end(), nullptr);
  PJRT_ExecuteOptions options{.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                              .non_donatable_input_indices = non_donatable.data(),
                              .num_non_donatable_input_indices = non_donatable.size()};
  PJRT_Buffer* const* arg_list = args.data();
  PJRT_Buffer** output_list = outputs.data();
  PJRT_Event* event = nullptr;
  PJRT_CALL(client()->table(), LoadedExecutable_Execute, .executable = raw(), .options = &options,
            .argument_lists = &arg_list, .num_devices = 1, .num_args = args.size(),
            .output_lists = &output_list,
            .device_complete_events = done != nullptr ? &event : nullptr,
            .execute_device = client()->device(device_index).raw());
  if (done != nullptr) *done = Event(client(), event);
}

void Executable::ExecuteAll(std::span<const std::span<PJRT_Buffer* const>> args,
                            std::span<const std::span<PJRT_Buffer*>> outputs,
                            std::span<const int64_t> non_donatable, std::span<Event> done) const {
  TORCH_CHECK(args.size() == outputs.size() && (done.empty() || done.size() == args.size()),
              "ExecuteAll: expected as many output lists and events as the ", args.size(),
              " argument lists, got ", outputs.size(), " and ", done.size());
  std::vector<PJRT_Buffer* const*> arg_lists;
  std::vector<PJRT_Buffer**> output_lists;
  for (size_t i = 0; i < args.size(); ++i) {
    TORCH_CHECK(args[i].size() == args[0].size() && outputs[i].size() == num_outputs_,
                "ExecuteAll: expected ", args[0].size(), " arguments and ", num_outputs_,
                " outputs on each device, got ", args[i].size(), " and ", outputs[i].size(),
                " on device ", i);
    std::fill(outputs[i].begin(), outputs[i].end(), nullptr);
    arg_lists.push_back(args[i].data());
    output_lists.push_back(outputs[i].data());
  }
  PJRT_ExecuteOptions options{.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                              .non_donatable_input_indices = non_donatable.data(),
                              .num_non_donatable_input_indices = non_donatable.size()};
  std::vector<PJRT_Event*> events(done.size());
  PJRT_CALL(client()->table(), LoadedExecutable_Execute, .executable = raw(), .options = &options,
            .argument_lists = arg_lists.data(), .num_devices = args.size(),
            .num_args = args.empty() ? 0 : args[0].size(), .output_lists = output_lists.data(),
            .device_complete_events = done.empty() ? nullptr : events.data());
  for (size_t i = 0; i < done.size(); ++i) done[i] = Event(client(), events[i]);
}

std::vector<int> Executable::device_indices() const {
  const auto got =
      PJRT_CALL(client()->table(), LoadedExecutable_AddressableDevices, .executable = raw());
  std::vector<int> result;
  for (size_t i = 0; i < got.num_addressable_devices; ++i) {
    result.push_back(client()->IndexOf(got.addressable_devices[i]));
  }
  return result;
}

std::string Executable::Serialize() const {
  const auto got =
      PJRT_CALL(client()->table(), Executable_Serialize, .executable = executable_.get());
  const std::unique_ptr<PJRT_SerializedExecutable, void (*)(PJRT_SerializedExecutable*)> owner(
      got.serialized_executable, got.serialized_executable_deleter);
  return std::string(got.serialized_bytes, got.serialized_bytes_size);
}

NamedValues Executable::CostAnalysis() const {
  const auto got =
      PJRT_CALL(client()->table(), Executable_GetCostAnalysis, .executable = executable_.get());
  return ReadNamedValues(got.properties, got.num_properties);
}

CompiledMemoryStats Executable::MemoryStats() const {
  const auto got = PJRT_CALL(client()->table(), Executable_GetCompiledMemoryStats,
                             .executable = executable_.get());
  return {.generated_code_bytes = got.generated_code_size_in_bytes,
          .argument_bytes = got.argument_size_in_bytes,
          .output_bytes = got.output_size_in_bytes,
          .alias_bytes = got.alias_size_in_bytes,
          .temp_bytes = got.temp_size_in_bytes,
          .peak_bytes = got.peak_memory_in_bytes,
          .host_argument_bytes = got.host_argument_size_in_bytes,
          .host_output_bytes = got.host_output_size_in_bytes,
          .host_temp_bytes = got.host_temp_size_in_bytes};
}

int64_t Executable::code_size() const {
  return PJRT_CALL(client()->table(), Executable_SizeOfGeneratedCodeInBytes,
                   .executable = executable_.get())
      .size_in_bytes;
}

Executable::Program Executable::OptimizedProgram() const {
  const PJRT_Api* api = client()->table();
  PJRT_Program program{.struct_size = PJRT_Program_STRUCT_SIZE};
  PJRT_CALL(api, Executable_OptimizedProgram, .executable = executable_.get(), .program = &program);
  Program result;
  result.code.resize(program.code_size);
  program.code = result.code.data();
  PJRT_CALL(api, Executable_OptimizedProgram, .executable = executable_.get(), .program = &program);
  result.format.assign(program.format, program.format_size);
  return result;
}

std::string Executable::Fingerprint() const {
  const PJRT_Api* api = client()->table();
  if (PJRT_OFFERS(api, Executable_Fingerprint)) {
    const auto got = PJRT_CALL(api, Executable_Fingerprint, .executable = executable_.get());
    return std::string(got.executable_fingerprint, got.executable_fingerprint_size);
  }
  const auto got = PJRT_CALL(api, LoadedExecutable_Fingerprint, .executable = raw());
  return std::string(got.executable_fingerprint, got.executable_fingerprint_size);
}

}  // namespace torch_tpu::pjrt
