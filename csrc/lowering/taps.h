// Sparse linear maps along one dimension whose indices and weights are known when the program is
// built: every interpolation and irregular average, and their adjoints.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

// Result element o along the dimension is the sum over t of weight[t][o] * x[index[t][o]]. Entries
// with used[t][o] false contribute nothing, whatever x holds (infinities and NaN included).
struct Taps {
  Taps(int64_t input, int64_t output, int64_t count)
      : input(input),
        output(output),
        index(count, Dims(output, 0)),
        weight(count, std::vector<double>(output, 1.0)),
        used(count, std::vector<bool>(output, true)) {}

  int64_t count() const { return static_cast<int64_t>(index.size()); }
  Taps Adjoint() const;

  int64_t input, output;
  std::vector<Dims> index;
  std::vector<std::vector<double>> weight;
  std::vector<std::vector<bool>> used;
};

// x is of the type to compute in.
Value ApplyTaps(Builder& b, Value x, int64_t dim, const Taps& taps);

// x at `index` along `dim`: a slice, a repetition or a gather, whichever says it most simply.
// Indices are in range.
Value Take(Builder& b, Value x, int64_t dim, IntArrayRef index);

}  // namespace torch_tpu::lowering
