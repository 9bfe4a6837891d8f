// How a strided view (sizes, strides, offset) lies in its storage's row-major base array: as one
// slice of a reshaped base where possible, as a gather of linear indices otherwise. A plan depends
// on sizes and strides only; the offset is a run-time operand.
#pragma once

#include <cstdint>

#include "hlo/builder.h"

namespace torch_tpu::exec {

struct ViewPlan {
  bool slices = false;  // false: gather
  // The base is read as an array of these extents, whose axis i advances `units[i]` elements.
  Dims extents, units;
  // For axis i: how many indices it spans, in steps of; which view dimension it is (-1: one fixed
  // index).
  Dims counts, steps, view_dims;
  // Whether some axis starts at an index that depends on the offset.
  bool dynamic = false;

  // Whether a view with this offset really stays inside the axes, so that no axis wraps around.
  bool Fits(int64_t offset) const;
};

ViewPlan PlanView(IntArrayRef base_dims, IntArrayRef sizes, IntArrayRef strides);

// Reads `base` as the other element type, as Tensor.view(dtype), view_as_real and view_as_complex
// do. The result has its own row-major dims with the same bytes.
hlo::Value Reinterpret(hlo::Builder& b, hlo::Value base, DType dtype);
// The way back: bytes of `changed` as an array of `like`'s type.
hlo::Value ReinterpretAs(hlo::Builder& b, hlo::Value changed, const hlo::Type& like);

// `offset` is a 0-d int64; undefined where the plan is not dynamic.
hlo::Value ReadView(hlo::Builder& b, hlo::Value base, IntArrayRef sizes, IntArrayRef strides,
                    const ViewPlan& plan, hlo::Value offset);
// The base with the view's elements replaced by `value` (dims: sizes). The view must not overlap
// itself.
hlo::Value WriteView(hlo::Builder& b, hlo::Value base, IntArrayRef sizes, IntArrayRef strides,
                     const ViewPlan& plan, hlo::Value offset, hlo::Value value);

}  // namespace torch_tpu::exec
