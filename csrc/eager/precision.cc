#include "eager/precision.h"

#include <ATen/Context.h>
#include <ATen/ThreadLocalPythonObjects.h>

#include <atomic>
#include <memory>

namespace torch_tpu::eager {
namespace {

using at::impl::ThreadLocalPythonObjects;

// PyTorch carries these objects into the threads that run a backward pass, as it does with no other
// thread-local that a backend could use. Ours travels with them and holds no Python object.
constexpr const char* kKey = "torch_tpu.matmul_precision";
struct Override : c10::SafePyObject {
  explicit Override(int precision) : SafePyObject(nullptr, nullptr), precision(precision) {}
  const int precision;
};

std::atomic<bool> ever_overridden{false};  // spares everyone else the lookup
std::atomic<bool> excess_precision{false};

int OverrideOrNone() {
  if (!ThreadLocalPythonObjects::contains(kKey)) return -1;
  return static_cast<const Override&>(*ThreadLocalPythonObjects::get(kKey)).precision;
}

}  // namespace

hlo::Precision GetMatmulPrecision() {
  if (ever_overridden.load(std::memory_order_relaxed)) {
    const int precision = OverrideOrNone();
    if (precision >= 0) return static_cast<hlo::Precision>(precision);
  }
  switch (at::globalContext().float32MatmulPrecision()) {
    case at::Float32MatmulPrecision::MEDIUM:
      return hlo::Precision::kDefault;
    case at::Float32MatmulPrecision::HIGH:
      return hlo::Precision::kHigh;
    case at::Float32MatmulPrecision::HIGHEST:
      break;
  }
  return hlo::Precision::kHighest;
}

int ExchangeMatmulPrecision(int precision) {
  const int before = OverrideOrNone();
  if (precision < 0) {
    if (before >= 0) ThreadLocalPythonObjects::erase(kKey);
  } else {
    ThreadLocalPythonObjects::set(kKey, std::make_shared<Override>(precision));
    ever_overridden = true;
  }
  return before;
}

void SetExcessPrecision(bool allow) { excess_precision = allow; }

bool GetExcessPrecision() { return excess_precision.load(std::memory_order_relaxed); }

void PutPrecision(exec::ProgramWriter& writer, const lowering::OpRow& row) {
  if (row.flags.products) {
    const hlo::Precision precision = GetMatmulPrecision();
    if (precision != hlo::Precision::kHighest) writer.Precision(precision);
  }
  if (GetExcessPrecision()) writer.ExcessPrecision();
}

}  // namespace torch_tpu::eager
