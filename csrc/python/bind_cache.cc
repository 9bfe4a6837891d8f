// Compiled programs: why each was compiled, and the folder they are kept in.
#include <fmt/format.h>

#include "base/settings.h"
#include "exec/compile_log.h"
#include "exec/disk_cache.h"
#include "exec/executable_cache.h"
#include "exec/program_store.h"
#include "python/bind.h"

namespace torch_tpu::python {
namespace {

namespace py = pybind11;
using exec::DiskCache;

bool IsLibrary(PyFrameObject* frame) {
  const auto globals = py::reinterpret_steal<py::dict>(PyFrame_GetGlobals(frame));
  const py::object name = globals.attr("get")("__name__");
  if (!py::isinstance<py::str>(name)) return false;
  const std::string module = py::cast<std::string>(name);
  const std::string package = module.substr(0, module.find('.'));
  return package == "torch" || package == "torch_tpu";
}

// The innermost line of this thread that is not PyTorch's or ours.
std::string CallSite() {
  if (Py_IsInitialized() == 0) return "";
  const py::gil_scoped_acquire gil;
  PyFrameObject* first = PyEval_GetFrame();
  auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(first));
  while (frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    if (!IsLibrary(raw)) {
      const auto code =
          py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
      return fmt::format("{}:{}", py::cast<std::string>(code.attr("co_filename")),
                         PyFrame_GetLineNumber(raw));
    }
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return "";
}

py::list Compiles() {
  py::list list;
  for (const exec::CompileRecord& record : exec::CompileLog::Get().Records()) {
    py::dict d;
    d["op"] = record.op;
    d["program"] = record.program;
    d["difference"] = record.difference;
    d["call_site"] = record.call_site;
    d["seconds"] = record.seconds;
    d["origin"] = exec::OriginName(record.origin);
    list.append(d);
  }
  return list;
}

DiskCache OpenFolder(const std::string& folder) {
  return DiskCache(folder, DiskCache::Mode::kReadWrite, GetSettings().cache_bytes);
}

// Every blob with what its record says; `problem` is empty where it is good.
py::list CacheEntries(const std::string& folder) {
  const DiskCache cache = OpenFolder(folder);
  py::list list;
  for (const DiskCache::File& file : cache.List()) {
    py::dict d;
    d["name"] = file.name;
    d["bytes"] = file.bytes;
    d["last_use"] = file.last_use;
    std::string problem;
    const auto blob = cache.Peek(file.name, problem);
    if (!blob && problem.empty()) continue;  // gone since it was listed
    if (problem.empty() && !exec::IsBlobName(file.name)) problem = "it has no name of ours";
    if (problem.empty() && file.name.ends_with(exec::kProgramSuffix)) {
      if (const auto record = exec::ParseProgramRecord(*blob)) {
        d["program"] = record->description;
        d["compile_seconds"] = record->compile_seconds;
        d["executable"] = record->executable;
      } else {
        problem = "it is no record of a program";
      }
    }
    d["problem"] = problem;
    list.append(d);
  }
  return list;
}

py::bytes CacheExport(const std::string& folder, const std::string& name) {
  std::string problem;
  const auto blob = OpenFolder(folder).Peek(name, problem);
  TORCH_CHECK_VALUE(blob.has_value(), name, ": expected a good file of the cache, got one where ",
                    problem.empty() ? "it is gone" : problem);
  return exec::Seal(name, *blob);
}

bool CacheImport(const std::string& folder, const std::string& name, const py::bytes& bytes) {
  TORCH_CHECK_VALUE(exec::IsBlobName(name), "import: expected a file of an exported cache, got '",
                    name, "'");
  std::string problem;
  const auto blob = exec::Unseal(name, bytes, problem);
  TORCH_CHECK_VALUE(blob.has_value(), name, ": expected a whole file, got one where ", problem);
  return OpenFolder(folder).Write(name, *blob);
}

}  // namespace

void BindCache(py::module_& m) {
  using torch::wrap_pybind_function;
  exec::SetCallSiteFinder(&CallSite);
  m.def("compiles", &Compiles);
  m.def("print_compiles", [](bool print) { exec::CompileLog::Get().SetPrinting(print); });
  m.def("set_max_programs", [](size_t limit) { exec::ExecutableCache::Get().SetLimit(limit); });
  m.def("num_programs", [] { return exec::ExecutableCache::Get().size(); });
  m.def("cache_folder", wrap_pybind_function(&exec::CacheFolder));
  m.def("cache_limit", wrap_pybind_function([] { return GetSettings().cache_bytes; }));
  m.def("cache_why_not_trusted", wrap_pybind_function(&exec::WhyNotTrusted));
  m.def("cache_entries", wrap_pybind_function(&CacheEntries));
  m.def("cache_remove",
        wrap_pybind_function([](const std::string& folder, const std::string& name) {
          OpenFolder(folder).Remove(name);
        }));
  m.def("cache_clear",
        wrap_pybind_function([](const std::string& folder) { return OpenFolder(folder).Clear(); }));
  m.def("cache_export", wrap_pybind_function(&CacheExport));
  m.def("cache_import", wrap_pybind_function(&CacheImport));
}

}  // namespace torch_tpu::python
