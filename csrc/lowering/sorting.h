// Sorting by PyTorch's order: NaN is the largest value, -0 equals +0, ties keep their order.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

// a comes before b: a < b, or only b is NaN (a > b, or only a is NaN, when descending).
Value Before(Builder& b, Value x, Value y, bool descending);

struct Sorted {
  Value values;
  Value indices;  // int32
};

// A stable sort along `dim`, and where each element came from.
Sorted SortAlong(Builder& b, Value x, int64_t dim, bool descending);

// The first `k` of that order, without sorting the rest where the device can do so.
Sorted TopAlong(Builder& b, Value x, int64_t dim, int64_t k, bool descending);

// RuntimeError for types that have no order.
void CheckOrdered(const OpCall& call, DType dtype);

// Binary search along the last dimension of `sequence` ([.., n]) for `values` ([.., m], or any
// shape when the sequence is a vector): the first place whose entry is not before the value
// (`right`: after it). `sorter` (may be undefined) gives the order of the sequence. int32 result.
Value SearchSorted(Builder& b, Value sequence, Value values, Value sorter, bool right);

}  // namespace torch_tpu::lowering
