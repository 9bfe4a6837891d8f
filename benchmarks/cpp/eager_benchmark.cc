// PyTorch's side of a call: tensors made of buffers, and whole calls through the dispatcher.
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/ones.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>

#include <cstdlib>

#include "eager/registration.h"
#include "eager/storage.h"

namespace torch_tpu::eager {
namespace {

const bool set = [] {
  setenv("TORCH_TPU_PJRT_PLUGIN", TORCH_TPU_TEST_PLUGIN, 0);
  return true;
}();

at::Tensor Ones(c10::DeviceType device) {
  RegisterRows();
  return at::ones({8, 8}, at::TensorOptions().device(c10::DeviceType::CPU)).to(device);
}

void WrapBuffer(benchmark::State& state) {
  const exec::BufferRef buffer = StorageOf(Ones(c10::DeviceType::PrivateUse1)).Load();
  for (auto _ : state) benchmark::DoNotOptimize(Wrap(buffer, {8, 8}));
}

void EmptyTensor(benchmark::State& state) {
  Ones(c10::DeviceType::PrivateUse1);
  for (auto _ : state) benchmark::DoNotOptimize(Empty({8, 8}, DType::Float, 0));
}

void Add(benchmark::State& state, c10::DeviceType device) {
  const at::Tensor x = Ones(device), y = Ones(device);
  for (auto _ : state) benchmark::DoNotOptimize(at::add(y, x));
}
void AddOnTpu(benchmark::State& state) { Add(state, c10::DeviceType::PrivateUse1); }
void AddOnCpu(benchmark::State& state) { Add(state, c10::DeviceType::CPU); }

BENCHMARK(WrapBuffer);
BENCHMARK(EmptyTensor);
BENCHMARK(AddOnTpu);
BENCHMARK(AddOnCpu);

}  // namespace
}  // namespace torch_tpu::eager
