#include "exec/work.h"

namespace torch_tpu::exec {

void WorkQueue::Add(pjrt::Event event) { Add(std::make_shared<pjrt::Event>(std::move(event))); }

void WorkQueue::Add(EventRef event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  if (events_.size() > 16) DropDone();
}

void WorkQueue::DropDone() {
  while (!events_.empty() && events_.front()->IsReady()) events_.pop_front();
}

std::vector<EventRef> WorkQueue::Pending() {
  const std::lock_guard lock(mutex_);
  std::vector<EventRef> pending;
  for (const EventRef& event : events_) {
    if (!event->IsReady()) pending.push_back(event);
  }
  events_.assign(pending.begin(), pending.end());
  return pending;
}

bool WorkQueue::IsDone() { return Pending().empty(); }

void WorkQueue::Wait() {
  for (const EventRef& event : Pending()) {
    try {
      event->Await();
    } catch (const pjrt::Error&) {
      // The outputs of the failed launch are poisoned and raise this at their first read.
    }
  }
}

}  // namespace torch_tpu::exec
