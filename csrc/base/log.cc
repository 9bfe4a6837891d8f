#include "base/log.h"

#include <unistd.h>

#include <string>

namespace torch_tpu {

void Log(std::string_view line) {
  std::string text = "torch_tpu: ";
  text.append(line).push_back('\n');
  // Nothing is left to tell where standard error itself fails.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace torch_tpu
