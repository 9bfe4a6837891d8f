#include "fake_pjrt/fake_pjrt.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "fake_pjrt/fake_program.h"

namespace torch_tpu::fake_pjrt {
namespace {

FakePlugin* current = nullptr;
// Callbacks run under it and may call in again.
std::recursive_mutex mutex;

struct EventState {
  bool ready = true;
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
  std::vector<std::pair<PJRT_Event_OnReadyCallback, void*>> callbacks;
};

}  // namespace
}  // namespace torch_tpu::fake_pjrt

// PJRT leaves these to the plugin.
struct PJRT_Error {
  PJRT_Error_Code code;
  std::string message;
};
struct PJRT_DeviceDescription {
  int id;
  std::string debug_string;
  PJRT_NamedValue attribute;
};
struct PJRT_Memory {
  int id;
};
struct PJRT_Device {
  PJRT_DeviceDescription description;
  PJRT_Memory memory;
  int64_t bytes_in_use = 0;
  int64_t peak_bytes = 0;
};
struct PJRT_Client {
  PJRT_Device devices[2];
  PJRT_Device* device_list[2];
};
struct PJRT_Event {
  std::shared_ptr<torch_tpu::fake_pjrt::EventState> state;
};
struct PJRT_Buffer {
  torch_tpu::fake_pjrt::Shape shape;
  std::vector<char> data;
  PJRT_Device* device;
  bool deleted = false;
};
struct PJRT_LoadedExecutable {
  std::shared_ptr<torch_tpu::fake_pjrt::Program> program;
  PJRT_Client* client;
};
struct PJRT_Executable {
  std::shared_ptr<torch_tpu::fake_pjrt::Program> program;
  std::vector<PJRT_Buffer_Type> types;
  std::vector<int64_t> dims;
  std::vector<size_t> ranks;
  PJRT_NamedValue cost;
};
struct PJRT_SerializedExecutable {
  std::string bytes;
};

namespace torch_tpu::fake_pjrt {

struct FakePlugin::State {
  std::map<std::string, int> calls;
  std::vector<std::shared_ptr<EventState>> held;
};

struct Functions {
  static PJRT_Error* MakeError(PJRT_Error_Code code, std::string message) {
    Count(Kind::kError, 1);
    return new PJRT_Error{code, std::move(message)};
  }

  static void Count(Kind kind, int change) {
    if (change > 0) ++current->created_[static_cast<int>(kind)];
    current->live_[static_cast<int>(kind)] += change;
  }

  static PJRT_Event* MakeEvent() {
    auto state = std::make_shared<EventState>();
    if (current->hold_events_) {
      state->ready = false;
      current->state_->held.push_back(state);
    } else {
      state->code = current->event_code_;
      state->message = current->event_message_;
    }
    Count(Kind::kEvent, 1);
    return new PJRT_Event{std::move(state)};
  }

  // nullptr where the device is full.
  static PJRT_Buffer* MakeBuffer(Shape shape, PJRT_Device* device) {
    const int64_t bytes = static_cast<int64_t>(shape.bytes());
    if (current->memory_limit_ > 0 && device->bytes_in_use + bytes > current->memory_limit_) {
      return nullptr;
    }
    device->bytes_in_use += bytes;
    device->peak_bytes = std::max(device->peak_bytes, device->bytes_in_use);
    Count(Kind::kBuffer, 1);
    return new PJRT_Buffer{std::move(shape), std::vector<char>(bytes), device};
  }

  static void DeleteData(PJRT_Buffer* buffer) {
    if (buffer->deleted) return;
    buffer->deleted = true;
    buffer->device->bytes_in_use -= static_cast<int64_t>(buffer->data.size());
    buffer->data = {};
  }

  static PJRT_Error* OutOfMemory(size_t bytes) {
    return MakeError(PJRT_Error_Code_RESOURCE_EXHAUSTED,
                     "Out of memory allocating " + std::to_string(bytes) + " bytes.");
  }

  static PJRT_Error* ErrorOf(const EventState& state) {
    return state.code == PJRT_Error_Code_OK ? nullptr : MakeError(state.code, state.message);
  }

  static PJRT_LoadedExecutable* Load(PJRT_Client* client, Program program) {
    Count(Kind::kLoadedExecutable, 1);
    return new PJRT_LoadedExecutable{std::make_shared<Program>(std::move(program)), client};
  }

