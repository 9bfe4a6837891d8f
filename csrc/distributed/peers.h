// The processes of a group: whether they are alive, and what went wrong in which of them.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace torch_tpu::distributed {

class Peers {
 public:
  // Says in the store who this process is. `global_ranks` name the members in messages.
  Peers(c10::intrusive_ptr<c10d::Store> store, int rank, std::vector<int64_t> global_ranks);

  int size() const { return static_cast<int>(global_ranks_.size()); }
  // "rank 3", by the member's position in the group.
  std::string Name(int member) const;
  // Reads who the others are, once; every member must have made its Peers.
  void Meet();
  // Says which members' processes have ended; empty: none is known to have. Costs a file read for
  // each member of this host and asks the store only when one is gone.
  std::string Gone();
  // True when a member told that it gave up. Asks the store.
  bool HasReports();
  // Tells the others that this member gave up, and why.
  void Report(const std::string& reason);
  // What is known of the others after `error`: who is gone, who reported what, who is silent. Waits
  // up to two seconds for it to become known.
  std::string Explain(const std::string& error);

 private:
  struct Process {
    bool known = false;
    bool here = false;  // on this host: it can be looked at
    int64_t pid = 0;
    std::string start, host;
    bool gone = false;
    std::string report;  // what it said before it went
  };

  bool Look();  // for processes that have ended since
  void ReadReports();
  std::string Text() const;  // of those that are gone; empty: none
  std::string Key(const char* what, int member) const;
  std::optional<std::string> Read(const std::string& key);

  std::mutex mutex_;
  c10::intrusive_ptr<c10d::Store> store_;  // a connection of its own: others may block theirs
  int rank_;
  std::vector<int64_t> global_ranks_;
  std::vector<Process> processes_;
  bool met_ = false;
};

}  // namespace torch_tpu::distributed
