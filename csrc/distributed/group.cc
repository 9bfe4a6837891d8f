#include "distributed/group.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <map>

#include "distributed/watch.h"

namespace torch_tpu::distributed {
namespace {

using Clock = std::chrono::steady_clock;

// Calls that differ between ranks: nobody has begun, so the group stays usable.
class Disagreement : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace

Group::Group(c10::intrusive_ptr<c10d::Backend> gloo, c10::intrusive_ptr<c10d::Store> store,
             std::vector<int64_t> global_ranks, bool check_calls)
    : gloo_(std::move(gloo)),
      rank_(gloo_->getRank()),
      check_calls_(check_calls),
      peers_(std::move(store), rank_, std::move(global_ranks)) {}

void Group::ThrowLost(const char* name, const std::string& what) const {
  C10_THROW_ERROR(DistBackendError, c10::str(name, ": expected all ", size(),
                                             " ranks of the group to take part, got: ", what));
}

void Group::RequireUsable(const char* name) {
  std::string lost;
  {
    const std::lock_guard lock(mutex_);
    lost = lost_;
  }
  if (!lost.empty()) ThrowLost(name, lost);
}

Group::JobRef Group::NewJob(const Call& call) {
  RequireUsable(call.name);
  auto job = std::make_shared<Job>();
  job->name = call.name;
  job->start = Clock::now();
  // All inputs before the first output: they may lie in one storage.
  for (const at::Tensor& input : call.inputs) job->inputs.emplace_back(input);
  for (const at::Tensor& output : call.outputs) job->outputs.emplace_back(output, call.name);
  {
    const std::lock_guard lock(mutex_);
    job->work = c10::make_intrusive<CollectiveWork>(rank_, call.type, call.name, call.results,
                                                    call.device, num_calls_++);
    jobs_.push_back(job);
  }
  WatchOver(shared_from_this());
  return job;
}

void Group::Finish(Job& job) {
  for (HostOutput& output : job.outputs) output.Complete();
  job.inputs.clear();
  {
    const std::lock_guard lock(mutex_);
    jobs_.remove_if([&](const JobRef& other) { return other.get() == &job; });
  }
  job.work->Finish();
}

void Group::Run(Job& job, const std::function<void()>& step) {
  try {
    RequireUsable(job.name);
    step();
  } catch (const Disagreement& error) {
    for (HostOutput& output : job.outputs) output.Fail(error.what());
    {
      const std::lock_guard lock(mutex_);
      jobs_.remove_if([&](const JobRef& other) { return other.get() == &job; });
    }
    job.work->Finish(std::make_exception_ptr(
        c10::DistBackendError({__func__, __FILE__, __LINE__}, error.what())));
  } catch (const std::exception& error) {
    GiveUp(job, error);
  }
}

void Group::GiveUp(Job& job, const std::exception& error) {
  const auto* c10_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = c10_error == nullptr ? error.what() : c10_error->what_without_backtrace();
  bool is_first;
  {
    const std::lock_guard lock(mutex_);
    is_first = lost_.empty();
  }
  if (!is_first) return;  // Abort has ended this job
  peers_.Report(std::string(job.name) + ": " + text);
  Abort(peers_.Explain(text));
}

void Group::Abort(const std::string& reason) {
  std::list<JobRef> jobs;
  {
    const std::lock_guard lock(mutex_);
    if (!lost_.empty()) return;
    lost_ = reason.empty() ? "an unknown failure" : reason;
    jobs.swap(jobs_);
  }
  for (const JobRef& job : jobs) {
    try {
      ThrowLost(job->name, lost_);
    } catch (const c10::Error& error) {
      for (HostOutput& output : job->outputs) output.Fail(error.what_without_backtrace());
      job->work->Finish(std::current_exception());
    }
  }
}

bool Group::IsLost() {
  const std::lock_guard lock(mutex_);
  return !lost_.empty();
}

bool Group::HasJobs() {
  const std::lock_guard lock(mutex_);
  return !jobs_.empty();
}

bool Group::Watch() {
  Clock::time_point oldest;
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty() || !lost_.empty()) return false;
    oldest = jobs_.front()->start;
  }
  if (Clock::now() - oldest < std::chrono::milliseconds(150)) return true;
  peers_.Meet();
  std::string why = peers_.Gone();
  if (why.empty() && ++watches_ % 10 == 0 && peers_.HasReports()) {
    why = peers_.Explain("another rank gave up");
  }
  if (!why.empty()) Abort(why);
  return why.empty();
}

