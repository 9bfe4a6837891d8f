#include "lowering/taps.h"

#include <c10/util/Exception.h>

#include <algorithm>

namespace torch_tpu::lowering {
namespace {

// Beyond this many taps one gather and a reduction replace a sum of gathers.
constexpr int64_t kUnrolled = 8;

bool AllUsed(const Taps& taps) {
  for (const auto& row : taps.used) {
    if (std::find(row.begin(), row.end(), false) != row.end()) return false;
  }
  return true;
}

bool AllOnes(const Taps& taps) {
  for (const auto& row : taps.weight) {
    if (std::any_of(row.begin(), row.end(), [](double w) { return w != 1.0; })) return false;
  }
  return true;
}

// All taps along one dimension of size count * output, tap-minor.
Dims Interleaved(const Taps& taps) {
  Dims all;
  for (int64_t o = 0; o < taps.output; ++o) {
    for (int64_t t = 0; t < taps.count(); ++t) all.push_back(taps.index[t][o]);
  }
  return all;
}

Value Mask(Builder& b, c10::ArrayRef<int64_t> flags, IntArrayRef dims) {
  return b.Convert(b.ConstantInts(DType::Byte, flags, dims), DType::Bool);
}

}  // namespace

Taps Taps::Adjoint() const {
  std::vector<std::vector<std::pair<int64_t, double>>> readers(input);
  size_t most = 1;
  for (int64_t o = 0; o < output; ++o) {
    for (int64_t t = 0; t < count(); ++t) {
      if (!used[t][o]) continue;
      auto& list = readers[index[t][o]];
      list.emplace_back(o, weight[t][o]);
      most = std::max(most, list.size());
    }
  }
  Taps adjoint(output, input, static_cast<int64_t>(most));
  for (int64_t i = 0; i < input; ++i) {
    for (size_t t = 0; t < most; ++t) {
      const bool here = t < readers[i].size();
      adjoint.used[t][i] = here;
      adjoint.index[t][i] = here ? readers[i][t].first : 0;
      adjoint.weight[t][i] = here ? readers[i][t].second : 0.0;
    }
  }
  return adjoint;
}

Value Take(Builder& b, Value x, int64_t dim, IntArrayRef index) {
  const int64_t n = static_cast<int64_t>(index.size());
  if (n == 0) return b.SliceDim(x, dim, 0, 0);
  const int64_t step = n > 1 ? index[1] - index[0] : 1;
  bool slice = step > 0, reversed = n > 1 && step == -1;
  int64_t repeat = 1;
  while (repeat < n && index[repeat] == index[0]) ++repeat;
  bool repeats = n % repeat == 0 && repeat > 1;
  for (int64_t i = 0; i < n; ++i) {
    slice = slice && index[i] == index[0] + i * step;
    reversed = reversed && index[i] == index[0] - i;
    repeats = repeats && index[i] == index[0] + i / repeat;
  }
  if (slice) return b.SliceDim(x, dim, index[0], index[n - 1] + 1, step);
  if (reversed) return b.Reverse(b.SliceDim(x, dim, index[n - 1], index[0] + 1), {dim});
  if (repeats) {
    x = b.SliceDim(x, dim, index[0], index[0] + n / repeat);
    Dims wide = x.dims(), mapping, merged = x.dims();
    wide.insert(wide.begin() + dim + 1, repeat);
    merged[dim] = n;
    for (int64_t d = 0; d < x.rank(); ++d) mapping.push_back(d <= dim ? d : d + 1);
    return b.Reshape(b.BroadcastInDim(x, wide, mapping), merged);
  }
  hlo::GatherDims g;
  g.slice_sizes = x.dims();
  g.slice_sizes[dim] = 1;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d != dim) g.offset_dims.push_back(d);
  }
  g.collapsed_dims = {dim};
  g.start_index_map = {dim};
  g.index_vector_dim = 1;
  return b.Gather(x, b.ConstantInts(DType::Int, index, {n, 1}), g);
}

Value ApplyTaps(Builder& b, Value x, int64_t dim, const Taps& taps) {
  TORCH_INTERNAL_ASSERT(x.dim(dim) == taps.input);
  const bool used = AllUsed(taps), ones = AllOnes(taps);
  const int64_t count = taps.count();
  const Value zero = b.Constant(x.dtype(), 0);
  const Dims all = Interleaved(taps);
  bool blocks = used && count > 1;
  for (size_t i = 0; i < all.size(); ++i) blocks = blocks && all[i] == static_cast<int64_t>(i);
  if (count <= kUnrolled && !blocks) {
    Value sum;
    for (int64_t t = 0; t < count; ++t) {
      Value term = Take(b, x, dim, taps.index[t]);
      const Dims& dims = term.dims();
      auto along = [&](Value vector) { return b.BroadcastInDim(vector, dims, {dim}); };
      if (!ones) {
        term = term * along(b.ConstantDoubles(x.dtype(), taps.weight[t], {taps.output}));
      }
      if (!used) {
        const Dims flags(taps.used[t].begin(), taps.used[t].end());
        term = b.Select(along(Mask(b, flags, {taps.output})), term, b.Broadcast(zero, dims));
      }
      sum = sum.defined() ? sum + term : term;
    }
    return sum;
  }
  Value terms = Take(b, x, dim, all);
  Dims split = terms.dims();
  split[dim] = taps.output;
  split.insert(split.begin() + dim + 1, count);
  terms = b.Reshape(terms, split);
  auto along = [&](Value table) { return b.BroadcastInDim(table, split, {dim, dim + 1}); };
  const Dims table = {taps.output, count};
  if (!ones) {
    std::vector<double> weights;
    for (int64_t o = 0; o < taps.output; ++o) {
      for (int64_t t = 0; t < count; ++t) weights.push_back(taps.weight[t][o]);
    }
    terms = terms * along(b.ConstantDoubles(x.dtype(), weights, table));
  }
  if (!used) {
    Dims flags;
    for (int64_t o = 0; o < taps.output; ++o) {
      for (int64_t t = 0; t < count; ++t) flags.push_back(taps.used[t][o]);
    }
    terms = b.Select(along(Mask(b, flags, table)), terms, b.Broadcast(zero, split));
  }
  return b.Reduce("add", terms, zero, {dim + 1});
}

}  // namespace torch_tpu::lowering
