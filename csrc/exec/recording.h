// Calls that are written down to become one program, instead of being launched one by one.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/launch.h"
#include "exec/program.h"
#include "exec/sequence.h"

namespace torch_tpu::exec {

// Belongs to one thread. Arrays that its calls make have types and no contents: whatever asks for
// contents meanwhile (a copy to the host, a fallback) gets an error and says so in needs_value().
//
// A recording within another one becomes a region of a call of that one: its calls may read, and
// not write, the outer one's arrays.
class Recording : public ArraySource, public std::enable_shared_from_this<Recording> {
 public:
  explicit Recording(int device, std::shared_ptr<Recording> outer = nullptr)
      : device_(device), outer_(std::move(outer)) {}

  // The one that the thread's calls go to; nullptr: they are launched.
  static Recording* Current();
  class Scope {
   public:
    explicit Scope(std::shared_ptr<Recording> recording);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<Recording> recording_;
    Recording* outer_;
  };

  // An array that each launch will be given, number `index` of them.
  BufferRef Placeholder(const hlo::Type& type, int index);
  // Names a host value (by its address) as input number `input`, whose value each launch will give.
  void AddHostInput(const void* address, int input) { host_inputs_.emplace(address, input); }
  // The input that a host value is; -1: none.
  static int HostInput(const void* address);
  // Adds the call; its outputs are promises.
  Launched Add(ProgramWriter& writer);

  struct Region {
    std::shared_ptr<Recording> recording;  // within this one
    std::vector<BufferRef> results;
  };
  // Adds a call over regions: `given` as RegionKind says, the first `num_carried` of them carried;
  // `length` of a scan. Its results are promises of the types given.
  std::vector<BufferRef> AddRegions(RegionKind kind, c10::ArrayRef<BufferRef> given,
                                    int num_carried, int64_t length, c10::ArrayRef<Region> regions,
                                    c10::ArrayRef<hlo::Type> results);
  [[noreturn]] void RequireArray(const DeviceBuffer& buffer) override;

  int device() const { return device_; }
  size_t num_calls() const { return calls_.size(); }
  // The op whose result was asked for, where that happened here or in a region.
  const std::string& needs_value() const { return needs_value_; }

  // An array that exists before a launch: a placeholder, or one that was met on the way.
  struct External {
    int placeholder = -1;
    BufferRef captured;
  };
  struct Output {
    BufferRef value;    // of this recording, made by a call
    int replaces = -1;  // the placeholder whose memory it may take over
  };
  struct Finished {
    std::string key;  // see sequence.h
    std::vector<External> externals;
    std::vector<int64_t> ints;
    std::vector<double> doubles;
    // Offsets of views over a placeholder's array, and random states, by position in `ints`.
    struct ViewOffset {
      int position, placeholder;
    };
    std::vector<ViewOffset> view_offsets;
    std::vector<ProgramWriter::RandomCall> randoms;
    std::vector<ProgramWriter::HostOperand> host_operands;
  };
  Finished Finish(c10::ArrayRef<Output> outputs) const;
  // True when a call made the array (it is not a placeholder).
  bool IsComputed(const DeviceBuffer& buffer) const;

 private:
  struct Value {
    bool computed;
    int root;  // the placeholder that this array is, or that in-place calls turned into it; or -1
    hlo::Type type;
    External external;
    uint32_t index = UINT32_MAX;  // among the externals (by first use) or the computed ones
  };
  struct Call {
    std::string bytes;
    std::vector<uint32_t> bases;  // values_, or UINT32_MAX
  };
  uint32_t NewValue(Value value);
  uint32_t Use(const BufferRef& buffer);
  // The recording that promises the array: this one or one around it; null: neither.
  const Recording* OwnerOf(const DeviceBuffer& buffer) const;
  // The placeholder of the outermost recording that the array is, as Value::root.
  int RootOf(const DeviceBuffer& buffer) const;
  // Raises an error that says why the graph must be cut at the call.
  [[noreturn]] void Refuse(std::string op, const char* why);
  std::string Bytes(c10::ArrayRef<Output> outputs, bool guarded) const;
  BufferRef Promise(int root, hlo::Type type, std::string_view producer);

  int device_;
  std::shared_ptr<Recording> outer_;
  std::vector<Value> values_;
  std::vector<uint32_t> externals_;  // values_ in order of first use
  uint32_t num_computed_ = 0;
  std::unordered_map<const DeviceBuffer*, uint32_t> captured_;
  std::vector<Call> calls_;
  std::vector<int64_t> ints_;
  std::vector<double> doubles_;
  std::vector<Finished::ViewOffset> view_offsets_;
  std::vector<ProgramWriter::RandomCall> randoms_;
  std::vector<ProgramWriter::HostOperand> host_operands_;
  std::unordered_map<const void*, int> host_inputs_;
  std::string needs_value_;
};

}  // namespace torch_tpu::exec
