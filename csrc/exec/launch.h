// Runs a program on its inputs.
#pragma once

#include <c10/util/SmallVector.h>

#include "exec/executable_cache.h"

namespace torch_tpu::exec {

struct Launched {
  std::shared_ptr<const LoweredProgram> program;
  c10::SmallVector<BufferRef, 4> outputs;  // by the program's output position, check flags left out
  pjrt::Event done;                        // in blocking mode: not waited for yet
};

// Runs `compiled` on arrays by input position (null: no parameter) and the operand packs,
// asynchronously, as work of `stream`. An input that an output replaces is donated unless more than
// `holders` hold its buffer. Throws before anything changed when the device has no room.
struct LaunchInputs {
  c10::ArrayRef<const BufferRef*> arrays;
  int holders;
  c10::ArrayRef<int64_t> ints;
  c10::ArrayRef<double> doubles;
  bool keep_ints;  // the same ints are likely to come again
};
// The caller stores the outputs and then calls Settle.
Launched Run(std::shared_ptr<const CompiledProgram> compiled, int device, int64_t stream,
             const LaunchInputs& inputs);

// Blocking mode: waits, and raises what went wrong. The outputs are stored by then: a failed check
// costs no data.
void Settle(const Launched& launched, int device);

// Finds or compiles the program and launches it on the writer's device, asynchronously, as work of
// `stream`. Inputs that the program overwrites are donated unless somebody else holds their buffer;
// their storages get the new ones. Throws before anything changed when the device has no room.
Launched Launch(ProgramWriter& writer, int64_t stream);

// The contents of `buffer` in an array of other dims: its first elements along each dimension, and
// anything behind them.
BufferRef ResizeOnDevice(const DeviceBuffer& buffer, const Dims& dims);

// Launches the call, or adds it to the thread's recording where there is one, or to the queue of
// the fused mode.
Launched Submit(ProgramWriter& writer, int64_t stream);

}  // namespace torch_tpu::exec
