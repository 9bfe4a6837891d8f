#include "eager/event.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "eager/stream.h"
#include "exec/fused_queue.h"
#include "exec/runtime.h"

namespace torch_tpu::eager {

void Event::Record(const c10::Stream& stream) {
  CheckStream(stream);
  Snapshot snapshot;
  snapshot.device = stream.device_index();
  if (exec::Runtime::IsStarted()) {
    exec::FusedQueue::FlushAll();
    snapshot.work = exec::Runtime::Get().device(stream.device_index()).work(stream.id()).Pending();
  }
  if (timing_) snapshot.completion = Watch(snapshot.work);
  const std::lock_guard lock(mutex_);
  snapshot_ = std::move(snapshot);
}

std::shared_ptr<Event::Completion> Event::Watch(const std::vector<exec::EventRef>& work) {
  const auto now = [] { return Clock::now().time_since_epoch().count(); };
  auto completion = std::make_shared<Completion>();
  completion->remaining = work.size();
  completion->last = now();
  for (const exec::EventRef& event : work) {
    // Runs where the work failed, too: then it is over as well.
    event->OnReady([completion, now](const std::optional<pjrt::Error>&) {
      const Clock::rep time = now();
      Clock::rep last = completion->last;
      while (time > last && !completion->last.compare_exchange_weak(last, time)) {
      }
      if (--completion->remaining == 0) completion->remaining.notify_all();
    });
  }
  return completion;
}

void Event::Block(const c10::Stream& stream) const {
  CheckStream(stream);
  const Snapshot recorded = snapshot();
  if (recorded.work.empty()) return;
  exec::FusedQueue::FlushAll();
  exec::WorkQueue& queue = exec::Runtime::Get().device(stream.device_index()).work(stream.id());
  for (const exec::EventRef& event : recorded.work) {
    if (!event->IsReady()) queue.Add(event);
  }
}

bool Event::Query() const { return IsDone(snapshot()); }

bool Event::IsDone(const Snapshot& snapshot) {
  // With timing, "done" must imply that the time is known.
  if (snapshot.completion != nullptr) return snapshot.completion->remaining == 0;
  return std::all_of(snapshot.work.begin(), snapshot.work.end(),
                     [](const exec::EventRef& event) { return event->IsReady(); });
}

void Event::Synchronize() const {
  const Snapshot recorded = snapshot();
  if (recorded.device < 0) return;
  for (const exec::EventRef& event : recorded.work) {
    try {
      event->Await();
    } catch (const pjrt::Error&) {
      // The outputs of the failed launch are poisoned and raise this at their first read.
    }
  }
  if (recorded.completion != nullptr) {
    std::atomic<size_t>& remaining = recorded.completion->remaining;
    while (const size_t n = remaining) remaining.wait(n);
  }
  if (exec::Runtime::IsStarted()) {
    exec::FusedQueue::FlushAll();
    exec::Runtime::Get().device(recorded.device).RaiseFailedChecks();
  }
}

double Event::ElapsedTime(const Event& start, const Event& end) {
  const Snapshot first = start.snapshot(), second = end.snapshot();
  TORCH_CHECK_VALUE(start.timing_ && end.timing_,
                    "Event.elapsed_time: expected two events made with enable_timing=True");
  TORCH_CHECK_VALUE(first.device >= 0 && second.device >= 0,
                    "Event.elapsed_time: expected two recorded events");
  TORCH_CHECK(IsDone(first) && IsDone(second),
              "Event.elapsed_time: expected two completed events. Call synchronize() first");
  const Clock::duration elapsed{second.completion->last - first.completion->last};
  return std::chrono::duration<double, std::milli>(elapsed).count();
}

Event::Snapshot Event::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

}  // namespace torch_tpu::eager