  // Wraps a function so that it counts and fails on request.
  template <class Args, PJRT_Error* (*kFunction)(Args*), const char* kName>
  static PJRT_Error* Counted(Args* args) {
    const std::lock_guard lock(mutex);
    ++current->calls_;
    ++current->state_->calls[kName];
    const bool fails = current->fail_at_ != 0 && current->calls_ == current->fail_at_;
    if (!fails) return kFunction(args);
    current->failed_function_ = kName;
    // What a destructor calls has no second chance.
    const std::string_view name = kName;
    if (name.ends_with("_Destroy") || name.ends_with("DecreaseExternalReferenceCount")) {
      kFunction(args);
    }
    return MakeError(current->fail_code_, current->fail_message_);
  }

  static void ErrorDestroy(PJRT_Error_Destroy_Args* a) {
    const std::lock_guard lock(mutex);
    Count(Kind::kError, -1);
    delete a->error;
  }
  static void ErrorMessage(PJRT_Error_Message_Args* a) {
    a->message = a->error->message.data();
    a->message_size = a->error->message.size();
  }
  static PJRT_Error* ErrorGetCode(PJRT_Error_GetCode_Args* a) {
    if (current->fail_get_code_) return MakeError(PJRT_Error_Code_INTERNAL, "no code");
    a->code = a->error->code;
    return nullptr;
  }

  static PJRT_Error* PluginInitialize(PJRT_Plugin_Initialize_Args*) { return nullptr; }
  static PJRT_Error* PluginAttributes(PJRT_Plugin_Attributes_Args* a) {
    static PJRT_NamedValue value = [] {
      PJRT_NamedValue v{};
      v.struct_size = PJRT_NamedValue_STRUCT_SIZE;
      v.name = "xla_version";
      v.name_size = 11;
      v.type = PJRT_NamedValue_kInt64;
      v.int64_value = 7;
      v.value_size = 1;
      return v;
    }();
    a->attributes = &value;
    a->num_attributes = 1;
    return nullptr;
  }

  static PJRT_Error* EventDestroy(PJRT_Event_Destroy_Args* a) {
    Count(Kind::kEvent, -1);
    delete a->event;
    return nullptr;
  }
  static PJRT_Error* EventIsReady(PJRT_Event_IsReady_Args* a) {
    a->is_ready = a->event->state->ready;
    return nullptr;
  }
  static PJRT_Error* EventError(PJRT_Event_Error_Args* a) { return ErrorOf(*a->event->state); }
  static PJRT_Error* EventAwait(PJRT_Event_Await_Args* a) {
    if (!a->event->state->ready) throw std::logic_error("Await on a held event would hang");
    return ErrorOf(*a->event->state);
  }
  static PJRT_Error* EventOnReady(PJRT_Event_OnReady_Args* a) {
    if (a->event->state->ready) {
      a->callback(ErrorOf(*a->event->state), a->user_arg);
    } else {
      a->event->state->callbacks.emplace_back(a->callback, a->user_arg);
    }
    return nullptr;
  }

