// A graph that torch.compile handed over: traced once for each kind of inputs into one program,
// then launched with nothing between the call and the launch.
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/recording.h"

namespace torch_tpu::compile {

class CompiledGraph {
 public:
  // The oldest go first: Python numbers in a graph's inputs make a trace for each value.
  static constexpr size_t kMaxTraces = 64;

  // `static_offsets`: the graph names storage offsets itself (as_strided), so that inputs at other
  // offsets need a trace of their own.
  CompiledGraph(std::string name, bool static_offsets);
  ~CompiledGraph();

  // The results, or nothing where no trace fits the inputs: tensors on one tpu, small CPU tensors
  // and numbers (the values of both count as kind), None.
  std::optional<std::vector<c10::IValue>> Run(c10::ArrayRef<c10::IValue> args);

  // A trace: Begin gives stand-ins for the inputs, and every call on the device by this thread is
  // written down until End, which takes the results and compiles, or Abort.
  std::vector<c10::IValue> Begin(c10::ArrayRef<c10::IValue> args);
  void End(c10::ArrayRef<c10::IValue> results);
  // Names the op that needed the contents of a tensor, if that was why.
  std::string Abort();

  size_t num_traces() const { return traces_.size(); }
  const std::string& name() const { return name_; }
  // StableHLO of the trace that ran last.
  std::string text() const;
  // Its program; null where it launches nothing, or nothing was traced.
  std::shared_ptr<const exec::CompiledProgram> program() const;

 private:
  struct Trace;
  struct Tracing;

  std::string name_;
  bool static_offsets_;
  std::vector<std::unique_ptr<Trace>> traces_;  // by last use; at most kMaxTraces
  std::unique_ptr<Tracing> tracing_;
};

}  // namespace torch_tpu::compile
