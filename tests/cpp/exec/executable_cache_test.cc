#include "exec/executable_cache.h"

#include <barrier>
#include <thread>

#include "device.h"

namespace torch_tpu::exec {
namespace {

constexpr int kThreads = 8;

// Starts all threads at once.
template <class Body>
void InThreads(Body body) {
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
}

std::string AddKey(int64_t size, int64_t other) {
  const Tensor x(std::vector<float>(size), {size}), y(std::vector<float>(other), {other});
  ProgramWriter writer(0);
  PutAdd(writer, x, y);
  return std::string(writer.bytes());
}

class Cache : public ::testing::Test {
 protected:
  void SetUp() override { ExecutableCache::Get().Clear(); }
};

TEST_F(Cache, EightThreadsThatAskForOneKeyCompileItOnce) {
  const std::string key = AddKey(1001, 1001);
  const int64_t compiles = GetStats().compiles, hits = GetStats().cache_hits;
  std::shared_ptr<const CompiledProgram> found[kThreads];
  InThreads([&](int i) { found[i] = ExecutableCache::Get().Find(key); });
  for (const auto& program : found) EXPECT_EQ(program, found[0]);
  EXPECT_EQ(GetStats().compiles - compiles, 1);
  EXPECT_EQ(GetStats().cache_hits - hits, kThreads - 1);
  EXPECT_EQ(ExecutableCache::Get().size(), 1u);
}

TEST_F(Cache, DifferentKeysCompileSideBySide) {
  std::vector<std::string> keys;
  for (int i = 0; i < kThreads; ++i) keys.push_back(AddKey(2000 + i, 1));
  const int64_t compiles = GetStats().compiles;
  InThreads([&](int i) { ExecutableCache::Get().Find(keys[i]); });
  EXPECT_EQ(GetStats().compiles - compiles, kThreads);
  EXPECT_EQ(ExecutableCache::Get().size(), static_cast<size_t>(kThreads));
}

TEST_F(Cache, AFailureIsThrownToAllAndNothingIsKept) {
  const std::string key = AddKey(1002, 1003);  // shapes that do not fit
  const int64_t compiles = GetStats().compiles;
  std::string messages[kThreads];
  InThreads([&](int i) {
    messages[i] = MessageOf<c10::Error>([&] { ExecutableCache::Get().Find(key); });
  });
  for (const std::string& message : messages) {
    EXPECT_CONTAINS(message, "The size of tensor a (1002) must match the size of tensor b (1003)");
  }
  EXPECT_EQ(ExecutableCache::Get().size(), 0u);
  EXPECT_EQ(GetStats().compiles, compiles);
  EXPECT_THROW(ExecutableCache::Get().Find(key), c10::Error);
}

TEST_F(Cache, AProgramStaysWhereItIs) {
  const auto first = ExecutableCache::Get().Find(AddKey(1004, 1004));
  for (int i = 0; i < 20; ++i) ExecutableCache::Get().Find(AddKey(3, 1 + 2 * (i % 2)));
  EXPECT_EQ(ExecutableCache::Get().Find(AddKey(1004, 1004)), first);
}

TEST_F(Cache, TheLeastRecentlyUsedProgramsAreDropped) {
  ExecutableCache& cache = ExecutableCache::Get();
  cache.SetLimit(4);
  const auto oldest = cache.Find(AddKey(10, 10));
  for (int64_t size = 11; size < 14; ++size) cache.Find(AddKey(size, size));
  const auto used = cache.Find(AddKey(11, 11));
  cache.Find(AddKey(14, 14));
  EXPECT_EQ(cache.size(), 4u);
  EXPECT_EQ(cache.Find(AddKey(11, 11)), used);
  // Who holds a dropped program may still launch it.
  EXPECT_EQ(oldest->executable->num_outputs(), 1u);
  const int64_t compiles = GetStats().compiles;
  EXPECT_NE(cache.Find(AddKey(10, 10)), oldest);
  EXPECT_EQ(GetStats().compiles - compiles, 1);
  cache.SetLimit(0);
}

TEST_F(Cache, ProgramsAreDroppedWhileTheyRun) {
  ExecutableCache::Get().SetLimit(1);
  InThreads([&](int thread) {
    const int64_t size = 20 + thread % 3;
    const Tensor x(std::vector<float>(size, 1), {size}), y(std::vector<float>(size, 2), {size});
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(Read<float>(RunAdd(x, y).outputs[0]), std::vector<float>(size, 3));
    }
  });
  ExecutableCache::Get().SetLimit(0);
}

}  // namespace
}  // namespace torch_tpu::exec