  static PJRT_Error* ClientCreate(PJRT_Client_Create_Args* a) {
    current->seen_.create_options.clear();
    for (size_t i = 0; i < a->num_options; ++i) {
      const PJRT_NamedValue& v = a->create_options[i];
      current->seen_.create_options +=
          std::string(v.name, v.name_size) + "=" +
          (v.type == PJRT_NamedValue_kInt64    ? std::to_string(v.int64_value)
           : v.type == PJRT_NamedValue_kBool   ? std::to_string(v.bool_value)
           : v.type == PJRT_NamedValue_kString ? std::string(v.string_value, v.value_size)
                                               : "?") +
          ";";
    }
    auto* client = new PJRT_Client{};
    for (int i = 0; i < 2; ++i) {
      PJRT_Device& device = client->devices[i];
      device.description.id = 10 + i;
      device.description.debug_string = "fake:" + std::to_string(i);
      PJRT_NamedValue& attribute = device.description.attribute;
      attribute.struct_size = PJRT_NamedValue_STRUCT_SIZE;
      attribute.name = "slot";
      attribute.name_size = 4;
      attribute.type = PJRT_NamedValue_kInt64;
      attribute.int64_value = i;
      attribute.value_size = 1;
      device.memory.id = 20 + i;
      client->device_list[i] = &device;
    }
    Count(Kind::kClient, 1);
    a->client = client;
    return nullptr;
  }
  static PJRT_Error* ClientDestroy(PJRT_Client_Destroy_Args* a) {
    Count(Kind::kClient, -1);
    delete a->client;
    return nullptr;
  }
  static PJRT_Error* ClientPlatformName(PJRT_Client_PlatformName_Args* a) {
    a->platform_name = current->platform_name_.data();
    a->platform_name_size = current->platform_name_.size();
    return nullptr;
  }
  static PJRT_Error* ClientPlatformVersion(PJRT_Client_PlatformVersion_Args* a) {
    a->platform_version = "1.2";
    a->platform_version_size = 3;
    return nullptr;
  }
  static PJRT_Error* ClientProcessIndex(PJRT_Client_ProcessIndex_Args* a) {
    a->process_index = 0;
    return nullptr;
  }
  static PJRT_Error* ClientAddressableDevices(PJRT_Client_AddressableDevices_Args* a) {
    a->addressable_devices = a->client->device_list;
    a->num_addressable_devices = 2;
    return nullptr;
  }
  static PJRT_Error* ClientCompile(PJRT_Client_Compile_Args* a) {
    current->seen_.compile_options.assign(a->compile_options, a->compile_options_size);
    try {
      Program program = ParseProgram(std::string(a->program->code, a->program->code_size));
      program.options = current->seen_.compile_options;
      a->executable = Load(a->client, std::move(program));
    } catch (const std::exception& e) {
      return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, e.what());
    }
    return nullptr;
  }
  static PJRT_Error* ClientBufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args* a) {
    current->seen_.byte_strides.assign(a->byte_strides, a->byte_strides + a->num_byte_strides);
    Shape shape{a->type, {a->dims, a->dims + a->num_dims}};
    const size_t bytes = shape.bytes();
    a->buffer = MakeBuffer(std::move(shape), a->device);
    if (a->buffer == nullptr) return OutOfMemory(bytes);
    if (bytes > 0 && a->num_byte_strides == 0) std::memcpy(a->buffer->data.data(), a->data, bytes);
    a->done_with_host_buffer = MakeEvent();
    return nullptr;
  }

  static PJRT_Error* DescriptionId(PJRT_DeviceDescription_Id_Args* a) {
    a->id = a->device_description->id;
    return nullptr;
  }
  static PJRT_Error* DescriptionProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args* a) {
    a->process_index = 0;
    return nullptr;
  }
  static PJRT_Error* DescriptionAttributes(PJRT_DeviceDescription_Attributes_Args* a) {
    a->attributes = &a->device_description->attribute;
    a->num_attributes = 1;
    return nullptr;
  }
  static PJRT_Error* DescriptionKind(PJRT_DeviceDescription_Kind_Args* a) {
    a->device_kind = "fake kind";
    a->device_kind_size = 9;
    return nullptr;
  }
  static PJRT_Error* DescriptionDebugString(PJRT_DeviceDescription_DebugString_Args* a) {
    a->debug_string = a->device_description->debug_string.data();
    a->debug_string_size = a->device_description->debug_string.size();
    return nullptr;
  }
  static PJRT_Error* DeviceGetDescription(PJRT_Device_GetDescription_Args* a) {
    a->device_description = &a->device->description;
    return nullptr;
  }
  static PJRT_Error* DeviceLocalHardwareId(PJRT_Device_LocalHardwareId_Args* a) {
    a->local_hardware_id = a->device->description.id - 10;
    return nullptr;
  }
  static PJRT_Error* DeviceDefaultMemory(PJRT_Device_DefaultMemory_Args* a) {
    a->memory = &a->device->memory;
    return nullptr;
  }
  static PJRT_Error* DeviceMemoryStats(PJRT_Device_MemoryStats_Args* a) {
    a->bytes_in_use = a->device->bytes_in_use;
    a->peak_bytes_in_use = a->device->peak_bytes;
    a->peak_bytes_in_use_is_set = true;
    a->bytes_limit = current->memory_limit_;
    a->bytes_limit_is_set = current->memory_limit_ > 0;
    return nullptr;
  }
  static PJRT_Error* MemoryId(PJRT_Memory_Id_Args* a) {
    a->id = a->memory->id;
    return nullptr;
  }
  static PJRT_Error* MemoryKind(PJRT_Memory_Kind_Args* a) {
    a->kind = "device";
    a->kind_size = 6;
    return nullptr;
  }

  static PJRT_Error* ExecutableDestroy(PJRT_Executable_Destroy_Args* a) {
    Count(Kind::kExecutable, -1);
    delete a->executable;
    return nullptr;
  }
  static PJRT_Error* ExecutableName(PJRT_Executable_Name_Args* a) {
    a->executable_name = "main";
    a->executable_name_size = 4;
    return nullptr;
  }
  static PJRT_Error* ExecutableNumOutputs(PJRT_Executable_NumOutputs_Args* a) {
    a->num_outputs = a->executable->program->outputs.size();
    return nullptr;
  }
  static PJRT_Error* ExecutableCodeSize(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* a) {
    a->size_in_bytes = static_cast<int64_t>(a->executable->program->text.size());
    return nullptr;
  }
  static PJRT_Error* ExecutableCost(PJRT_Executable_GetCostAnalysis_Args* a) {
    a->properties = &a->executable->cost;
    a->num_properties = 1;
    return nullptr;
  }
  static PJRT_Error* ExecutableOptimized(PJRT_Executable_OptimizedProgram_Args* a) {
    const std::string& text = a->executable->program->text;
    if (a->program->code == nullptr) {
      a->program->code_size = text.size();
    } else {
      std::memcpy(a->program->code, text.data(), text.size());
    }
    a->program->format = "mlir";
    a->program->format_size = 4;
    return nullptr;
  }
  static PJRT_Error* ExecutableSerialize(PJRT_Executable_Serialize_Args* a) {
    Count(Kind::kSerialized, 1);
    a->serialized_executable = new PJRT_SerializedExecutable{a->executable->program->text};
    a->serialized_bytes = a->serialized_executable->bytes.data();
    a->serialized_bytes_size = a->serialized_executable->bytes.size();
    a->serialized_executable_deleter = [](PJRT_SerializedExecutable* e) {
      Count(Kind::kSerialized, -1);
      delete e;
    };
    return nullptr;
  }
  static PJRT_Error* ExecutableDeserialize(PJRT_Executable_DeserializeAndLoad_Args* a) {
    try {
      a->loaded_executable =
          Load(a->client,
               ParseProgram(std::string(a->serialized_executable, a->serialized_executable_size)));
    } catch (const std::exception& e) {
      return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, e.what());
    }
    return nullptr;
  }
  static PJRT_Error* ExecutableOutputTypes(PJRT_Executable_OutputElementTypes_Args* a) {
    a->output_types = a->executable->types.data();
    a->num_output_types = a->executable->types.size();
    return nullptr;
  }
  static PJRT_Error* ExecutableOutputDims(PJRT_Executable_OutputDimensions_Args* a) {
    a->num_outputs = a->executable->ranks.size();
    a->dims = a->executable->dims.data();
    a->dim_sizes = a->executable->ranks.data();
    return nullptr;
  }
  static PJRT_Error* ExecutableFingerprint(PJRT_Executable_Fingerprint_Args* a) {
    a->executable_fingerprint = "print";
    a->executable_fingerprint_size = 5;
    return nullptr;
  }
  static PJRT_Error* ExecutableMemory(PJRT_Executable_GetCompiledMemoryStats_Args* a) {
    a->temp_size_in_bytes = 64;
    return nullptr;
  }

  static PJRT_Error* LoadedDestroy(PJRT_LoadedExecutable_Destroy_Args* a) {
    Count(Kind::kLoadedExecutable, -1);
    delete a->executable;
    return nullptr;
  }
  static PJRT_Error* LoadedGetExecutable(PJRT_LoadedExecutable_GetExecutable_Args* a) {
    Count(Kind::kExecutable, 1);
    auto* executable = new PJRT_Executable{a->loaded_executable->program, {}, {}, {}, {}};
    for (const Shape& shape : executable->program->outputs) {
      executable->types.push_back(shape.type);
      executable->dims.insert(executable->dims.end(), shape.dims.begin(), shape.dims.end());
      executable->ranks.push_back(shape.dims.size());
    }
    PJRT_NamedValue& cost = executable->cost;
    cost.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    cost.name = "flops";
    cost.name_size = 5;
    cost.type = PJRT_NamedValue_kFloat;
    cost.float_value = 6;
    cost.value_size = 1;
    a->executable = executable;
    return nullptr;
  }
  static PJRT_Error* LoadedDevices(PJRT_LoadedExecutable_AddressableDevices_Args* a) {
    a->addressable_devices = a->executable->client->device_list;
    a->num_addressable_devices = 2;
    return nullptr;
  }
  static PJRT_Error* LoadedExecute(PJRT_LoadedExecutable_Execute_Args* a) {
    const Program& program = *a->executable->program;
    PJRT_Client* client = a->executable->client;
    const PJRT_ExecuteOptions& options = *a->options;
    FakePlugin::Seen& seen = current->seen_;
    seen.non_donatable.assign(
        options.non_donatable_input_indices,
        options.non_donatable_input_indices + options.num_non_donatable_input_indices);
    seen.execute_device = -1;
    seen.wants_event = a->device_complete_events != nullptr;
    if (a->num_args != program.donated.size()) {
      return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, "wrong number of arguments");
    }
    for (size_t d = 0; d < a->num_devices; ++d) {
      PJRT_Device* device = a->execute_device != nullptr ? a->execute_device : &client->devices[d];
      if (a->execute_device != nullptr) seen.execute_device = device->description.id - 10;
      for (size_t i = 0; i < a->num_args; ++i) {
        if (a->argument_lists[d][i]->deleted) {
          return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, "argument was deleted");
        }
      }
      std::vector<PJRT_Buffer*> outputs;
      for (size_t i = 0; i < program.outputs.size(); ++i) {
        PJRT_Buffer* output = MakeBuffer(program.outputs[i], device);
        if (output == nullptr) {
          for (PJRT_Buffer* made : outputs) DestroyBuffer(made);
          return OutOfMemory(program.outputs[i].bytes());
        }
        if (i < a->num_args && a->argument_lists[d][i]->data.size() == output->data.size()) {
          output->data = a->argument_lists[d][i]->data;
        }
        outputs.push_back(output);
      }
      std::copy(outputs.begin(), outputs.end(), a->output_lists[d]);
      for (size_t i = 0; i < a->num_args; ++i) {
        const bool kept = std::count(seen.non_donatable.begin(), seen.non_donatable.end(), i) > 0;
        if (program.donated[i] && !kept) DeleteData(a->argument_lists[d][i]);
      }
      if (a->device_complete_events != nullptr) a->device_complete_events[d] = MakeEvent();
    }
    return nullptr;
  }

  static void DestroyBuffer(PJRT_Buffer* buffer) {
    DeleteData(buffer);
    Count(Kind::kBuffer, -1);
    delete buffer;
  }
  static PJRT_Error* BufferDestroy(PJRT_Buffer_Destroy_Args* a) {
    DestroyBuffer(a->buffer);
    return nullptr;
  }
  static PJRT_Error* BufferElementType(PJRT_Buffer_ElementType_Args* a) {
    a->type = a->buffer->shape.type;
    return nullptr;
  }
  static PJRT_Error* BufferDimensions(PJRT_Buffer_Dimensions_Args* a) {
    a->dims = a->buffer->shape.dims.data();
    a->num_dims = a->buffer->shape.dims.size();
    return nullptr;
  }
  static PJRT_Error* BufferSize(PJRT_Buffer_OnDeviceSizeInBytes_Args* a) {
    a->on_device_size_in_bytes = a->buffer->data.size();
    return nullptr;
  }
  static PJRT_Error* BufferDevice(PJRT_Buffer_Device_Args* a) {
    a->device = a->buffer->device;
    return nullptr;
  }
  static PJRT_Error* BufferDelete(PJRT_Buffer_Delete_Args* a) {
    DeleteData(a->buffer);
    return nullptr;
  }
  static PJRT_Error* BufferIsDeleted(PJRT_Buffer_IsDeleted_Args* a) {
    a->is_deleted = a->buffer->deleted;
    return nullptr;
  }
  static PJRT_Error* BufferCopyToDevice(PJRT_Buffer_CopyToDevice_Args* a) {
    a->dst_buffer = MakeBuffer(a->buffer->shape, a->dst_device);
    if (a->dst_buffer == nullptr) return OutOfMemory(a->buffer->shape.bytes());
    a->dst_buffer->data = a->buffer->data;
    return nullptr;
  }
  static PJRT_Error* BufferToHost(PJRT_Buffer_ToHostBuffer_Args* a) {
    current->seen_.host_minor_to_major.clear();
    if (a->host_layout != nullptr) {
      const auto& tiled = a->host_layout->tiled;
      current->seen_.host_minor_to_major.assign(tiled.minor_to_major,
                                                tiled.minor_to_major + tiled.minor_to_major_size);
    }
    if (a->src->deleted) {
      return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, "buffer was deleted");
    }
    if (a->dst_size < a->src->data.size()) {
      return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, "destination too small");
    }
    if (!a->src->data.empty()) std::memcpy(a->dst, a->src->data.data(), a->src->data.size());
    a->event = MakeEvent();
    return nullptr;
  }
  static PJRT_Error* BufferReadyEvent(PJRT_Buffer_ReadyEvent_Args* a) {
    a->event = MakeEvent();
    return nullptr;
  }
  static PJRT_Error* BufferUnsafePointer(PJRT_Buffer_UnsafePointer_Args* a) {
    a->buffer_pointer = reinterpret_cast<uintptr_t>(a->buffer->data.data());
    return nullptr;
  }

  static PJRT_Error* BufferPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* a) {
    a->device_memory_ptr = a->buffer->data.data();
    return nullptr;
  }
  static PJRT_Error* ReferenceAdd(PJRT_Buffer_IncreaseExternalReferenceCount_Args* a) {
    Count(Kind::kReference, 1);
    return nullptr;
  }
  static PJRT_Error* ReferenceDrop(PJRT_Buffer_DecreaseExternalReferenceCount_Args* a) {
    Count(Kind::kReference, -1);
    return nullptr;
  }

  static void Fill(PJRT_Api& table);
};

