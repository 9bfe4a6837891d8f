// The calls of a sequence, lowered one after the other; branches and loops as regions.
#pragma once

#include "exec/call_decoder.h"
#include "exec/sequence.h"

namespace torch_tpu::exec {

class SequenceLowering {
 public:
  // `one`: a 1.0 that no compiler sees; undefined where calls need no guard from each other. Check
  // messages and flags are added to `program`.
  SequenceLowering(hlo::Builder& b, OperandPacks& packs, hlo::Value one, LoweredProgram& program)
      : b_(b), packs_(packs), one_(one), program_(program) {}

  // The sequence's outputs. `oks`: 0-d bools, one for each check message that was added.
  hlo::Values Lower(const SequenceView& sequence, hlo::Values externals, hlo::Values& oks);

 private:
  // One region: its outputs, then which of the check messages after `first_message` failed first
  // (-1: none), counted from there, as a 0-d int32.
  hlo::Values LowerRegion(const RegionCall::Region& region, hlo::ValueRef arguments,
                          hlo::ValueRef bases, size_t first_message, hlo::Value failed);
  hlo::Values LowerRegions(const RegionCall& call, const hlo::Values& bases, hlo::Values& oks);
  hlo::Values LowerIf(const RegionCall& call, const hlo::Values& bases, size_t first_message);
  hlo::Values LowerWhile(const RegionCall& call, const hlo::Values& bases, size_t first_message);
  hlo::Values LowerScan(const RegionCall& call, const hlo::Values& bases, size_t first_message);
  hlo::Value Guarded(hlo::Value value);

  hlo::Builder& b_;
  OperandPacks& packs_;
  hlo::Value one_;
  LoweredProgram& program_;
};

}  // namespace torch_tpu::exec
