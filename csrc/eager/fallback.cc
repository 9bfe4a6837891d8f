// Ops without a row run on the CPU: named, warned about once each, counted; an error on request.
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include <mutex>
#include <set>

#include "base/settings.h"
#include "exec/stats.h"

namespace torch_tpu::eager {
namespace {

bool FirstTime(const std::string& op) {
  static std::mutex mutex;
  static auto& seen = *new std::set<std::string>();
  const std::lock_guard lock(mutex);
  return seen.insert(op).second;
}

void Fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::string name = c10::toString(op.operator_name());
  const std::string& policy = GetSettings().fallback;
  exec::GetStats().CountFallback(name);
  TORCH_CHECK_NOT_IMPLEMENTED(
      policy != "error", name,
      ": expected an op with a lowering, got one without (see docs/ops.md). "
      "Set TORCH_TPU_FALLBACK=warn to run it on the CPU");
  if (policy == "warn" && FirstTime(name)) {
    TORCH_WARN(name,
               " has no lowering for tpu yet and runs on the CPU: its inputs are copied to the "
               "host and its results back. torch.tpu.stats()['fallbacks'] counts such calls");
  }
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
}

}  // namespace torch_tpu::eager