#define FAKE(Name, Function)                                                                  \
  {                                                                                           \
    static constexpr char kName[] = "PJRT_" #Name;                                            \
    table.PJRT_##Name = &Functions::Counted<PJRT_##Name##_Args, &Functions::Function, kName>; \
  }

void Functions::Fill(PJRT_Api& table) {
  table.struct_size = PJRT_Api_STRUCT_SIZE;
  table.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  table.pjrt_api_version.major_version = PJRT_API_MAJOR;
  table.pjrt_api_version.minor_version = PJRT_API_MINOR;
  table.PJRT_Error_Destroy = &ErrorDestroy;
  table.PJRT_Error_Message = &ErrorMessage;
  table.PJRT_Error_GetCode = &ErrorGetCode;
  FAKE(Plugin_Initialize, PluginInitialize)
  FAKE(Plugin_Attributes, PluginAttributes)
  FAKE(Event_Destroy, EventDestroy)
  FAKE(Event_IsReady, EventIsReady)
  FAKE(Event_Error, EventError)
  FAKE(Event_Await, EventAwait)
  FAKE(Event_OnReady, EventOnReady)
  FAKE(Client_Create, ClientCreate)
  FAKE(Client_Destroy, ClientDestroy)
  FAKE(Client_PlatformName, ClientPlatformName)
  FAKE(Client_PlatformVersion, ClientPlatformVersion)
  FAKE(Client_ProcessIndex, ClientProcessIndex)
  FAKE(Client_AddressableDevices, ClientAddressableDevices)
  FAKE(Client_Compile, ClientCompile)
  FAKE(Client_BufferFromHostBuffer, ClientBufferFromHostBuffer)
  FAKE(DeviceDescription_Id, DescriptionId)
  FAKE(DeviceDescription_ProcessIndex, DescriptionProcessIndex)
  FAKE(DeviceDescription_Attributes, DescriptionAttributes)
  FAKE(DeviceDescription_Kind, DescriptionKind)
  FAKE(DeviceDescription_DebugString, DescriptionDebugString)
  FAKE(Device_GetDescription, DeviceGetDescription)
  FAKE(Device_LocalHardwareId, DeviceLocalHardwareId)
  FAKE(Device_DefaultMemory, DeviceDefaultMemory)
  FAKE(Device_MemoryStats, DeviceMemoryStats)
  FAKE(Memory_Id, MemoryId)
  FAKE(Memory_Kind, MemoryKind)
  FAKE(Executable_Destroy, ExecutableDestroy)
  FAKE(Executable_Name, ExecutableName)
  FAKE(Executable_NumOutputs, ExecutableNumOutputs)
  FAKE(Executable_SizeOfGeneratedCodeInBytes, ExecutableCodeSize)
  FAKE(Executable_GetCostAnalysis, ExecutableCost)
  FAKE(Executable_OptimizedProgram, ExecutableOptimized)
  FAKE(Executable_Serialize, ExecutableSerialize)
  FAKE(Executable_DeserializeAndLoad, ExecutableDeserialize)
  FAKE(Executable_OutputElementTypes, ExecutableOutputTypes)
  FAKE(Executable_OutputDimensions, ExecutableOutputDims)
  FAKE(Executable_Fingerprint, ExecutableFingerprint)
  FAKE(Executable_GetCompiledMemoryStats, ExecutableMemory)
  FAKE(LoadedExecutable_Destroy, LoadedDestroy)
  FAKE(LoadedExecutable_GetExecutable, LoadedGetExecutable)
  FAKE(LoadedExecutable_AddressableDevices, LoadedDevices)
  FAKE(LoadedExecutable_Execute, LoadedExecute)
  FAKE(Buffer_Destroy, BufferDestroy)
  FAKE(Buffer_ElementType, BufferElementType)
  FAKE(Buffer_Dimensions, BufferDimensions)
  FAKE(Buffer_OnDeviceSizeInBytes, BufferSize)
  FAKE(Buffer_Device, BufferDevice)
  FAKE(Buffer_Delete, BufferDelete)
  FAKE(Buffer_IsDeleted, BufferIsDeleted)
  FAKE(Buffer_CopyToDevice, BufferCopyToDevice)
  FAKE(Buffer_ToHostBuffer, BufferToHost)
  FAKE(Buffer_ReadyEvent, BufferReadyEvent)
  FAKE(Buffer_UnsafePointer, BufferUnsafePointer)
  FAKE(Buffer_OpaqueDeviceMemoryDataPointer, BufferPointer)
  FAKE(Buffer_IncreaseExternalReferenceCount, ReferenceAdd)
  FAKE(Buffer_DecreaseExternalReferenceCount, ReferenceDrop)
}

