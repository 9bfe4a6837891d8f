#include <torch/csrc/Event.h>

#include "python/bind.h"

namespace torch_tpu::python {
namespace {

namespace py = pybind11;

const c10::Event& EventOf(const py::handle& object) {
  TORCH_CHECK_TYPE(THPEvent_Check(object.ptr()),
                   "Event.elapsed_time: expected a torch.Event, got a ",
                   Py_TYPE(object.ptr())->tp_name);
  return reinterpret_cast<THPEvent*>(object.ptr())->event;
}

}  // namespace

void BindEvent(py::module_& m) {
  // torch.Event.elapsed_time takes no subclass of torch.Event as the other event.
  m.def("elapsed_time", torch::wrap_pybind_function([](py::handle start, py::handle end) {
          return EventOf(start).elapsedTime(EventOf(end));
        }));
}

}  // namespace torch_tpu::python
