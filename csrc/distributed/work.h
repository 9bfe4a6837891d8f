// The handle of a collective under way.
#pragma once

#include <torch/csrc/distributed/c10d/Work.hpp>

namespace torch_tpu::distributed {

// Done when the collective has ended on this rank and its outputs hold their elements.
class CollectiveWork final : public c10d::Work {
 public:
  // `title` shows in profiles; `results` is what result() and the future give.
  CollectiveWork(int rank, c10d::OpType type, const char* title, std::vector<at::Tensor> results,
                 c10::Device device, uint64_t number);

  // Blocks. DistBackendError that names the rank where the collective failed, or where `timeout`
  // is over (0: the group's own counts, and nothing more).
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  std::vector<at::Tensor> result() override { return results_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  int sourceRank() const override { return source_rank_; }
  uint64_t getSequencenumber() const override { return number_; }
  void synchronize() override { wait(); }

  void set_source_rank(int rank) { source_rank_ = rank; }
  // The first call counts.
  void Finish(std::exception_ptr error = nullptr);

 private:
  const char* title_;
  std::vector<at::Tensor> results_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  uint64_t number_;
  std::atomic<int> source_rank_{-1};
  std::atomic<bool> is_finished_{false};
};

// Several at once: done when all are.
class JoinedWork final : public c10d::Work {
 public:
  explicit JoinedWork(std::vector<c10::intrusive_ptr<c10d::Work>> works);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void synchronize() override { wait(); }
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  std::vector<c10::intrusive_ptr<c10d::Work>> works_;
};

}  // namespace torch_tpu::distributed
