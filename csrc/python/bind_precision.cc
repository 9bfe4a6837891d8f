#include "eager/precision.h"
#include "python/bind.h"

namespace torch_tpu::python {

void BindPrecision(pybind11::module_& m) {
  using torch::wrap_pybind_function;
  m.def("exchange_matmul_precision", wrap_pybind_function(&eager::ExchangeMatmulPrecision));
  m.def("matmul_precision",
        wrap_pybind_function([] { return static_cast<int>(eager::GetMatmulPrecision()); }));
  m.def("set_excess_precision", &eager::SetExcessPrecision);
  m.def("excess_precision", &eager::GetExcessPrecision);
}

}  // namespace torch_tpu::python
