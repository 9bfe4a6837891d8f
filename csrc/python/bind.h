// One function per subject, each adding its bindings to torch_tpu._C. torch::wrap_pybind_function
// turns c10's errors into PyTorch's Python exceptions; the variant _no_gil also lets other threads
// run.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

namespace torch_tpu::python {

void BindCache(pybind11::module_& m);
void BindCompile(pybind11::module_& m);
void BindDevice(pybind11::module_& m);
void BindDistributed(pybind11::module_& m);
void BindEvent(pybind11::module_& m);
void BindPrecision(pybind11::module_& m);
void BindRandom(pybind11::module_& m);
void BindStats(pybind11::module_& m);

}  // namespace torch_tpu::python
