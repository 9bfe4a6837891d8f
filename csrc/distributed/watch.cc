#include "distributed/watch.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "distributed/group.h"

namespace torch_tpu::distributed {
namespace {

class Watcher {
 public:
  void Add(std::shared_ptr<Group> group) {
    const std::lock_guard lock(mutex_);
    const bool was_idle = groups_.empty();
    groups_.insert(std::move(group));
    if (!is_started_) {
      is_started_ = true;
      std::thread([this] { Loop(); }).detach();
    } else if (was_idle) {
      wake_.notify_one();
    }
  }

 private:
  void Loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return !groups_.empty(); });
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      lock.lock();
      const std::set<std::shared_ptr<Group>> groups = groups_;
      lock.unlock();
      std::set<std::shared_ptr<Group>> idle;
      for (const auto& group : groups) {
        if (!group->Watch()) idle.insert(group);
      }
      lock.lock();
      for (const auto& group : idle) {
        if (!group->HasJobs()) groups_.erase(group);  // one may have come in the meantime
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<std::shared_ptr<Group>> groups_;
  bool is_started_ = false;
};

}  // namespace

void WatchOver(std::shared_ptr<Group> group) {
  static Watcher& watcher = *new Watcher();  // its thread outlives static objects
  watcher.Add(std::move(group));
}

}  // namespace torch_tpu::distributed
