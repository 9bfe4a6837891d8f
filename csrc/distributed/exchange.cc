#include "distributed/exchange.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>

namespace torch_tpu::distributed {
namespace {

using Op = c10d::ReduceOp;

// Of the messages of collectives, apart from those that users give.
constexpr int kTag = (1 << 30) + 17;

void Combine(const at::Tensor& sum, const at::Tensor& next, Op::RedOpType op) {
  switch (op) {
    case Op::SUM:
    case Op::AVG:
      sum.add_(next);
      return;
    case Op::PRODUCT:
      sum.mul_(next);
      return;
    case Op::MIN:
      at::minimum_out(const_cast<at::Tensor&>(sum), sum, next);
      return;
    case Op::MAX:
      at::maximum_out(const_cast<at::Tensor&>(sum), sum, next);
      return;
    case Op::BAND:
      sum.bitwise_and_(next);
      return;
    case Op::BOR:
      sum.bitwise_or_(next);
      return;
    case Op::BXOR:
      sum.bitwise_xor_(next);
      return;
    default:
      TORCH_INTERNAL_ASSERT(false, "no such reduction on host memory");
  }
}

}  // namespace

void Exchange(Group& group, c10::ArrayRef<Message> sends, c10::ArrayRef<Message> receives,
              std::chrono::milliseconds timeout) {
  std::vector<WorkRef> works;
  const at::Tensor* own = nullptr;
  for (const Message& message : receives) {
    if (message.peer == group.rank()) {
      own = &message.data;
    } else if (message.data.numel() > 0) {
      Tensors data = {Bytes(message.data)};
      works.push_back(group.gloo().recv(data, message.peer, kTag));
    }
  }
  for (const Message& message : sends) {
    if (message.peer == group.rank()) {
      if (own != nullptr) own->copy_(message.data.view(own->sizes()));
    } else if (message.data.numel() > 0) {
      Tensors data = {Bytes(message.data)};
      works.push_back(group.gloo().send(data, message.peer, kTag));
    }
  }
  for (const WorkRef& work : works) work->wait(timeout);
}

void AllReduce(Group& group, const Reduction& reduction, c10::ArrayRef<at::Tensor> inputs,
               c10::ArrayRef<at::Tensor> outputs, std::chrono::milliseconds timeout) {
  c10d::AllreduceOptions options;
  options.reduceOp = reduction.gloo_op();
  options.timeout = timeout;
  std::vector<Tensors> data;
  std::vector<WorkRef> works;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (reduction.is_native()) outputs[i].copy_(inputs[i]);
    data.push_back({reduction.is_native() ? outputs[i] : reduction.Load(inputs[i])});
    if (inputs[i].numel() > 0) works.push_back(group.gloo().allreduce(data.back(), options));
  }
  for (const WorkRef& work : works) work->wait();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!reduction.is_native()) reduction.Store(outputs[i], data[i][0]);
  }
}

void ReduceScatter(Group& group, const Reduction& reduction, c10::ArrayRef<at::Tensor> inputs,
                   const at::Tensor& output, std::chrono::milliseconds timeout) {
  const int rank = group.rank(), size = group.size();
  std::vector<Message> sends, receives;
  Tensors parts(size);  // of this rank's output, by the rank that they come from
  parts[rank] = reduction.Load(inputs[rank].view(output.sizes()));
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    sends.push_back({peer, reduction.is_native() ? inputs[peer] : reduction.Load(inputs[peer])});
    parts[peer] = at::empty_like(parts[rank]);
    receives.push_back({peer, parts[peer]});
  }
  Exchange(group, sends, receives, timeout);
  for (int peer = 1; peer < size; ++peer) Combine(parts[0], parts[peer], reduction.gloo_op());
  if (reduction.gloo_op() == Op::AVG) parts[0].div_(size);
  reduction.Store(output, parts[0]);
}

}  // namespace torch_tpu::distributed
