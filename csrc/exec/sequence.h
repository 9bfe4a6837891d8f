// The bytes of several calls as one program: each call's own bytes, which values its bases are, and
// which values come out.
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

class SequenceWriter {
 public:
  static constexpr uint32_t kUnwritten = UINT32_MAX;  // a base that holds nothing yet

  // `guarded`: each call's values are what it gives by itself, bit for bit; the program then takes
  // one more double, a 1.
  SequenceWriter(size_t num_externals, size_t num_calls, size_t num_outputs, bool guarded);
  void Call(std::string_view bytes, c10::ArrayRef<uint32_t> bases);
  // `replaces`: the external whose memory this output may take over, or -1.
  void Output(uint32_t value, int replaces);
  std::string Take() { return std::move(bytes_); }

 private:
  void Put(uint32_t word);
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
  size_t num_externals = 0;
  bool guarded = false;
  std::vector<Call> calls;
  std::vector<Output> outputs;
};

}  // namespace torch_tpu::exec
