// Control flow inside a graph that is being traced: its bodies become regions of one call.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "exec/recording.h"

namespace torch_tpu::compile {

// One body. Between Begin and End the thread's calls belong to it; they may read every tensor of
// the graph around it.
class Region {
 public:
  // Stand-ins for what each turn of a loop is given: tensors like `carried`, and like one row of
  // each of `rows`.
  std::vector<at::Tensor> Begin(const std::vector<at::Tensor>& carried,
                                const std::vector<at::Tensor>& rows);
  void End(const std::vector<at::Tensor>& results);
  // Does nothing after End.
  void Abort() { scope_.reset(); }

  const exec::Recording::Region& recorded() const { return recorded_; }
  std::vector<hlo::Type> result_types() const;

 private:
  std::unique_ptr<exec::Recording::Scope> scope_;
  exec::Recording::Region recorded_;
};

// The results of a call over regions. RuntimeError where the regions' results are not of the types
// that the call needs.
std::vector<at::Tensor> AddCond(const at::Tensor& predicate, const Region& on_true,
                                const Region& on_false);
std::vector<at::Tensor> AddWhile(const std::vector<at::Tensor>& carried, const Region& condition,
                                 const Region& body);
// Results: the carried values, then the body's further results stacked along a new first
// dimension.
std::vector<at::Tensor> AddScan(const std::vector<at::Tensor>& carried,
                                const std::vector<at::Tensor>& rows, const Region& body);

}  // namespace torch_tpu::compile
