// One call's bytes, decoded and lowered into a builder: alone, or as one of a recorded sequence.
#pragma once

#include "exec/program_reader.h"
#include "lowering/op_call.h"

namespace torch_tpu::exec {

// The run-time operands of a program, in the order in which its calls take them.
struct OperandPacks {
  hlo::Value ints, doubles;
  int next_int = 0, next_double = 0;
};

class CallDecoder : private ProgramReader {
 public:
  // A base array that the call reads or writes. Its value is set before Lower and is the new one
  // afterwards where the call wrote.
  struct Base {
    hlo::Type type;
    bool written_before = false;  // else it counts as zeros
    hlo::Value value;
    bool changed = false;
  };
  struct Lowered {
    std::string name;
    std::vector<ResultInfo> results;
    std::vector<LoweredProgram::Output> outputs;  // types, and bases they replace
    hlo::Values values;                           // of the outputs
    hlo::Values oks;                              // 0-d bool, one for each message
    std::vector<CheckMessage> check_messages;
    bool excess_precision = false;
  };

  CallDecoder(std::string_view bytes, hlo::Builder& b);

  std::vector<Base>& bases() { return bases_; }
  int num_ints() const { return num_ints_; }
  int num_doubles() const { return num_doubles_; }
  Lowered Lower(OperandPacks& packs);

 private:
  // Where a view lies in a base.
  struct ViewRef {
    int base = -1;
    DType dtype = DType::Float;
    Tag kind = Tag::kWhole;
    Dims sizes, strides;
    ViewPlan plan;
    int offset_position = -1;  // in the int operands
  };

  // Pass one finds the bases and counts the run-time operands, so that parameters come first in the
  // text.
  void Scan();
  void ScanArg(Tag tag);
  void ScanView();
  void CountOperand(DType dtype);

  hlo::Value IntOperand(int position) { return Element(packs_->ints, position, DType::Long); }
  hlo::Value Element(hlo::Value pack, int position, DType dtype) {
    return b_.Reshape(b_.Slice(pack, {position}, {position + 1}), {});
  }
  hlo::Value NextInt() { return IntOperand(packs_->next_int++); }
  hlo::Value NextDouble() { return Element(packs_->doubles, packs_->next_double++, DType::Double); }
  lowering::NumberArg ReadNumber(Tag tag);
  hlo::Value ReadOperand(DType dtype);
  ViewRef ReadViewRef();
  hlo::Value ReadTensor();
  lowering::Arg ReadArg(Tag tag);
  hlo::Values LowerCall(Lowered& lowered);
  hlo::Value BaseAs(const Base& base, DType dtype);
  hlo::Value Load(const ViewRef& view);
  void Store(const ViewRef& view, hlo::Value value, std::string_view op);

  hlo::Builder& b_;
  std::vector<Base> bases_;
  int num_ints_ = 0, num_doubles_ = 0, next_base_ = 0;
  OperandPacks* packs_ = nullptr;
};

}  // namespace torch_tpu::exec
