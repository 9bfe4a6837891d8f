#include "eager/registration.h"
#include "python/bind.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "What torch_tpu and torch.tpu call in C++.";
  m.attr("version") = TORCH_TPU_VERSION;
  torch_tpu::python::BindCache(m);
  torch_tpu::python::BindCompile(m);
  torch_tpu::python::BindDevice(m);
  torch_tpu::python::BindDistributed(m);
  torch_tpu::python::BindEvent(m);
  torch_tpu::python::BindPrecision(m);
  torch_tpu::python::BindRandom(m);
  torch_tpu::python::BindStats(m);
  torch_tpu::eager::RegisterRows();
}
