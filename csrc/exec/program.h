// A program: calls of lowerings over device arrays, as a byte string. The bytes are the cache key;
// only on a miss are they decoded and lowered. Run-time numbers and view offsets are collected
// beside the bytes and never part of them.
#pragma once

#include <c10/core/Scalar.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "exec/runtime.h"
#include "exec/view_plan.h"
#include "lowering/registry.h"

namespace torch_tpu::exec {

enum class Tag : uint8_t {
  kSequence,  // several calls, see sequence.h
  kRegions,   // of a sequence: a branch or a loop over sequences of its own
  kEnd,
  kCall,
  kNone,
  kTensor,
  kWrappedTensor,
  kTensors,
  kInt,
  kInts,
  kBool,
  kBools,
  kDoubles,
  kStaticNumber,
  kNumber,
  kNumbers,
  kDtype,
  kString,
  kRandom,
  kWrite,
  kLayout,
  kDefaultDtype,
  kPrecision,
  kExcessPrecision,
  // how a tensor is found
  kNewInput,
  kUnwrittenInput,
  kOldInput,
  kOperand,
  // how it lies in its base
  kWhole,
  kReshaped,
  kSliced,
  kGathered,
  kResize,  // see resize.h
};

// A tensor over a base array: what the eager room knows of it.
struct TensorView {
  BufferSlot* storage;
  DType dtype;  // of the view
  IntArrayRef sizes, strides;
  int64_t offset;         // in elements of `dtype`
  int64_t storage_bytes;  // for a base that was not written yet
};

// The plan of a view of `dtype` over `base`; as another type the base counts as one long row.
ViewPlan PlanOver(const hlo::Type& base, DType dtype, IntArrayRef sizes, IntArrayRef strides);

class ProgramWriter {
 public:
  explicit ProgramWriter(int device) : device_(device) {}
  ProgramWriter(const ProgramWriter&) = delete;

  void Call(const lowering::OpRow& row) { Put(Tag::kCall, static_cast<uint16_t>(row.index)); }
  void EndCall() { Put(Tag::kEnd); }
  void None() { Put(Tag::kNone); }
  void Tensor(const TensorView& view, bool wrapped_number = false) {
    Put(wrapped_number ? Tag::kWrappedTensor : Tag::kTensor);
    View(view);
  }
  void Tensors(size_t count) { Put(Tag::kTensors, static_cast<uint32_t>(count)); }  // then each
  // A 0-d host value as a tensor argument: a run-time operand. `input`: the number of the recorded
  // graph's input that it is, or -1.
  void Operand(DType dtype, const c10::Scalar& value, bool wrapped_number, int input = -1) {
    Put(wrapped_number ? Tag::kWrappedTensor : Tag::kTensor);
    Put(Tag::kOperand, dtype);
    if (input >= 0) {
      const size_t position = IsFloat(dtype) || IsComplex(dtype) ? doubles_.size() : ints_.size();
      host_operands_.push_back({static_cast<int>(position), input, dtype});
    }
    PushNumber(value);
  }
  void Int(int64_t value) { Put(Tag::kInt, value); }
  void Ints(IntArrayRef values) { PutList(Tag::kInts, values); }
  void Bool(bool value) { Put(Tag::kBool, value); }
  void Bools(c10::ArrayRef<bool> values) { PutList(Tag::kBools, values); }
  void Doubles(c10::ArrayRef<double> values) { PutList(Tag::kDoubles, values); }
  void Number(const c10::Scalar& value, bool is_static);
  void Numbers(size_t count) { Put(Tag::kNumbers, static_cast<uint32_t>(count)); }  // then each
  void Dtype(DType dtype) { Put(Tag::kDtype, dtype); }
  void String(std::string_view text);
  // `count`: 32-bit numbers that the call may draw.
  void Random(uint64_t seed, uint64_t offset, uint64_t count);
  void DefaultDtype(DType dtype) { Put(Tag::kDefaultDtype, dtype); }
  // Of the products of this call; kHighest where it is not called.
  void Precision(hlo::Precision precision) { Put(Tag::kPrecision, precision); }
  // The compiler may keep more digits between ops than their dtype has.
  void ExcessPrecision() { Put(Tag::kExcessPrecision); }
  // Result `result` of the calls replaces the elements of `view`, cast as in-place promotion
  // allows.
  void Write(int result, const TensorView& view) {
    Put(Tag::kWrite, static_cast<uint16_t>(result));
    View(view);
  }
  // Result `result` is stored with its dimensions permuted (physical order of the strides).
  void Layout(int result, IntArrayRef permutation) {
    Put(Tag::kLayout, static_cast<uint16_t>(result));
    PutList(Tag::kInts, permutation);
  }

  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }
  int device() const { return device_; }

