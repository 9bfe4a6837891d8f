#include "distributed/peers.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <sstream>
#include <thread>

namespace torch_tpu::distributed {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Processes that have it in common can see each other's numbers.
std::string HostIdentity() {
  char space[64] = {};
  if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0) space[0] = '\0';
  return FirstLine("/proc/sys/kernel/random/boot_id") + space;
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, HOST_NAME_MAX);
  return name;
}

// When a process started, in ticks; empty where it has ended (one that its parent did not ask for
// yet included).
std::string StartOf(int64_t pid) {
  const std::string stat = FirstLine("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i) {
    if (i == 3 && (field == "Z" || field == "X")) return "";
  }
  return field;
}

}  // namespace

Peers::Peers(c10::intrusive_ptr<c10d::Store> store, int rank, std::vector<int64_t> global_ranks)
    : store_(store->clone()),
      rank_(rank),
      global_ranks_(std::move(global_ranks)),
      processes_(global_ranks_.size()) {
  std::ostringstream text;
  text << HostIdentity() << ' ' << getpid() << ' ' << StartOf(getpid()) << ' ' << HostName();
  store_->set(Key("process", rank_), text.str());
}

std::string Peers::Key(const char* what, int member) const {
  return std::string("tpu_dist/") + what + "/" + std::to_string(member);
}

std::string Peers::Name(int member) const {
  return "rank " + std::to_string(global_ranks_[member]);
}

std::optional<std::string> Peers::Read(const std::string& key) {
  try {
    if (!store_->check({key})) return std::nullopt;
    const std::vector<uint8_t> bytes = store_->get(key);
    return std::string(bytes.begin(), bytes.end());
  } catch (const std::exception&) {
    return std::nullopt;  // the process that keeps the store may be the one that is gone
  }
}

void Peers::Meet() {
  const std::lock_guard lock(mutex_);
  if (met_) return;
  const std::string host = HostIdentity();
  bool all = true;
  for (int i = 0; i < size(); ++i) {
    Process& process = processes_[i];
    if (process.known || i == rank_) continue;
    if (const auto text = Read(Key("process", i))) {
      std::istringstream fields(*text);
      std::string where;
      fields >> where >> process.pid >> process.start >> process.host;
      process.known = true;
      process.here = where == host;
    } else {
      all = false;
    }
  }
  met_ = all;
}

bool Peers::Look() {
  bool found = false;
  for (Process& process : processes_) {
    if (!process.here || process.gone) continue;
    if (StartOf(process.pid) == process.start) continue;
    process.gone = found = true;
  }
  return found;
}

void Peers::ReadReports() {
  for (int i = 0; i < size(); ++i) {
    if (i == rank_ || !processes_[i].report.empty()) continue;
    if (const auto report = Read(Key("report", i))) processes_[i].report = *report;
  }
}

std::string Peers::Text() const {
  std::string text;
  for (int i = 0; i < size(); ++i) {
    const Process& process = processes_[i];
    // One that said why it gave up went because of another.
    if (!process.gone || !process.report.empty()) continue;
    text += (text.empty() ? "" : ", ") + Name(i) + " (process " + std::to_string(process.pid) +
            " on " + process.host + ") has ended";
  }
  return text;
}

std::string Peers::Gone() {
  const std::lock_guard lock(mutex_);
  if (!Look()) return "";
  ReadReports();
  return Text();
}

bool Peers::HasReports() {
  const std::lock_guard lock(mutex_);
  ReadReports();
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const Process& process) { return !process.report.empty(); });
}

void Peers::Report(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  try {
    store_->set(Key("report", rank_), reason);
  } catch (const std::exception&) {
    // The store is gone with its process; so the others find out by themselves.
  }
}

std::string Peers::Explain(const std::string& error) {
  Meet();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const std::lock_guard lock(mutex_);
  while (true) {
    Look();
    ReadReports();
    if (const std::string gone = Text(); !gone.empty()) return gone;
    std::string reports, silent;
    for (int i = 0; i < size(); ++i) {
      if (i == rank_) continue;
      const std::string& report = processes_[i].report;
      std::string& text = report.empty() ? silent : reports;
      text += (text.empty() ? "" : ", ") + Name(i);
      if (!report.empty()) text += " gave up (" + report + ")";
    }
    const bool over = std::chrono::steady_clock::now() > end;
    if (silent.empty()) return reports;
    if (over) {
      return error + (reports.empty() ? "" : "; " + reports) + "; " + silent +
             " did not answer (alive, or on another host)";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace torch_tpu::distributed
