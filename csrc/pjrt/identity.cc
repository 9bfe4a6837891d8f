// Client::Identity: all that a compiled program depends on besides its text and its options.
#include <c10/util/hash.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "pjrt/client.h"

namespace torch_tpu::pjrt {
namespace {

// XLA's CPU backend compiles for the very processor it runs on; loading such code on another one
// would end in SIGILL at best. The first processor speaks for all.
std::string HostProcessor() {
  std::ifstream in("/proc/cpuinfo");
  std::string text;
  for (std::string line; std::getline(in, line) && !line.empty();) {
    for (const char* name : {"vendor_id", "cpu family", "model", "flags", "Features", "CPU "}) {
      if (line.rfind(name, 0) == 0) text += line + '\n';
    }
  }
  return c10::sha1(text).str();
}

void AppendFile(std::ostream& out, const std::string& path) {
  std::error_code status;
  const auto size = std::filesystem::file_size(path, status);
  if (status) return;  // a table that came from no file
  const auto time = std::filesystem::last_write_time(path, status);
  out << "plugin_file=" << std::filesystem::path(path).filename().string() << ' ' << size << ' '
      << (status ? 0 : time.time_since_epoch().count()) << '\n';
}

}  // namespace

const std::string& Client::Identity() const {
  std::call_once(identity_once_, [this] {
    std::ostringstream out;
    out << "platform=" << platform_name_ << '\n'
        << "platform_version=" << platform_version_ << '\n'
        << "api=" << api_.major_version() << '.' << api_.minor_version() << '\n';
    for (const auto& [name, value] : api_.Attributes()) {
      out << name << '=' << ToString(value) << '\n';
    }
    AppendFile(out, api_.path());
    if (!devices_.empty()) out << "device_kind=" << devices_[0].kind() << '\n';
    if (platform_name_ == "cpu") out << "processor=" << HostProcessor() << '\n';
    identity_ = out.str();
  });
  return identity_;
}

}  // namespace torch_tpu::pjrt