  struct Input {
    BufferSlot* storage;
    BufferRef buffer;  // what the storage held then; empty: not written yet, no parameter
    hlo::Type type;
  };
  c10::SmallVectorImpl<Input>& inputs() { return inputs_; }
  IntArrayRef ints() const { return ints_; }
  c10::ArrayRef<double> doubles() const { return doubles_; }
  bool has_random() const { return !randoms_.empty(); }

  // Where in ints() the offset of a view over inputs()[input] stands.
  struct ViewOffset {
    int position, input;
  };
  c10::ArrayRef<ViewOffset> view_offsets() const { return view_offsets_; }
  // Where in ints() seed and offset of a random call stand.
  struct RandomCall {
    int position;
    uint64_t count;
  };
  c10::ArrayRef<RandomCall> randoms() const { return randoms_; }
  // Where in ints() or doubles(), as its dtype says, the value of a graph's host input stands.
  struct HostOperand {
    int position, input;
    DType dtype;
  };
  c10::ArrayRef<HostOperand> host_operands() const { return host_operands_; }

 private:
  void View(const TensorView& view);
  void PushNumber(const c10::Scalar& value);

  template <typename... T>
  void Put(const T&... values) {
    constexpr size_t total = (sizeof(T) + ...);
    const size_t at = bytes_.size();
    bytes_.resize_for_overwrite(at + total);
    char* p = bytes_.data() + at;
    ((std::memcpy(p, &values, sizeof(T)), p += sizeof(T)), ...);
  }
  template <typename T>
  void PutList(Tag tag, c10::ArrayRef<T> values) {
    Put(tag, static_cast<uint32_t>(values.size()));
    const size_t at = bytes_.size(), n = values.size() * sizeof(T);
    bytes_.resize_for_overwrite(at + n);
    if (n > 0) std::memcpy(bytes_.data() + at, values.data(), n);
  }

  int device_;
  c10::SmallVector<char, 512> bytes_;
  c10::SmallVector<Input, 4> inputs_;
  c10::SmallVector<int64_t, 8> ints_;
  c10::SmallVector<double, 4> doubles_;
  c10::SmallVector<ViewOffset, 2> view_offsets_;
  c10::SmallVector<RandomCall, 1> randoms_;
  c10::SmallVector<HostOperand, 1> host_operands_;
};

// What a program returns for one result of its call, and where it goes.
struct ResultInfo {
  bool defined = false;
  int written_input = -1;  // the input whose base it was written into; -1: a new array
  int output = -1;         // position among the executable's outputs
  hlo::Type type;          // logical type of the result
  Dims permutation;        // physical order; empty: row-major
};

struct LoweredProgram {
  std::string name;  // of its first call, for people
  std::string text;  // StableHLO
  std::vector<ResultInfo> results;
  struct Output {
    hlo::Type type;
    int written_input = -1;
  };
  std::vector<Output> outputs;  // of the executable
  bool excess_precision = false;
  bool use_xnnpack = false;                  // on the CPU plugin
  std::vector<CheckMessage> check_messages;  // the last output is bool[n] when there are any
};

// Decodes and lowers. Errors of the lowering (shapes that do not fit, ...) pass through.
LoweredProgram Lower(std::string_view bytes, hlo::Target target);
// Into a builder that holds nothing yet.
LoweredProgram Lower(std::string_view bytes, hlo::Builder& b);
// Products of many rows and nothing that XNNPACK would change the values of.
bool ForXnnpack(const hlo::Builder& b);

}  // namespace torch_tpu::exec
