// Ops without a row run on the CPU: named, warned about once each, counted; an error on request.
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include <mutex>
#include <set>
#include <string_view>

#include "base/settings.h"
#include "exec/stats.h"

namespace torch_tpu::eager {
namespace {

// Ops that run on the CPU by choice, all overloads. docs/ops.md shows them.
struct HostOp {
  std::string_view name, reason;
};

constexpr HostOp kHostOps[] = {
    {"aten::linalg_eig",
     "eigenvalues of general matrices need the QR algorithm with deflation: thousands of small "
     "dependent steps of changing size, for which XLA has no operation"},
    {"aten::_linalg_eigvals", "as linalg_eig"},
    {"aten::linalg_ldl_factor_ex",
     "Bunch-Kaufman pivoting chooses blocks of one or two rows step by step; Cholesky and LU run "
     "on "
     "the device"},
    {"aten::linalg_ldl_solve", "its pivots are those of linalg_ldl_factor_ex"},
};

// Why `op` runs on the CPU; empty where it is only that no lowering was written.
std::string_view ReasonFor(std::string_view op) {
  op = op.substr(0, op.find('.'));
  for (const HostOp& host : kHostOps) {
    if (host.name == op) return host.reason;
  }
  return {};
}

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
    const std::string_view reason = ReasonFor(name);
    TORCH_WARN(name, reason.empty() ? " has no lowering for tpu yet" : " has no lowering for tpu (",
               reason, reason.empty() ? "" : ")",
               " and runs on the CPU: its inputs are copied to the host and its results back. "
               "torch.tpu.stats()['fallbacks'] counts such calls");
  }
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
}

}  // namespace torch_tpu::eager
