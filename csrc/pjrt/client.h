// A running plugin with its devices.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "pjrt/api.h"
#include "pjrt/buffer.h"
#include "pjrt/device.h"
#include "pjrt/executable.h"
#include "pjrt_c_api.h"

namespace torch_tpu::pjrt {

// Every buffer, event and executable holds a shared_ptr to its client, which thereby ends last.
// All members may be called from several threads at once.
class Client : public std::enable_shared_from_this<Client> {
 public:
  // Options are the plugin's own, e.g. {"cpu_device_count", 4}.
  static std::shared_ptr<Client> Create(Api api, const NamedValues& options = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Api& api() const { return api_; }
  const PJRT_Api* table() const { return api_.table(); }
  PJRT_Client* raw() const { return raw_.get(); }

  const std::string& platform_name() const { return platform_name_; }  // "tpu", "cpu", "cuda"
  const std::string& platform_version() const { return platform_version_; }
  int process_index() const { return process_index_; }
  // Whether device memory is the host's own, in row-major order: the CPU plugin.
  bool is_host_memory() const { return is_host_memory_; }

  // The addressable ones. Indices in this room are positions in this vector.
  const std::vector<Device>& devices() const { return devices_; }
  // c10::Error where there is no such device.
  const Device& device(int index) const;
  // The position of `raw`; -1 where it is not addressable.
  int IndexOf(const PJRT_Device* raw) const;

  // `compile_options` comes from pjrt::Serialize(CompileOptions).
  Executable Compile(std::string_view mlir_text, std::string_view compile_options);
  // Loads what Executable::Serialize gave. Empty options: those it was compiled with.
  Executable Deserialize(std::string_view bytes, std::string_view compile_options = {});

  // Copies; `data` may be freed on return. `byte_strides`: one per dimension, row-major where
  // absent.
  Buffer BufferFromHost(const void* data, DType dtype, c10::IntArrayRef dims,
                        std::optional<c10::IntArrayRef> byte_strides, int device_index);
  // Uninitialized memory. c10::NotImplementedError's cause (pjrt::Error UNIMPLEMENTED) where the
  // plugin has no such call.
  Buffer CreateUninitialized(DType dtype, c10::IntArrayRef dims, int device_index);

  // What a compiled program depends on besides its text and options: platform, versions, the
  // plugin's file, device kind and, on a CPU, the processor's features. For cache keys.
  const std::string& Identity() const;

 private:
  struct Destroyer {
    const PJRT_Api* table;
    void operator()(PJRT_Client* client) const noexcept;
  };
  using Owner = std::unique_ptr<PJRT_Client, Destroyer>;
  struct Passkey {};

 public:
  // Reached through Create only.
  Client(Passkey, Api api, Owner raw);

 private:
  Api api_;
  Owner raw_;
  std::string platform_name_;
  std::string platform_version_;
  int process_index_ = 0;
  bool is_host_memory_ = false;
  std::vector<Device> devices_;
  mutable std::once_flag identity_once_;
  mutable std::string identity_;
};

}  // namespace torch_tpu::pjrt
