#include "base/intern.h"

#include <mutex>
#include <unordered_set>

namespace torch_tpu {

const char* Intern(const std::string& name) {
  static std::mutex mutex;
  static std::unordered_set<std::string>& names = *new std::unordered_set<std::string>();
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();  // a set's elements never move
}

}  // namespace torch_tpu
