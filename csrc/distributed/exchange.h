// Collectives on host memory that Gloo has not, or only for equal sizes, by messages between pairs.
#pragma once

#include <chrono>

#include "distributed/group.h"
#include "distributed/reduction.h"

namespace torch_tpu::distributed {

struct Message {
  int peer;
  at::Tensor data;  // row-major
};

// Sends and receives all at once; those to and from this rank are copied. Between two ranks
// messages go in order.
void Exchange(Group& group, c10::ArrayRef<Message> sends, c10::ArrayRef<Message> receives,
              std::chrono::milliseconds timeout);

// All ranks' elements, reduced, in `out`.
void AllReduce(Group& group, const Reduction& reduction, c10::ArrayRef<at::Tensor> inputs,
               c10::ArrayRef<at::Tensor> outputs, std::chrono::milliseconds timeout);

// inputs[r] of all ranks, reduced, in the output of rank r. Sums go in the order of the ranks.
void ReduceScatter(Group& group, const Reduction& reduction, c10::ArrayRef<at::Tensor> inputs,
                   const at::Tensor& output, std::chrono::milliseconds timeout);

}  // namespace torch_tpu::distributed
