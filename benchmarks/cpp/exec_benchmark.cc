// What a launch is made of: the plugin's own execute, the key, the cache, and all of it together.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "base/hash.h"
#include "exec/launch.h"

namespace torch_tpu::exec {
namespace {

const bool set = [] {
  setenv("TORCH_TPU_PJRT_PLUGIN", TORCH_TPU_TEST_PLUGIN, 0);
  return true;
}();

const Dims kSizes = {8, 8}, kStrides = {8, 1};

void Upload(BufferSlot& storage) {
  const std::vector<float> ones(64, 1);
  storage.Store(
      Runtime::Get().ToDevice(ones.data(), {DType::Float, kSizes}, 0, std::nullopt, "benchmark"));
}

// y + x on 8x8.
struct Add {
  Add() {
    Upload(x);
    Upload(y);
  }
  void Put(ProgramWriter& writer) {
    writer.Call(row);
    writer.Tensor({&y, DType::Float, kSizes, kStrides, 0, 256});
    writer.Tensor({&x, DType::Float, kSizes, kStrides, 0, 256});
    writer.Number(1, /*is_static=*/true);
    writer.EndCall();
  }

  const lowering::OpRow& row = *lowering::FindRow("aten::add.Tensor");
  BufferSlot x, y;
};

// The floor under every launch: the same program given to the plugin with nothing around it.
void Execute(benchmark::State& state, bool with_event) {
  Add add;
  ProgramWriter writer(0);
  add.Put(writer);
  const auto program = ExecutableCache::Get().Find(writer.bytes());
  const pjrt::Executable& executable = *program->executable;
  const BufferRef y = add.y.Load(), x = add.x.Load();
  PJRT_Buffer* args[] = {y->raw(), x->raw()};
  PJRT_Buffer* outputs[1];
  for (auto _ : state) {
    pjrt::Event done;
    executable.Execute(args, 0, {}, outputs, with_event ? &done : nullptr);
    const pjrt::Buffer output(Runtime::Get().shared_client(), outputs[0]);
  }
}
void BareExecute(benchmark::State& state) { Execute(state, false); }
void ExecuteWithEvent(benchmark::State& state) { Execute(state, true); }

void WriteKey(benchmark::State& state) {
  Add add;
  for (auto _ : state) {
    ProgramWriter writer(0);
    add.Put(writer);
    benchmark::DoNotOptimize(writer.bytes());
  }
}

void WriteKeyOfSlices(benchmark::State& state) {
  Add add;
  const Dims half = {4, 4};
  for (auto _ : state) {
    ProgramWriter writer(0);
    writer.Call(add.row);
    writer.Tensor({&add.y, DType::Float, half, kStrides, 4, 256});
    writer.Tensor({&add.x, DType::Float, half, kStrides, 32, 256});
    writer.EndCall();
    benchmark::DoNotOptimize(writer.bytes());
  }
}

void HashKey(benchmark::State& state) {
  Add add;
  ProgramWriter writer(0);
  add.Put(writer);
  for (auto _ : state) benchmark::DoNotOptimize(HashBytes(writer.bytes()));
}

void CacheHit(benchmark::State& state) {
  Add add;
  ProgramWriter writer(0);
  add.Put(writer);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ExecutableCache::Get().Find(writer.bytes()));
  }
}

void LaunchAdd(benchmark::State& state) {
  Add add;
  for (auto _ : state) {
    ProgramWriter writer(0);
    add.Put(writer);
    benchmark::DoNotOptimize(Launch(writer, 0).outputs.data());
  }
}

void LaunchAddInPlace(benchmark::State& state) {
  Add add;
  for (auto _ : state) {
    ProgramWriter writer(0);
    add.Put(writer);
    writer.Write(0, {&add.y, DType::Float, kSizes, kStrides, 0, 256});
    benchmark::DoNotOptimize(Launch(writer, 0).outputs.data());
  }
}

// Lowering and printing, without XLA's compile: what a miss costs on top of it.
void LowerAdd(benchmark::State& state) {
  Add add;
  ProgramWriter writer(0);
  add.Put(writer);
  for (auto _ : state)
    benchmark::DoNotOptimize(Lower(writer.bytes(), hlo::Target::kCpu).text.data());
}

BENCHMARK(BareExecute);
BENCHMARK(ExecuteWithEvent);
BENCHMARK(WriteKey);
BENCHMARK(WriteKeyOfSlices);
BENCHMARK(HashKey);
BENCHMARK(CacheHit);
BENCHMARK(LaunchAdd);
BENCHMARK(LaunchAddInPlace);
BENCHMARK(LowerAdd);

}  // namespace
}  // namespace torch_tpu::exec
