// The ranks of a process group, as jobs see them: order, failures, and Gloo underneath.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "distributed/host_array.h"
#include "distributed/peers.h"
#include "distributed/strand.h"
#include "distributed/work.h"

namespace torch_tpu::distributed {

using WorkRef = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

class Group : public std::enable_shared_from_this<Group> {
 public:
  // `gloo` is a process group of the same ranks; `check_calls` compares every collective across
  // them.
  Group(c10::intrusive_ptr<c10d::Backend> gloo, c10::intrusive_ptr<c10d::Store> store,
        std::vector<int64_t> global_ranks, bool check_calls);

  c10d::Backend& gloo() const { return *gloo_; }
  int rank() const { return rank_; }
  int size() const { return peers_.size(); }

  // What a job does on host memory. It may block. Inputs are only read.
  using Body = std::function<void(const Tensors& inputs, const Tensors& outputs)>;
  struct Call {
    c10d::OpType type;
    const char* name;  // "all_reduce"; static lifetime
    Tensors inputs, outputs, results;
    // What must be the same on every rank, besides the name.
    std::string agreed;
    c10::Device device = c10::Device(c10::DeviceType::PrivateUse1, 0);
  };
  // Collectives run one after another in the order of their calls.
  WorkRef Collective(const Call& call, Body body);
  WorkRef Send(const at::Tensor& tensor, int to, int tag);
  // `from` below 0: from anybody.
  WorkRef Receive(const at::Tensor& tensor, int from, int tag);

  // Ends everything under way, and all that is asked for from now on, with this message.
  void Abort(const std::string& reason);
  // Looks after jobs under way. False when there are none.
  bool Watch();
  bool HasJobs();
  bool IsLost();

 private:
  struct Job {
    c10::intrusive_ptr<CollectiveWork> work;
    const char* name;
    std::vector<HostInput> inputs;
    std::list<HostOutput> outputs;
    std::chrono::steady_clock::time_point start;
  };
  using JobRef = std::shared_ptr<Job>;

  JobRef NewJob(const Call& call);
  void Run(Job& job, const std::function<void()>& step);
  void Finish(Job& job);
  void GiveUp(Job& job, const std::exception& error);
  void Agree(const Call& call);
  void RequireUsable(const char* name);
  [[noreturn]] void ThrowLost(const char* name, const std::string& what) const;

  c10::intrusive_ptr<c10d::Backend> gloo_;
  int rank_;
  bool check_calls_;
  Peers peers_;
  std::shared_ptr<Strand> collectives_ = std::make_shared<Strand>();
  std::shared_ptr<Strand> sends_ = std::make_shared<Strand>();
  std::mutex mutex_;
  std::list<JobRef> jobs_;  // under way
  std::string lost_;        // why nothing goes any more
  uint64_t num_calls_ = 0;
  std::atomic<bool> has_met_{false};
  int watches_ = 0;
};

}  // namespace torch_tpu::distributed
