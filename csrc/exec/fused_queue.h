// The fused eager mode: calls queue up, their results are promises, and a flush launches them as
// few programs. What asks for contents flushes; so do limits, and whoever orders work himself
// (streams, compiled graphs). A program is keyed by its calls (see sequence.h), so that a sequence
// that comes again compiles nothing.
#pragma once

#include <c10/util/SmallVector.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "exec/call_types.h"
#include "exec/launch.h"

namespace torch_tpu::exec {

// One for each device; its calls may come from several threads.
class FusedQueue {
 public:
  static FusedQueue& Of(int device);
  // Of every device; nothing where the mode was never used.
  static void FlushAll();

  // Adds the call as work of `stream`; its outputs are promises, its errors of shape and type are
  // raised here.
  Launched Add(ProgramWriter& writer, int64_t stream);
  // Launches what is queued. Where a program cannot be made or run, its calls are launched one by
  // one; this then raises the first error, and the results of calls that failed raise theirs.
  void Flush();

 private:
  class Batch;  // the calls of one flush, as the source of their results
  struct Call {
    std::shared_ptr<const CallTypes> types;
    c10::SmallVector<uint32_t, 4> bases;  // values, or SequenceWriter::kUnwritten
    uint32_t first_output;
    uint32_t ints, num_ints, doubles, num_doubles;  // of the operands
    bool random;
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Value {
    BufferRef array;                      // null: not computed yet
    std::weak_ptr<DeviceBuffer> promise;  // of a computed one
    uint32_t overwrites = kNone;          // the value that an in-place call turned into this one
    uint32_t last_use = 0;                // a call
    std::exception_ptr failure;
  };

  uint32_t Use(const BufferRef& buffer);
  bool IsFull();
  void LaunchQueued();
  void Launch(size_t begin, size_t end);
  void LaunchCall(const Call& call);
  void LaunchSequence(size_t begin, size_t end);
  void LaunchEach(size_t begin, size_t end, std::exception_ptr& first_failure);
  void Keep(uint32_t value, BufferRef made);

  int device_ = 0;
  std::recursive_mutex mutex_;
  int64_t stream_ = 0;
  std::shared_ptr<Batch> batch_;
  std::vector<Call> calls_;
  std::vector<Value> values_;
  std::unordered_map<const DeviceBuffer*, uint32_t> externals_;
  std::vector<int64_t> ints_;
  std::vector<double> doubles_;
  int64_t bytes_ = 0;                  // of all results
  std::unordered_set<uint64_t> cuts_;  // what came before the cuts that limits made
};

}  // namespace torch_tpu::exec
