// Histograms over given edges or over equal bins, of one dimension or several.
#include <c10/util/Exception.h>

#include "lowering/combinators.h"
#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/sorting.h"

namespace torch_tpu::lowering {
namespace {

void CheckPoints(const OpCall& call, Value self) {
  CheckDtype(call.name(), self.dtype(), Accept::kFloat);
  TORCH_CHECK_NOT_IMPLEMENTED(AccumulateType(self.dtype()) == self.dtype(), call.name(),
                              ": expected float32 or float64, got ", DTypeName(self.dtype()));
}

// torch.linspace(low, high, bins + 1): from both ends towards the middle.
Value EqualEdges(Builder& b, Value low, Value high, int64_t bins) {
  const Dims dims = {bins + 1};
  const auto all = [&](Value v) { return b.Broadcast(v, dims); };
  const Value place = b.Iota(low.dtype(), dims, 0), behind = static_cast<double>(bins) - place;
  const Value step = all((high - low) / OpaqueLike(b, low, bins));
  const Value first = b.Lt(place, b.ConstantLike(place, static_cast<double>((bins + 1) / 2)));
  return b.Select(first, all(low) + step * place, all(high) - step * behind);
}

// Edges of `bins` equal bins over column `d` of points [M, D]; without a range over what is there,
// and one bin wide where that is a single value.
Value EdgesOf(Builder& b, const OpCall& call, Value points, int64_t d, int64_t bins, int range) {
  TORCH_CHECK(bins > 0, call.name(), ": expected bins > 0, got ", bins);
  const DType type = points.dtype();
  Value low = b.Constant(type, 0), high = b.Constant(type, 1);
  if (!call.IsNone(range)) {
    const std::vector<double>& bounds = call.Doubles(range);
    TORCH_CHECK(static_cast<int64_t>(bounds.size()) == 2 * points.dim(1), call.name(),
                ": expected a range of ", 2 * points.dim(1), " numbers, got ", bounds.size());
    TORCH_CHECK(bounds[2 * d] <= bounds[2 * d + 1], call.name(),
                ": expected min <= max in the range, got ", bounds[2 * d], " and ",
                bounds[2 * d + 1]);
    low = b.Constant(type, bounds[2 * d]);
    high = b.Constant(type, bounds[2 * d + 1]);
  } else if (points.dim(0) > 0) {
    const Value column = b.Reshape(b.SliceDim(points, 1, d, d + 1), {points.dim(0)});
    low = MinOver(b, column, {0});
    high = MaxOver(b, column, {0});
  }
  call.Require(b.And(b.IsFinite(low), b.IsFinite(high)), "expected a finite range");
  const Value same = b.Eq(low, high);
  return EqualEdges(b, b.Select(same, low - 0.5, low), b.Select(same, high + 0.5, high), bins);
}

// Weights of the points [M, D] in each cell between the edges. A bin has its lower edge, the last
// one both; what lies outside counts nowhere.
Value Count(Builder& b, const OpCall& call, Value points, const Values& edges, Value weight,
            bool density) {
  const DType type = points.dtype();
  const int64_t m = points.dim(0);
  Dims cells;
  Value index = b.Constant(DType::Int, 0, {m}), inside = b.Constant(DType::Bool, true, {m});
  for (size_t d = 0; d < edges.size(); ++d) {
    const int64_t bins = edges[d].numel() - 1, at = static_cast<int64_t>(d);
    cells.push_back(bins);
    const Value x = b.Reshape(b.SliceDim(points, 1, at, at + 1), {m});
    const Value first = b.Broadcast(b.Reshape(b.SliceDim(edges[d], 0, 0, 1), {}), {m});
    const Value last = b.Broadcast(b.Reshape(b.SliceDim(edges[d], 0, bins, bins + 1), {}), {m});
    inside = b.And(inside, b.And(b.Ge(x, first), b.Le(x, last)));
    if (m == 0) continue;
    const Value bin = b.Convert(SearchSorted(b, edges[d], x, Value(), true), DType::Int) - 1;
    index = index * static_cast<double>(bins) + b.Min(bin, b.ConstantLike(bin, bins - 1));
  }
  Value hist = Zeros(b, type, {NumElements(cells)});
  if (m > 0 && hist.numel() > 0) {
    Value weights = b.Constant(type, 1, {m});
    if (weight.defined()) {
      TORCH_CHECK(weight.dtype() == type && weight.numel() == m, call.name(),
                  ": expected one weight of the input's dtype for each point, got shape ",
                  ToString(weight.dims()), " of ", DTypeName(weight.dtype()));
      weights = b.Reshape(weight, {m});
    }
    const Value zero = b.ConstantLike(weights, 0);
    hist = ScatterSlices(b, hist, 0, b.Select(inside, index, b.ConstantLike(index, 0)),
                         b.Select(inside, weights, zero), Combine::kSum);
  }
  hist = b.Reshape(hist, cells);
  if (!density) return hist;
  Dims every;
  for (size_t d = 0; d < cells.size(); ++d) every.push_back(static_cast<int64_t>(d));
  hist = hist / b.Broadcast(Sum(b, hist, every), cells);
  for (size_t d = 0; d < cells.size(); ++d) {
    const Value width =
        b.SliceDim(edges[d], 0, 1, cells[d] + 1) - b.SliceDim(edges[d], 0, 0, cells[d]);
    hist = hist / b.BroadcastInDim(width, cells, {static_cast<int64_t>(d)});
  }
  return hist;
}

Value Column(Builder& b, Value x) { return b.Reshape(x, {x.numel(), 1}); }

// [.., D] as [M, D].
Value Points(Builder& b, const OpCall& call, size_t bins) {
  const Value x = call.Tensor(0);
  CheckPoints(call, x);
  TORCH_CHECK(x.rank() >= 2 && x.dim(-1) == static_cast<int64_t>(bins), call.name(),
              ": expected points of ", bins, " coordinates, as many as bins, got shape ",
              ToString(x.dims()));
  return b.Reshape(x, {x.dim(-1) == 0 ? 0 : x.numel() / x.dim(-1), x.dim(-1)});
}

void CheckEdges(const OpCall& call, Value edges, DType dtype) {
  TORCH_CHECK(edges.rank() == 1 && edges.numel() > 0 && edges.dtype() == dtype, call.name(),
              ": expected edges of 1 dimension and of dtype ", DTypeName(dtype), ", got ",
              DTypeName(edges.dtype()), " of shape ", ToString(edges.dims()));
}

// aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None,
//     bool density=False) -> (Tensor hist, Tensor bin_edges)
Values HistogramOfCount(Builder& b, const OpCall& call) {
  CheckPoints(call, call.Tensor(0));
  const Value points = Column(b, call.Tensor(0));
  const Value edges = EdgesOf(b, call, points, 0, call.Int(1), 2);
  return {Count(b, call, points, {edges}, call.TensorOrUndefined(3), call.Bool(4)), edges};
}

// aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None,
//     bool density=False) -> (Tensor hist, Tensor bin_edges)
Values HistogramOfEdges(Builder& b, const OpCall& call) {
  CheckPoints(call, call.Tensor(0));
  const Value edges = call.Tensor(1);
  CheckEdges(call, edges, call.Tensor(0).dtype());
  return {
      Count(b, call, Column(b, call.Tensor(0)), {edges}, call.TensorOrUndefined(2), call.Bool(3)),
      edges};
}

Values EveryEdge(Builder& b, const OpCall& call, Value points, const Dims& bins) {
  Values edges;
  for (size_t d = 0; d < bins.size(); ++d) {
    edges.push_back(EdgesOf(b, call, points, static_cast<int64_t>(d), bins[d], 2));
  }
  return edges;
}

// aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None,
//     Tensor? weight=None, bool density=False) -> Tensor[]
Values BinEdges(Builder& b, const OpCall& call) {
  const Dims bins = call.Ints(1);
  return EveryEdge(b, call, Points(b, call, bins.size()), bins);
}

// aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None,
//     Tensor? weight=None, bool density=False) -> Tensor
Value HistogramOfCounts(Builder& b, const OpCall& call) {
  const Dims bins = call.Ints(1);
  const Value points = Points(b, call, bins.size());
  return Count(b, call, points, EveryEdge(b, call, points, bins), call.TensorOrUndefined(3),
               call.Bool(4));
}

// aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None,
//     bool density=False) -> Tensor
Value HistogramOfManyEdges(Builder& b, const OpCall& call) {
  const Values& edges = call.Tensors(1);
  for (const Value& edge : edges) CheckEdges(call, edge, call.Tensor(0).dtype());
  return Count(b, call, Points(b, call, edges.size()), edges, call.TensorOrUndefined(2),
               call.Bool(3));
}

}  // namespace

OpRows HistogramRows() {
  return {
      {"aten::histogram.bin_ct", HistogramOfCount},
      {"aten::histogram.bins_tensor", HistogramOfEdges},
      {"aten::_histogramdd_bin_edges", BinEdges},
      {"aten::_histogramdd_from_bin_cts", HistogramOfCounts},
      {"aten::_histogramdd_from_bin_tensors", HistogramOfManyEdges},
  };
}

}  // namespace torch_tpu::lowering
