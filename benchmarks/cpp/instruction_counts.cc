// Runs eager calls under callgrind, one profile for each kind; benchmarks/instructions.py reads
// them. Counts of instructions repeat on any machine, times do not.
#include <ATen/ATen.h>
#include <valgrind/callgrind.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "eager/registration.h"
#include "exec/eager_mode.h"
#include "exec/fused_queue.h"

int main() {
  using namespace torch_tpu;  // NOLINT
  constexpr int kWarmUp = 30, kCalls = 100;
  setenv("TORCH_TPU_PJRT_PLUGIN", TORCH_TPU_TEST_PLUGIN, 0);
  eager::RegisterRows();
  const at::InferenceMode no_autograd;
  const auto device = at::TensorOptions().device(c10::DeviceType::PrivateUse1);
  const at::Tensor x = at::ones({8, 8}).to(device.device()), y = x.clone(), z = x.clone();
  const at::Tensor index = at::zeros({4}, at::kLong).to(device.device());
  const std::map<std::string, std::function<at::Tensor()>> calls = {
      {"add", [&] { return at::add(y, x); }},
      {"add_", [&] { return z.add_(x); }},
      {"mul_number", [&] { return at::mul(x, 0.3); }},
      {"add_of_slices", [&] { return at::add(y.slice(1, 0, 4), x.slice(1, 2, 6)); }},
      {"sum", [&] { return at::sum(x, {1}); }},
      {"softmax", [&] { return at::softmax(x, -1); }},
      {"mm", [&] { return at::mm(x, y); }},
      {"index_select", [&] { return at::index_select(x, 0, index); }},
      {"transpose", [&] { return x.t(); }},
      {"empty", [&] { return at::empty({8, 8}, device); }},
  };
  // The first profile also holds what was open when counting began.
  calls.at("add")();
  CALLGRIND_DUMP_STATS_AT("start");
  for (const auto& [name, call] : calls) {
    for (int i = 0; i < kWarmUp; ++i) call();
    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < kCalls; ++i) call();
    CALLGRIND_DUMP_STATS_AT(name.c_str());
  }
  exec::SetEagerMode(exec::EagerMode::kFused);
  std::vector<at::Tensor> results;
  const auto queue = [&] {
    for (int i = 0; i < kCalls; ++i) results.push_back(at::add(y, x));
    exec::FusedQueue::FlushAll();
    results.clear();
  };
  queue();
  CALLGRIND_ZERO_STATS;
  queue();
  CALLGRIND_DUMP_STATS_AT("add_fused");
}
