// The c10d backend.
#include <pybind11/chrono.h>

#include "base/settings.h"
#include "distributed/process_group.h"
#include "python/bind.h"

namespace torch_tpu::python {
namespace {

namespace py = pybind11;

using Options = distributed::ProcessGroupTpu::GroupOptions;
using OptionsRef = c10::intrusive_ptr<Options>;

OptionsRef MakeOptions(const std::string& backend, std::chrono::milliseconds timeout,
                       const std::string& group_name) {
  auto options = c10::make_intrusive<Options>(backend, timeout);
  options->group_name = group_name;
  return options;
}

}  // namespace

void BindDistributed(py::module_& m) {
  py::module_::import("torch._C._distributed_c10d");  // has the base class
  py::class_<Options, OptionsRef, c10d::Backend::Options>(
      m, "ProcessGroupOptions", "Options of a group of the backend tpu_dist: name, timeout.")
      .def(py::init(&MakeOptions), py::arg("backend"), py::arg("timeout"),
           py::arg("group_name") = "")
      // torch.distributed.split_group copies those of the parent.
      .def("__deepcopy__", [](const Options& options, const py::dict&) {
        return c10::make_intrusive<Options>(options);
      });
  using distributed::ProcessGroupTpu;
  py::class_<ProcessGroupTpu, c10::intrusive_ptr<ProcessGroupTpu>, c10d::Backend>(
      m, "ProcessGroupTpu", "The backend tpu_dist of one process group.")
      .def_property_readonly("options", &ProcessGroupTpu::getBackendOptions);
  // `gloo`: a process group of the same ranks on the CPU; None for a group of one rank.
  m.def(
      "make_process_group",
      torch::wrap_pybind_function([](int rank, int size, c10::intrusive_ptr<c10d::Store> store,
                                     c10::intrusive_ptr<c10d::Backend> gloo,
                                     std::vector<int64_t> global_ranks, OptionsRef options) {
        return c10::intrusive_ptr<c10d::Backend>(c10::make_intrusive<distributed::ProcessGroupTpu>(
            rank, size, std::move(store), std::move(gloo), std::move(global_ranks),
            std::move(options), GetSettings().check_collectives));
      }));
}

}  // namespace torch_tpu::python
