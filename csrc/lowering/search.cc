// Searching and counting: searchsorted, bucketize, isin, histc, bincount.
#include <c10/util/Exception.h>

#include <bit>

#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/sorting.h"

namespace torch_tpu::lowering {

Value SearchSorted(Builder& b, Value sequence, Value values, Value sorter, bool right) {
  const int64_t n = sequence.dim(-1);
  const Dims result = values.dims();
  if (values.numel() == 0 || n == 0) return b.Constant(DType::Int, 0, result);
  const int64_t rows = sequence.numel() / n, columns = values.numel() / rows;
  sequence = b.Reshape(sequence, {rows, n});
  values = b.Reshape(values, {rows, columns});
  const Value low = b.Constant(DType::Int, 0, {rows, columns});
  Values state = {b.Constant(DType::Int, 0), low, b.ConstantLike(low, n), sequence, values};
  if (sorter.defined()) state.push_back(b.Convert(b.Reshape(sorter, {rows, n}), DType::Int));
  // One halving per bit of n, in every row and column at once.
  const int steps = std::bit_width(static_cast<uint64_t>(n));
  const Values found = b.While(
      state,
      [&](Builder& b, hlo::ValueRef s) -> Values {
        return {b.Lt(s[0], b.Constant(DType::Int, steps))};
      },
      [&](Builder& b, hlo::ValueRef s) -> Values {
        const Value low = s[1], high = s[2], two = b.ConstantLike(low, 2);
        const Value open = b.Lt(low, high), middle = low + b.Div(high - low, two);
        const Value place = b.Min(middle, b.ConstantLike(middle, n - 1));
        const Value at = s.size() == 6 ? GatherAlong(b, s[5], 1, place) : place;
        const Value entry = GatherAlong(b, s[3], 1, at);
        // Not entry > value rather than entry <= value: NaN is behind all numbers.
        const Value stop = right ? b.Gt(entry, s[4]) : b.Ge(entry, s[4]);
        Values next = {s[0] + b.ConstantLike(s[0], 1),
                       b.Select(b.And(open, b.Not(stop)), middle + b.ConstantLike(middle, 1), low),
                       b.Select(b.And(open, stop), middle, high)};
        next.insert(next.end(), s.begin() + 3, s.end());
        return next;
      });
  return b.Reshape(found[1], result);
}

namespace {

Value SearchRow(Builder& b, const OpCall& call, Value sequence, Value values, DType common,
                bool out_int32, bool right, Value sorter) {
  TORCH_CHECK(sequence.rank() > 0, call.name(),
              ": expected a sequence of at least one dimension, got []");
  bool fits = sequence.rank() == 1 || sequence.rank() == values.rank();
  for (int64_t i = 0; fits && sequence.rank() > 1 && i < sequence.rank() - 1; ++i) {
    fits = sequence.dim(i) == values.dim(i);
  }
  TORCH_CHECK(fits, call.name(),
              ": expected a vector, or dimensions that match the values' but for the last, got ",
              ToString(sequence.dims()), " and ", ToString(values.dims()));
  if (sorter.defined()) {
    TORCH_CHECK(sorter.dims() == sequence.dims(), call.name(), ": expected a sorter of shape ",
                ToString(sequence.dims()), ", got ", ToString(sorter.dims()));
    TORCH_CHECK(sorter.dtype() == DType::Long, call.name(), ": expected an int64 sorter, got ",
                DTypeName(sorter.dtype()));
    if (sorter.numel() > 0) {
      sorter = CheckedIndex(b, call, sorter, sequence.dim(-1), Negative::kRefused);
    }
  }
  TORCH_CHECK(!IsComplex(common), call.name(), ": expected a type with an order, got ",
              DTypeName(common));
  TORCH_CHECK(!out_int32 || sequence.dim(-1) < INT32_MAX, call.name(),
              ": expected out_int32=False for a sequence of ", sequence.dim(-1), " elements");
  const DType type = IsBool(common) ? DType::Byte : common;
  const Value places =
      SearchSorted(b, b.Convert(sequence, type), b.Convert(values, type), sorter, right);
  return b.Convert(places, out_int32 ? DType::Int : DType::Long);
}

// aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False,
//     bool right=False, str? side=None, Tensor? sorter=None) -> Tensor, and with a Scalar self
Value SearchSortedRow(Builder& b, const OpCall& call) {
  bool right = call.Bool(3);
  if (!call.IsNone(4)) {
    const std::string_view side = call.String(4);
    TORCH_CHECK(side == "left" || side == "right", call.name(),
                ": expected side to be left or right, got ", side);
    TORCH_CHECK(!right || side == "right", call.name(),
                ": expected side and right to agree, got left and True");
    right = side == "right";
  }
  const DType common = call.ResultType({0, 1});
  return SearchRow(b, call, call.Tensor(0), Operand(b, call, 1, common), common, call.Bool(2),
                   right, call.TensorOrUndefined(5));
}

// aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False)
//   -> Tensor, and with a Scalar self
Value Bucketize(Builder& b, const OpCall& call) {
  const Value boundaries = call.Tensor(1);
  TORCH_CHECK(boundaries.rank() == 1, call.name(), ": expected boundaries of 1 dimension, got ",
              ToString(boundaries.dims()));
  const DType common = call.ResultType({0, 1});
  return SearchRow(b, call, boundaries, Operand(b, call, 0, common), common, call.Bool(2),
                   call.Bool(3), Value());
}

// aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False,
//     bool invert=False) -> Tensor, and with a Scalar on either side
Value IsIn(Builder& b, const OpCall& call) {
  const DType given = call.ResultType({0, 1});
  const DType common = IsBool(given) ? DType::Byte : given;
  TORCH_CHECK(!IsComplex(common), call.name(), ": expected a type with an order, got ",
              DTypeName(common));
  const Value elements = Operand(b, call, 0, common);
  Value tests = Operand(b, call, 1, common);
  tests = b.Reshape(tests, {tests.numel()});
  const bool invert = call.Bool(3);
  if (elements.numel() == 0 || tests.numel() == 0) {
    return b.Constant(DType::Bool, invert, elements.dims());
  }
  constexpr int64_t kFewTests = 64;
  Value found;
  if (tests.numel() <= kFewTests) {
    Dims pairs = elements.dims(), mapping;
    for (int64_t i = 0; i < elements.rank(); ++i) mapping.push_back(i);
    pairs.push_back(tests.numel());
    const Value equal = b.Eq(b.BroadcastInDim(elements, pairs, mapping),
                             b.BroadcastInDim(tests, pairs, {elements.rank()}));
    found = b.Reduce("or", equal, b.Constant(DType::Bool, false), {elements.rank()});
  } else {
    const Value sorted = SortAlong(b, tests, 0, false).values;
    const Value place = SearchSorted(b, sorted, elements, Value(), false);
    const Value last = b.ConstantLike(place, tests.numel() - 1);
    found = b.Eq(TakeAlong(b, sorted, 0, b.Min(place, last)), elements);
  }
  return invert ? b.Not(found) : found;
}

// aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor
Value HistC(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  const DType type = self.dtype();
  // CPU PyTorch takes floats only; other devices count integers too, in integer arithmetic, and
  // mixture of experts models rely on it.
  if (!IsInteger(type)) CheckDtype(call.name(), type, Accept::kFloat);
  const DType compute = IsInteger(type) ? DType::Long : AccumulateType(type);
  const int64_t bins = call.Int(1);
  TORCH_CHECK(bins > 0, call.name(), ": expected bins > 0, got ", bins);
  const Value x = b.Convert(b.Reshape(self, {self.numel()}), compute);
  Value low = call.Number(b, 2, compute), high = call.Number(b, 3, compute);
  call.Require(b.Le(low, high), "expected max >= min");
  // Equal bounds stand for the data's own; equal again, for one to either side.
  Value same = b.Eq(low, high);
  if (x.numel() > 0) {
    const Value least = MinOver(b, x, {0}), most = MaxOver(b, x, {0});
    low = b.Select(same, least, low);
    high = b.Select(same, most, high);
    same = b.Eq(low, high);
  }
  if (IsFloat(compute)) {
    call.Require(b.And(b.IsFinite(low), b.IsFinite(high)), "expected a finite range");
  }
  low = b.Select(same, low - 1, low);
  high = b.Select(same, high + 1, high);
  if (x.numel() == 0) return Zeros(b, type, {bins});
  auto all = [&](Value number) { return b.Broadcast(number, x.dims()); };
  const Value inside = b.And(b.Ge(x, all(low)), b.Le(x, all(high)));
  const Value scaled = (x - all(low)) * static_cast<double>(bins) / all(high - low);
  Value bin = b.Convert(b.Select(inside, scaled, b.ConstantLike(scaled, 0)), DType::Int);
  bin = b.Min(bin, b.ConstantLike(bin, bins - 1));  // the upper edge belongs to the last bin
  const Value counts = ScatterSlices(b, Zeros(b, DType::Int, {bins}), 0, bin,
                                     b.Convert(inside, DType::Int), Combine::kSum);
  return b.Convert(counts, type);
}

// tpu::bincount(Tensor self, Tensor? weights, int size) -> Tensor
// The caller has looked at the largest entry; what is out of range raises.
Value BinCount(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), weights = call.TensorOrUndefined(1);
  const int64_t size = call.Int(2);
  TORCH_CHECK(self.rank() == 1 && c10::isIntegralType(self.dtype(), /*includeBool=*/false),
              "bincount: expected a vector of integers, got ", DTypeName(self.dtype()),
              " of shape ", ToString(self.dims()));
  DType type = DType::Long;
  if (weights.defined()) {
    TORCH_CHECK(weights.dims() == self.dims(), "bincount: expected weights of shape ",
                ToString(self.dims()), ", got ", ToString(weights.dims()));
    type = weights.dtype() == DType::Float ? DType::Float : DType::Double;
  }
  if (self.numel() == 0) return Zeros(b, type, {size});
  const Value index = CheckedIndex(b, call, b.Convert(self, DType::Long), size, Negative::kRefused);
  const Value updates =
      weights.defined() ? b.Convert(weights, type) : b.Constant(DType::Int, 1, self.dims());
  return b.Convert(
      ScatterSlices(b, Zeros(b, updates.dtype(), {size}), 0, index, updates, Combine::kSum), type);
}

}  // namespace

OpRows SearchRows() {
  return {
      {"aten::searchsorted.Tensor", SearchSortedRow},
      {"aten::searchsorted.Scalar", SearchSortedRow},
      {"aten::bucketize.Tensor", Bucketize},
      {"aten::bucketize.Scalar", Bucketize},
      {"aten::isin.Tensor_Tensor", IsIn},
      {"aten::isin.Tensor_Scalar", IsIn},
      {"aten::isin.Scalar_Tensor", IsIn},
      {"aten::histc", HistC, {.exact_out = true}},
      {"tpu::bincount", BinCount},
  };
}

}  // namespace torch_tpu::lowering
