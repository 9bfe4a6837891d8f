// The c10d backend of the device: `tpu_dist`.
#pragma once

#include <memory>
#include <optional>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "distributed/group.h"

namespace torch_tpu::distributed {

// Every collective of c10d, for tensors on tpu of any dtype, strides and offset. A group of one
// rank communicates with nobody.
class ProcessGroupTpu final : public c10d::Backend {
 public:
  struct GroupOptions final : Options {
    using Options::Options;
  };

  // `gloo`: a process group of the same ranks; null for a group of one. `global_ranks` name the
  // ranks in messages. `check_calls`: compare every collective across the ranks.
  ProcessGroupTpu(int rank, int size, c10::intrusive_ptr<c10d::Store> store,
                  c10::intrusive_ptr<c10d::Backend> gloo, std::vector<int64_t> global_ranks,
                  c10::intrusive_ptr<Options> options, bool check_calls);

  const std::string getBackendName() const override { return options_->backend; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  bool supportsCoalescing() const override { return true; }
  bool supportsSplitting() const override { return false; }
  void setTimeout(std::chrono::milliseconds timeout) override;
  void startCoalescing() override;
  WorkRef endCoalescing() override;
  void abort() override;
  c10d::ErrorType getError() override;
  void setSequenceNumberForGroup() override {}  // it starts at 0 on every rank
  uint64_t getSequenceNumberForGroup() override { return number_; }

  WorkRef broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkRef allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkRef allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& options) override;
  WorkRef reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkRef allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override;
  WorkRef allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override;
  WorkRef _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override;
  WorkRef allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkRef gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& options) override;
  WorkRef scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override;
  WorkRef reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkRef _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkRef reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
  WorkRef alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits,
                        const c10d::AllToAllOptions& options) override;
  WorkRef alltoall(Tensors& outputs, Tensors& inputs,
                   const c10d::AllToAllOptions& options) override;
  WorkRef send(Tensors& tensors, int to, int tag) override;
  WorkRef recv(Tensors& tensors, int from, int tag) override;
  WorkRef recvAnysource(Tensors& tensors, int tag) override;
  WorkRef barrier(const c10d::BarrierOptions& options) override;

 private:
  // Hands a collective to the group; alone, copies inputs[i] to outputs[i].
  WorkRef Start(Group::Call call, std::chrono::milliseconds timeout,
                std::function<void(Group& group, const Tensors& inputs, const Tensors& outputs,
                                   std::chrono::milliseconds timeout)>
                    body);
  WorkRef AllReduce(const char* name, const Tensors& tensors, const c10d::ReduceOp& op,
                    std::chrono::milliseconds timeout);
  WorkRef ReduceScatter(const char* name, const Tensors& outputs, const Tensors& inputs,
                        const c10d::ReduceOp& op, std::chrono::milliseconds timeout);
  WorkRef Coalesce(WorkRef work);

  c10::intrusive_ptr<Options> options_;
  std::shared_ptr<Group> group_;  // null: alone
  c10::intrusive_ptr<c10d::Backend> gloo_;
  std::vector<int64_t> global_ranks_;
  bool check_calls_;
  std::atomic<uint64_t> number_{0};
  std::atomic<bool> is_aborted_{false};
  std::optional<std::vector<WorkRef>> coalesced_;
};

}  // namespace torch_tpu::distributed
