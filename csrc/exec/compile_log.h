// Why did it compile? One record for each program that a process had to get.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/describe.h"

namespace torch_tpu::exec {

enum class Origin { kCompiled, kDisk, kSharedDisk };
// "compiled", "disk" or "shared disk".
const char* OriginName(Origin origin);

struct CompileRecord {
  std::string op;          // of the program's first call
  std::string program;     // the calls with their shapes
  std::string difference;  // from the nearest earlier program of the same op
  std::string call_site;   // "file:line" of the user's code; empty where there is none
  double seconds = 0;
  Origin origin = Origin::kCompiled;
};

// How to find the line of the user's code that runs now; may take the interpreter's lock. The exec
// room knows no Python.
using CallSiteFinder = std::string (*)();
void SetCallSiteFinder(CallSiteFinder finder);
std::string FindCallSite();

class CompileLog {
 public:
  static CompileLog& Get();

  // Keeps the record, prints it where that is asked for, and warns of a line that compiles again
  // and again.
  void Add(std::string_view program_bytes, std::string call_site, double seconds, Origin origin,
           bool for_many_sizes = false);
  // The latest ones, oldest first.
  std::vector<CompileRecord> Records() const;
  void Reset();
  void SetPrinting(bool print);
  bool printing() const;

 private:
  CompileLog();
  std::string DifferenceFromNearest(const ProgramDescription& description) const;

  mutable std::mutex mutex_;
  std::deque<CompileRecord> records_;
  std::map<std::string, std::deque<ProgramDescription>> earlier_;       // by op
  std::map<std::pair<std::string, std::string>, int64_t> compiled_at_;  // by call site and op
  bool print_;
};

}  // namespace torch_tpu::exec
