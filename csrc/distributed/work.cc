#include "distributed/work.h"

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

namespace torch_tpu::distributed {

CollectiveWork::CollectiveWork(int rank, c10d::OpType type, const char* title,
                               std::vector<at::Tensor> results, c10::Device device, uint64_t number)
    : c10d::Work(rank, type, title, results),
      title_(title),
      results_(std::move(results)),
      future_(c10::make_intrusive<c10::ivalue::Future>(
          c10::ListType::create(c10::TensorType::get()), std::vector<c10::Device>{device})),
      number_(number) {}

bool CollectiveWork::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (timeout == kNoTimeout) {
    cv_.wait(lock, [this] { return completed_; });
  } else if (!cv_.wait_for(lock, timeout, [this] { return completed_; })) {
    C10_THROW_ERROR(DistBackendError,
                    c10::str(title_, ": expected it to be done within ", timeout.count(),
                             " ms, got no end of it. Other ranks may be late or stuck"));
  }
  if (exception_ != nullptr) std::rethrow_exception(exception_);
  return true;
}

void CollectiveWork::Finish(std::exception_ptr error) {
  if (is_finished_.exchange(true)) return;
  finish(error);
  if (error == nullptr) {
    future_->markCompleted(c10::IValue(results_));
  } else {
    future_->setError(error);
  }
}

JoinedWork::JoinedWork(std::vector<c10::intrusive_ptr<c10d::Work>> works)
    : c10d::Work(-1, c10d::OpType::COALESCED), works_(std::move(works)) {}

bool JoinedWork::isCompleted() {
  return std::all_of(works_.begin(), works_.end(),
                     [](const auto& work) { return work->isCompleted(); });
}

bool JoinedWork::isSuccess() const {
  return std::all_of(works_.begin(), works_.end(),
                     [](const auto& work) { return work->isSuccess(); });
}

std::exception_ptr JoinedWork::exception() const {
  for (const auto& work : works_) {
    if (const std::exception_ptr error = work->exception()) return error;
  }
  return nullptr;
}

bool JoinedWork::wait(std::chrono::milliseconds timeout) {
  for (const auto& work : works_) work->wait(timeout);
  return true;
}

std::vector<at::Tensor> JoinedWork::result() {
  std::vector<at::Tensor> results;
  for (const auto& work : works_) {
    for (const at::Tensor& tensor : work->result()) results.push_back(tensor);
  }
  return results;
}

c10::intrusive_ptr<c10::ivalue::Future> JoinedWork::getFuture() {
  c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
      c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
  for (const auto& work : works_) futures.push_back(work->getFuture());
  return c10::collectAll(futures);
}

}  // namespace torch_tpu::distributed
