// One thread that looks after the groups that wait for other processes.
#pragma once

#include <memory>

namespace torch_tpu::distributed {

class Group;

// Calls Group::Watch about ten times a second until it says that there is nothing to wait for.
void WatchOver(std::shared_ptr<Group> group);

}  // namespace torch_tpu::distributed
