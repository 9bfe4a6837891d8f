// A compiled program, loaded into a client.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "pjrt/event.h"
#include "pjrt/handle.h"
#include "pjrt/named_value.h"
#include "pjrt_c_api.h"

namespace torch_tpu::pjrt {

namespace internal {
void DestroyExecutable(const Client& client, PJRT_Executable* executable) noexcept;
void DestroyLoadedExecutable(const Client& client, PJRT_LoadedExecutable* executable) noexcept;
}  // namespace internal

struct OutputType {
  DType dtype;
  Dims dims;
};

struct CompiledMemoryStats {
  int64_t generated_code_bytes = 0;
  int64_t argument_bytes = 0;
  int64_t output_bytes = 0;
  int64_t alias_bytes = 0;  // of the output bytes, those that reuse an argument
  int64_t temp_bytes = 0;
  int64_t peak_bytes = 0;
  int64_t host_argument_bytes = 0;
  int64_t host_output_bytes = 0;
  int64_t host_temp_bytes = 0;
};

// All const members may be called from several threads at once.
class Executable {
 public:
  // Takes ownership of `raw`, also where the constructor throws.
  Executable(std::shared_ptr<Client> client, PJRT_LoadedExecutable* raw);

  PJRT_LoadedExecutable* raw() const { return loaded_.get(); }
  const std::shared_ptr<Client>& client() const { return loaded_.client(); }

  std::string name() const;
  size_t num_outputs() const { return num_outputs_; }
  std::vector<OutputType> output_types() const;

  // Launches on one device and returns at once. `outputs` has num_outputs() places; on success each
  // holds a buffer that the caller owns, on failure (pjrt::Error) they are all null and no argument
  // was donated. Arguments that the program marks as donated are deleted, unless their index is in
  // `non_donatable`. `done` (may be null) becomes ready when the device has finished. Allocates
  // nothing.
  void Execute(std::span<PJRT_Buffer* const> args, int device_index,
               std::span<const int64_t> non_donatable, std::span<PJRT_Buffer*> outputs,
               Event* done) const;

  // Launches a program of several replicas or partitions on all of its devices at once: one list of
  // arguments and one of outputs per device, in the order of devices(). `done` is null or has one
  // place per device.
  void ExecuteAll(std::span<const std::span<PJRT_Buffer* const>> args,
                  std::span<const std::span<PJRT_Buffer*>> outputs,
                  std::span<const int64_t> non_donatable, std::span<Event> done) const;
  // Positions in Client::devices(). Empty for a portable executable on some plugins.
  std::vector<int> device_indices() const;

  // For Client::Deserialize of the same plugin on the same kind of machine.
  std::string Serialize() const;
  // Plugin-specific names: "flops", "bytes accessed", "optimal_seconds" ...
  NamedValues CostAnalysis() const;
  CompiledMemoryStats MemoryStats() const;
  int64_t code_size() const;
  // The optimized program as the plugin gives it: a serialized HloModuleProto ("hlo",
  // "hlo_with_config") or MLIR.
  struct Program {
    std::string format;
    std::string code;
  };
  Program OptimizedProgram() const;
  std::string Fingerprint() const;

 private:
  // Members are destroyed in reverse: the PJRT_Executable goes before the loaded one.
  Handle<PJRT_LoadedExecutable, internal::DestroyLoadedExecutable> loaded_;
  Handle<PJRT_Executable, internal::DestroyExecutable> executable_;
  size_t num_outputs_ = 0;
};

}  // namespace torch_tpu::pjrt
