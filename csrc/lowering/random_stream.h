// Random bits for one call. The call's seed and offset are hashed into a stream of its own, so a
// row may draw as much as it likes and still shares no number with its neighbours.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

class RandomStream {
 public:
  RandomStream(Builder& b, const OpCall& call);
  // Goes on from a state carried through a loop, which starts as the parent's Fork().
  RandomStream(Builder& b, Value state) : b_(b), state_(state) {}
  Value state() const { return state_; }
  // The state of a stream that shares nothing with this one.
  Value Fork() { return Bits(DType::UInt64, {2}); }

  // UInt32 or UInt64.
  Value Bits(DType type, IntArrayRef dims);
  // Float or Double in [0, 1): multiples of 2^-digits, by default of the type's own precision.
  Value Uniform(DType type, IntArrayRef dims, int digits = 0);
  // In (0, 1).
  Value OpenUniform(DType type, IntArrayRef dims);
  Value Normal(DType type, IntArrayRef dims);
  Value Exponential(DType type, IntArrayRef dims);

 private:
  Builder& b_;
  Value state_;  // ui64[2]
};

}  // namespace torch_tpu::lowering
