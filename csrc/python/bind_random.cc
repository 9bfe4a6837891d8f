#include "eager/generator.h"
#include "python/bind.h"

namespace torch_tpu::python {

void BindRandom(pybind11::module_& m) {
  using torch::wrap_pybind_function;
  m.def("default_generator",
        wrap_pybind_function([](int device) { return eager::DefaultGenerator(device); }));
  m.def("seed_default_generators", wrap_pybind_function(&eager::SeedDefaultGenerators));
}

}  // namespace torch_tpu::python
