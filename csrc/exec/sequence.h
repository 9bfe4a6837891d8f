// The bytes of several calls as one program: each call's own bytes, which values its bases are, and
// which values come out. A call may also be a branch or a loop over sequences of its own.
//
// Values are numbered: first the externals (arrays that exist before the launch, in the order of
// their first use), then the outputs of each call in turn.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exec/program.h"

namespace torch_tpu::exec {

// What a call over regions does. Its bases are the values that it is given, then those that its
// regions read besides.
enum class RegionKind : uint8_t {
  kIf,     // given a predicate; regions: true, false
  kWhile,  // given carried values; regions: condition, body
  kScan,   // given carried values, then rows; region: (carried, one of each rows) -> (carried,
           // results), which are stacked
};

struct RegionCall {
  struct Region {
    std::string_view bytes;  // a sequence
    // What each external of the sequence is, by number: the region's arguments (what the call is
    // given; none in branches), then the call's bases.
    std::vector<uint32_t> externals;
  };
  RegionKind kind = RegionKind::kIf;
  uint32_t num_given = 0;
  uint32_t num_carried = 0;
  uint32_t length = 0;             // of a scan
  std::vector<hlo::Type> stacked;  // of a scan: its results after the carried ones
  std::vector<Region> regions;

  static bool Is(std::string_view bytes) {
    return !bytes.empty() && static_cast<Tag>(bytes.front()) == Tag::kRegions;
  }
  static RegionCall Parse(std::string_view bytes);
  std::string Bytes() const;
};
// "cond", "while_loop", "scan".
const char* RegionKindName(RegionKind kind);

// Numbers of the run-time operands of all calls.
struct OperandCounts {
  uint32_t ints = 0, doubles = 0;
};

class SequenceWriter {
 public:
  static constexpr uint32_t kUnwritten = UINT32_MAX;  // a base that holds nothing yet

  // `guarded`: each call's values are what it gives by itself, bit for bit; the program then takes
  // one more double, a 1.
  SequenceWriter(c10::ArrayRef<hlo::Type> externals, size_t num_calls, size_t num_outputs,
                 OperandCounts operands, bool guarded);
  void Call(std::string_view bytes, c10::ArrayRef<uint32_t> bases);
  // `replaces`: the external whose memory this output may take over, or -1.
  void Output(uint32_t value, int replaces);
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

struct SequenceView {
  explicit SequenceView(std::string_view bytes);
  static bool Is(std::string_view bytes) {
    return !bytes.empty() && static_cast<Tag>(bytes.front()) == Tag::kSequence;
  }

  struct Call {
    std::string_view bytes;
    std::vector<uint32_t> bases;
  };
  struct Output {
    uint32_t value;
    int replaces;
  };
  std::vector<hlo::Type> externals;
  std::vector<std::string_view> external_dims;  // the same dims as they stand in the bytes
  OperandCounts operands;
  bool guarded = false;
  std::vector<Call> calls;
  std::vector<Output> outputs;
};

}  // namespace torch_tpu::exec
