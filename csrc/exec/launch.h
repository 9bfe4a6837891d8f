// Runs a program on its inputs.
#pragma once

#include <c10/util/SmallVector.h>

#include "exec/executable_cache.h"

namespace torch_tpu::exec {

struct Launched {
  std::shared_ptr<const CompiledProgram> compiled;
  c10::SmallVector<BufferRef, 4> outputs;  // by the executable's output position
};

// Finds or compiles the program and launches it on the writer's device, asynchronously, as work of
// `stream`. Inputs that the program overwrites are donated unless somebody else holds their buffer;
// their storages get the new ones. Throws before anything changed when the device has no room.
Launched Launch(ProgramWriter& writer, int64_t stream);

// Blocking mode: every launch waits and raises its own errors.
void SetBlocking(bool blocking);
bool IsBlocking();

}  // namespace torch_tpu::exec
