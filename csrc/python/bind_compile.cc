// Compiled graphs: inputs and results are flat lists, as AOTAutograd passes them.
#include <torch/csrc/autograd/python_variable.h>

#include "compile/compiled_graph.h"
#include "compile/region.h"
#include "python/bind.h"

namespace torch_tpu::python {
namespace {

namespace py = pybind11;
using compile::CompiledGraph;

std::vector<c10::IValue> FromPython(const py::list& list) {
  std::vector<c10::IValue> values;
  values.reserve(list.size());
  for (const py::handle item : list) {
    if (THPVariable_Check(item.ptr())) {
      values.emplace_back(THPVariable_Unpack(item.ptr()));
    } else if (item.is_none()) {
      values.emplace_back();
    } else if (PyBool_Check(item.ptr())) {
      values.emplace_back(item.ptr() == Py_True);
    } else if (PyLong_Check(item.ptr())) {
      values.emplace_back(py::cast<int64_t>(item));
    } else {
      values.emplace_back(py::cast<double>(item));
    }
  }
  return values;
}

py::object ToPython(const c10::IValue& value) {
  if (value.isTensor()) {
    return py::reinterpret_steal<py::object>(THPVariable_Wrap(value.toTensor()));
  }
  if (value.isBool()) return py::cast(value.toBool());
  if (value.isInt()) return py::cast(value.toInt());
  if (value.isDouble()) return py::cast(value.toDouble());
  return py::none();
}

py::list ToPython(const std::vector<c10::IValue>& values) {
  py::list list(values.size());
  for (size_t i = 0; i < values.size(); ++i) list[i] = ToPython(values[i]);
  return list;
}

py::object Run(CompiledGraph& graph, const py::list& args) {
  const auto results = graph.Run(FromPython(args));
  return results ? py::object(ToPython(*results)) : py::none();
}

// What the plugin tells of the program that ran last.
py::dict Costs(const CompiledGraph& graph) {
  py::dict costs;
  const auto program = graph.program();
  if (program == nullptr) return costs;
  const pjrt::Executable& executable = *program->executable;
  costs["analysis"] = py::cast(executable.CostAnalysis());
  const pjrt::CompiledMemoryStats memory = executable.MemoryStats();
  costs["argument_bytes"] = memory.argument_bytes;
  costs["output_bytes"] = memory.output_bytes;
  costs["alias_bytes"] = memory.alias_bytes;
  costs["temp_bytes"] = memory.temp_bytes;
  costs["peak_bytes"] = memory.peak_bytes;
  return costs;
}

py::tuple Optimized(const CompiledGraph& graph) {
  const auto program = graph.program();
  if (program == nullptr) return py::make_tuple("", py::bytes());
  const pjrt::Executable::Program optimized = program->executable->OptimizedProgram();
  return py::make_tuple(optimized.format, py::bytes(optimized.code));
}

}  // namespace

void BindCompile(py::module_& m) {
  using torch::wrap_pybind_function;
  py::class_<CompiledGraph>(m, "CompiledGraph")
      .def(py::init<std::string, bool>())
      .def("run", wrap_pybind_function(&Run))
      .def("begin", wrap_pybind_function([](CompiledGraph& graph, const py::list& args) {
             return ToPython(graph.Begin(FromPython(args)));
           }))
      .def("end", wrap_pybind_function([](CompiledGraph& graph, const py::list& results) {
             graph.End(FromPython(results));
           }))
      .def("abort", &CompiledGraph::Abort)
      .def_property_readonly("num_traces", &CompiledGraph::num_traces)
      .def_property_readonly("name", &CompiledGraph::name)
      .def_property_readonly("text", wrap_pybind_function(&CompiledGraph::text))
      .def_property_readonly("costs", wrap_pybind_function(&Costs))
      .def_property_readonly("optimized", wrap_pybind_function(&Optimized));

  py::class_<compile::Region>(m, "Region")
      .def(py::init<>())
      .def("begin", wrap_pybind_function(&compile::Region::Begin))
      .def("end", wrap_pybind_function(&compile::Region::End))
      .def("abort", &compile::Region::Abort);
  m.def("add_cond", wrap_pybind_function(&compile::AddCond));
  m.def("add_while", wrap_pybind_function(&compile::AddWhile));
  m.def("add_scan", wrap_pybind_function(&compile::AddScan));
}

}  // namespace torch_tpu::python
