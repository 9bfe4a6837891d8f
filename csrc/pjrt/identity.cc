// Client::Identity: all that a compiled program depends on besides its text and its options.
#include <c10/util/hash.h>

#include <algorithm>
#include <cstdlib>
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

// The plugin's file by its size and samples of its contents: all of it, hundreds of megabytes,
// would cost a second at each start, and its time differs between machines that have the same
// plugin.
void AppendFile(std::ostream& out, const std::string& path) {
  constexpr int64_t kSamples = 256, kSampleSize = 4096;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return;  // a table that came from no file
  const int64_t size = in.tellg();
  std::string samples;
  for (int64_t i = 0; i < kSamples; ++i) {
    const int64_t at = size / kSamples * i;
    std::string sample(std::min(kSampleSize, size - at), '\0');
    in.seekg(at);
    in.read(sample.data(), static_cast<std::streamsize>(sample.size()));
    samples += sample;
  }
  out << "plugin_file=" << size << ' ' << c10::sha1(samples).str() << '\n';
}

// Flags that XLA reads from the environment.
void AppendFlags(std::ostream& out) {
  for (const char* name : {"XLA_FLAGS", "LIBTPU_INIT_ARGS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') out << name << '=' << value << '\n';
  }
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
    AppendFlags(out);
    out << "devices=" << devices_.size() << '\n';
    if (!devices_.empty()) out << "device_kind=" << devices_[0].kind() << '\n';
    if (platform_name_ == "cpu") out << "processor=" << HostProcessor() << '\n';
    identity_ = out.str();
  });
  return identity_;
}

}  // namespace torch_tpu::pjrt