void Group::Agree(const Call& call) {
  constexpr int64_t kLength = 512;
  std::string text = std::string(call.name) + " " + call.agreed;
  if (text.size() >= kLength) text.resize(kLength - 1);
  at::Tensor mine = at::zeros({kLength}, at::kByte);
  std::memcpy(mine.mutable_data_ptr(), text.data(), text.size());
  at::Tensor all = at::empty({kLength * size()}, at::kByte);
  gloo_->_allgather_base(all, mine)->wait();
  std::map<std::string, std::string> callers;  // by what they called
  for (int i = 0; i < size(); ++i) {
    const auto* theirs = all.const_data_ptr<uint8_t>() + i * kLength;
    std::string& ranks = callers[reinterpret_cast<const char*>(theirs)];
    ranks += (ranks.empty() ? "" : ", ") + peers_.Name(i);
  }
  if (callers.size() == 1) return;
  std::string got;
  for (const auto& [what, ranks] : callers) got += (got.empty() ? "" : "; ") + ranks + ": " + what;
  throw Disagreement(
      c10::str(call.name, ": expected the same collective on every rank, got ", got));
}

WorkRef Group::Collective(const Call& call, Body body) {
  const JobRef job = NewJob(call);
  Call kept = call;
  kept.inputs.clear(), kept.outputs.clear(), kept.results.clear();
  collectives_->Add([self = shared_from_this(), job, kept, body = std::move(body)] {
    self->Run(*job, [&] {
      if (self->check_calls_) self->Agree(kept);
      Tensors inputs, outputs;
      for (const HostInput& input : job->inputs) inputs.push_back(input.Get());
      for (const HostOutput& output : job->outputs) outputs.push_back(output.host());
      body(inputs, outputs);
      inputs.clear(), outputs.clear();
      self->Finish(*job);
      if (!self->has_met_.exchange(true)) self->peers_.Meet();
    });
  });
  return job->work;
}

WorkRef Group::Send(const at::Tensor& tensor, int to, int tag) {
  const JobRef job =
      NewJob({c10d::OpType::SEND, "send", {tensor}, {}, {tensor}, "", tensor.device()});
  // Begun in the order of the calls, since messages with one tag are told apart by nothing else.
  sends_->Add([self = shared_from_this(), job, to, tag] {
    self->Run(*job, [&] {
      Tensors message = {Bytes(job->inputs[0].Get())};
      WorkRef sent = self->gloo_->send(message, to, tag);
      RunOnThread([self, job, message, sent] {
        self->Run(*job, [&] {
          sent->wait();
          self->Finish(*job);
        });
      });
    });
  });
  return job->work;
}

WorkRef Group::Receive(const at::Tensor& tensor, int from, int tag) {
  const bool any = from < 0;
  const JobRef job = NewJob({any ? c10d::OpType::RECVANYSOURCE : c10d::OpType::RECV,
                             "recv",
                             {},
                             {tensor},
                             {tensor},
                             "",
                             tensor.device()});
  Run(*job, [&] {
    // Begun here: the buffers of several receives must wait for their messages at the same time.
    Tensors message = {Bytes(job->outputs.front().host())};
    WorkRef received = any ? gloo_->recvAnysource(message, tag) : gloo_->recv(message, from, tag);
    RunOnThread([self = shared_from_this(), job, message, received, any, from] {
      self->Run(*job, [&] {
        received->wait();
        job->work->set_source_rank(any ? received->sourceRank() : from);
        self->Finish(*job);
      });
    });
  });
  return job->work;
}

}  // namespace torch_tpu::distributed
