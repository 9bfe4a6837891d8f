// Written forms that are not the functional op and a copy: their type is the written tensor's.
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

at::Tensor& AbsInPlace(at::Tensor& self) {
  TORCH_CHECK(!self.is_complex(), "In-place abs is not supported for complex tensors.");
  return at::abs_out(self, self);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("abs_", AbsInPlace);
  m.impl("cumsum.out", CumSumOut);
  m.impl("bernoulli.out", BernoulliOut);
}

}  // namespace torch_tpu::eager
