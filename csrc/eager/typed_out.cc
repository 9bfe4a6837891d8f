// out= forms whose computation takes its type from the out tensor.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "eager/boxed_kernel.h"

namespace torch_tpu::eager {
namespace {

at::Tensor& CumSumOut(const at::Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype,
                      at::Tensor& out) {
  WriteOut(out, at::cumsum(self, dim, dtype.value_or(out.scalar_type())));
  return out;
}

at::Tensor& BernoulliOut(const at::Tensor& self, std::optional<at::Generator> generator,
                         at::Tensor& out) {
  WriteOut(out, at::bernoulli(self, std::move(generator)).to(out.scalar_type()));
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("cumsum.out", CumSumOut);
  m.impl("bernoulli.out", BernoulliOut);
}

}  // namespace torch_tpu::eager
