#include "exec/work.h"

#include <mutex>

namespace torch_tpu::exec {

void WorkQueue::Add(pjrt::Event event) {
  const std::lock_guard lock(lock_);
  launched_.push_back(std::move(event));
  if (launched_.size() <= 16) return;
  while (!launched_.empty() && launched_.front().IsReady()) launched_.pop_front();
}

void WorkQueue::Add(EventRef event) {
  const std::lock_guard lock(lock_);
  shared_.push_back(std::move(event));
}

std::vector<EventRef> WorkQueue::Pending() {
  const std::lock_guard lock(lock_);
  for (pjrt::Event& event : launched_) {
    if (!event.IsReady()) shared_.push_back(std::make_shared<pjrt::Event>(std::move(event)));
  }
  launched_.clear();
  std::erase_if(shared_, [](const EventRef& event) { return event->IsReady(); });
  return shared_;
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
