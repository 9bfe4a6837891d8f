// Polynomials and Chebyshev series with constant coefficients.
#pragma once

#include "lowering/combinators.h"

namespace torch_tpu::lowering {

using Coefficients = c10::ArrayRef<double>;

// c[0] x^n + ... + c[n].
inline Value Polynomial(Builder& b, Value x, Coefficients c) {
  Value sum = b.ConstantLike(x, c[0]);
  for (size_t i = 1; i < c.size(); ++i) sum = sum * x + c[i];
  return sum;
}

// The series in Chebyshev polynomials of x / 2, highest first (Clenshaw's recurrence).
inline Value ChebyshevSeries(Builder& b, Value x, Coefficients c) {
  Value current = b.ConstantLike(x, c[0]), before = b.ConstantLike(x, 0), older = before;
  for (size_t i = 1; i < c.size(); ++i) {
    older = before;
    before = current;
    current = x * before - older + c[i];
  }
  return (current - older) * 0.5;
}

}  // namespace torch_tpu::lowering
