// Devices: how many, which is current, what they are; start, synchronize, blocking launches.
#include <torch/csrc/utils/device_lazy_init.h>

#include "base/settings.h"
#include "eager/guard.h"
#include "exec/eager_mode.h"
#include "exec/fused_queue.h"
#include "exec/runtime.h"
#include "pjrt/fork_guard.h"
#include "python/bind.h"

namespace torch_tpu::python {
namespace {

namespace py = pybind11;

void Start() {
  pjrt::CheckNotForked();
  exec::Runtime::Get();
}

// What the plugin says of a device. Starts it.
py::dict Properties(int index) {
  exec::Runtime* runtime = nullptr;
  {
    const py::gil_scoped_release no_gil;
    Start();
    eager::CheckDevice(index);
    runtime = &exec::Runtime::Get();
  }
  const pjrt::Device& device = runtime->client().device(index);
  py::dict properties;
  properties["kind"] = device.kind();
  properties["id"] = device.id();
  properties["local_hardware_id"] = device.local_hardware_id();
  properties["process_index"] = device.process_index();
  properties["attributes"] = device.attributes();
  properties["total_memory"] = runtime->device(index).memory.limit();
  properties["platform"] = runtime->client().platform_name();
  properties["platform_version"] = runtime->client().platform_version();
  properties["plugin"] = runtime->plugin().path;
  properties["reason"] = runtime->plugin().reason;
  properties["is_stand_in"] = runtime->is_stand_in();
  return properties;
}

}  // namespace

void BindDevice(py::module_& m) {
  using torch::wrap_pybind_function;
  using torch::wrap_pybind_function_no_gil;

  m.def("set_plugin_search_dirs", &exec::Runtime::SetPluginSearchDirs);
  m.def("device_count", wrap_pybind_function(&exec::Runtime::DeviceCount));
  m.def("is_started", &exec::Runtime::IsStarted);
  m.def("in_bad_fork", &pjrt::InForkedChild);
  // A child's first use of the device then comes through torch.tpu._lazy_init again.
  m.def("register_fork_handler",
        [] { torch::utils::register_fork_handler_for_device_init(c10::DeviceType::PrivateUse1); });
  m.def("start", wrap_pybind_function_no_gil(&Start));
  m.def("current_device", &eager::CurrentDevice);
  m.def("set_device", wrap_pybind_function_no_gil(&eager::SetCurrentDevice));
  m.def("check_device", wrap_pybind_function_no_gil(&eager::CheckDevice));
  m.def("synchronize", wrap_pybind_function_no_gil([](int index) {
          pjrt::CheckNotForked();
          eager::SynchronizeDevice(index);
        }));
  m.def("device_properties", wrap_pybind_function(&Properties));
  m.def("set_eager_mode", [](int mode) {
    const pybind11::gil_scoped_release no_gil;
    exec::SetEagerMode(static_cast<exec::EagerMode>(mode));
  });
  m.def("flush", torch::wrap_pybind_function_no_gil(&exec::FusedQueue::FlushAll));
  m.def("eager_mode", [] { return static_cast<int>(exec::GetEagerMode()); });
  m.def("is_quiet", wrap_pybind_function([] { return GetSettings().quiet; }));
}

}  // namespace torch_tpu::python
