// Counters, and the table of ops.
#include "eager/registration.h"
#include "exec/compile_log.h"
#include "exec/stats.h"
#include "lowering/registry.h"
#include "python/bind.h"

namespace torch_tpu::python {
namespace {

namespace py = pybind11;

py::dict Stats() {
  const exec::Stats& stats = exec::GetStats();
  py::dict d;
  d["programs"] = stats.compiles + stats.disk_hits;
  d["compiles"] = stats.compiles.load();
  d["compile_seconds"] = static_cast<double>(stats.compile_microseconds) * 1e-6;
  d["disk_hits"] = stats.disk_hits.load();
  d["disk_writes"] = stats.disk_writes.load();
  d["disk_bad_files"] = stats.disk_bad_files.load();
  d["cache_hits"] = stats.cache_hits.load();
  d["launches"] = stats.launches.load();
  d["flushes"] = stats.flushes.load();
  d["fused_calls"] = stats.fused_calls.load();
  d["padded_programs"] = stats.padded_programs.load();
  d["padded_launches"] = stats.padded_launches.load();
  d["fallbacks"] = stats.fallback_ops();
  d["bytes_to_device"] = stats.bytes_to_device.load();
  d["bytes_to_host"] = stats.bytes_to_host.load();
  d["bytes_between_devices"] = stats.bytes_between_devices.load();
  d["synchronizations"] = stats.synchronizations.load();
  return d;
}

std::vector<std::string> Rows() {
  std::vector<std::string> names;
  for (const lowering::OpRow& row : lowering::Rows()) names.emplace_back(row.name);
  return names;
}

std::vector<std::pair<std::string, std::string>> RegisteredOps() {
  std::vector<std::pair<std::string, std::string>> ops;
  for (const auto& [op, row] : eager::RegisteredOps()) ops.emplace_back(op, row);
  return ops;
}

}  // namespace

void BindStats(py::module_& m) {
  m.def("stats", &Stats);
  m.def("reset_stats", [] {
    exec::GetStats().Reset();
    exec::CompileLog::Get().Reset();
  });
  m.def("rows", torch::wrap_pybind_function(&Rows));
  m.def("registered_ops", torch::wrap_pybind_function(&RegisteredOps));
}

}  // namespace torch_tpu::python
