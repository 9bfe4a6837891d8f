#include "exec/compile_log.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>

#include "base/log.h"
#include "base/settings.h"

namespace torch_tpu::exec {
namespace {

constexpr size_t kMaxRecords = 4096;
constexpr size_t kMaxEarlier = 64;     // of one op
constexpr size_t kMaxItems = 256;      // of one program that is compared
constexpr size_t kMaxDifferences = 4;  // that are told

std::atomic<CallSiteFinder> g_finder{nullptr};

using Items = std::vector<ProgramDescription::Item>;

size_t CountDifferences(const Items& a, const Items& b) {
  const size_t common = std::min(a.size(), b.size());
  size_t count = std::max(a.size(), b.size()) - common;
  for (size_t i = 0; i < common; ++i) {
    count += a[i].place != b[i].place || a[i].what != b[i].what;
  }
  return count;
}

std::string Differences(const Items& now, const Items& before) {
  std::vector<std::string> texts;
  const size_t common = std::min(now.size(), before.size());
  for (size_t i = 0; i < common; ++i) {
    if (now[i].place == before[i].place && now[i].what == before[i].what) continue;
    texts.push_back(now[i].place == before[i].place
                        ? fmt::format("{} is {}, was {}", now[i].place, now[i].what, before[i].what)
                        : fmt::format("{} is {}, was no such", now[i].place, now[i].what));
  }
  for (size_t i = common; i < now.size(); ++i) {
    texts.push_back(fmt::format("{} is {}, was no such", now[i].place, now[i].what));
  }
  for (size_t i = common; i < before.size(); ++i) {
    texts.push_back(fmt::format("no {}, was {}", before[i].place, before[i].what));
  }
  if (texts.size() > kMaxDifferences) {
    const size_t more = texts.size() - kMaxDifferences;
    texts.resize(kMaxDifferences);
    texts.push_back(fmt::format("and {} more differences", more));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

const char* OriginName(Origin origin) {
  switch (origin) {
    case Origin::kCompiled:
      return "compiled";
    case Origin::kDisk:
      return "disk";
    case Origin::kSharedDisk:
      return "shared disk";
  }
  TORCH_INTERNAL_ASSERT(false);
}

void SetCallSiteFinder(CallSiteFinder finder) { g_finder = finder; }

std::string FindCallSite() {
  const CallSiteFinder finder = g_finder;
  return finder == nullptr ? "" : finder();
}

CompileLog& CompileLog::Get() {
  static CompileLog& log = *new CompileLog();
  return log;
}

CompileLog::CompileLog() : print_(GetSettings().log_compiles) {}

std::string CompileLog::DifferenceFromNearest(const ProgramDescription& description) const {
  const auto found = earlier_.find(description.op);
  if (found == earlier_.end()) return "the first program of this op";
  const ProgramDescription* nearest = nullptr;
  size_t least = 0;
  // Among equally near ones the latest.
  for (auto it = found->second.rbegin(); it != found->second.rend(); ++it) {
    const size_t count = CountDifferences(description.items, it->items);
    if (nearest != nullptr && count >= least) continue;
    nearest = &*it;
    least = count;
  }
  if (least == 0) return "the same as an earlier one that was dropped from memory";
  return Differences(description.items, nearest->items);
}

void CompileLog::Add(std::string_view program_bytes, std::string call_site, double seconds,
                     Origin origin, bool for_many_sizes) {
  ProgramDescription description = Describe(program_bytes);
  if (description.items.size() > kMaxItems) description.items.resize(kMaxItems);
  CompileRecord record;
  record.op = description.op;
  record.program = description.text;
  if (for_many_sizes) record.program += ", padded to serve many sizes";
  record.call_site = std::move(call_site);
  record.seconds = seconds;
  record.origin = origin;
  const int64_t limit = GetSettings().recompile_warning;
  bool print, warn = false;
  {
    const std::lock_guard lock(mutex_);
    record.difference = DifferenceFromNearest(description);
    auto& earlier = earlier_[description.op];
    if (earlier.size() == kMaxEarlier) earlier.pop_front();
    earlier.push_back(std::move(description));
    if (records_.size() == kMaxRecords) records_.pop_front();
    records_.push_back(record);
    if (origin == Origin::kCompiled && limit > 0 && !record.call_site.empty()) {
      warn = ++compiled_at_[{record.call_site, record.op}] == limit + 1;
    }
    print = print_;
  }
  if (print) {
    Log(fmt::format("{} in {:.3f} s: {}{}; {}", origin == Origin::kCompiled ? "compiled" : "loaded",
                    seconds, record.program,
                    record.call_site.empty() ? "" : " at " + record.call_site, record.difference));
  }
  if (warn) {
    TORCH_WARN(record.op, ": expected at most ", limit, " programs to be compiled for the line ",
               record.call_site, ", got one more: ", record.difference,
               ". Each new shape is a new program: pad to a few sizes, or write into tensors of a "
               "fixed size. TORCH_TPU_LOG_COMPILES=1 shows every one, "
               "TORCH_TPU_RECOMPILE_WARNING=0 silences this");
  }
}

std::vector<CompileRecord> CompileLog::Records() const {
  const std::lock_guard lock(mutex_);
  return {records_.begin(), records_.end()};
}

void CompileLog::Reset() {
  const std::lock_guard lock(mutex_);
  records_.clear();
  earlier_.clear();
  compiled_at_.clear();
}

bool CompileLog::printing() const {
  const std::lock_guard lock(mutex_);
  return print_;
}

void CompileLog::SetPrinting(bool print) {
  const std::lock_guard lock(mutex_);
  print_ = print;
}

}  // namespace torch_tpu::exec