FakePlugin::FakePlugin() : table_{}, state_(std::make_unique<State>()) {
  if (current != nullptr) throw std::logic_error("one FakePlugin at a time");
  current = this;
  Functions::Fill(table_);
}

FakePlugin::~FakePlugin() { current = nullptr; }

void FakePlugin::FailCall(int n, PJRT_Error_Code code, std::string message) {
  fail_at_ = calls_ + n;
  fail_code_ = code;
  fail_message_ = std::move(message);
  failed_function_.clear();
}

int FakePlugin::calls(const std::string& function) const {
  const auto it = state_->calls.find(function);
  return it == state_->calls.end() ? 0 : it->second;
}

void FakePlugin::Finish(PJRT_Error_Code code, std::string message) {
  const std::lock_guard lock(mutex);
  hold_events_ = false;
  for (const auto& event : std::exchange(state_->held, {})) {
    event->ready = true;
    event->code = code;
    event->message = message;
    for (const auto& [callback, user_arg] : event->callbacks) {
      callback(Functions::ErrorOf(*event), user_arg);
    }
  }
}

void FakePlugin::FailEvents(PJRT_Error_Code code, std::string message) {
  event_code_ = code;
  event_message_ = std::move(message);
}

std::string FakePlugin::Leaks() const {
  static constexpr const char* kNames[] = {"error",  "client",     "event",      "buffer",
                                           "loaded", "executable", "serialized", "reference"};
  std::string text;
  for (int i = 0; i < kNumKinds; ++i) {
    if (live_[i] != 0) text += std::string(kNames[i]) + ":" + std::to_string(live_[i]) + " ";
  }
  return text;
}

}  // namespace torch_tpu::fake_pjrt
