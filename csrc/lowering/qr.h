// Householder reflectors as LAPACK's geqrf packs them. XLA expands both operations itself, on every
// target.
#pragma once

#include "lowering/matrices.h"

namespace torch_tpu::lowering {

struct Reflectors {
  Value packed;  // [..., m, n]: R on and above the diagonal, reflectors below
  Value taus;    // [..., min(m, n)]
};

Reflectors Geqrf(Builder& b, Value x);
// The first `columns` columns of the product of the reflectors in the first columns of `packed`
// [..., m, n], one per tau; taus.dim(-1) <= columns <= m.
Value ProductOfReflectors(Builder& b, const Reflectors& reflectors, int64_t columns);

struct Qr {
  Value q, r;
};
// Q [..., m, k] and R [..., k, n], k = m (`complete`) or min(m, n).
Qr QrOf(Builder& b, Value x, bool complete);

}  // namespace torch_tpu::lowering
