#include "exec/program_store.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>

#include "device.h"
#include "disk_environment.h"
#include "exec/executable_cache.h"

namespace torch_tpu::exec {
namespace {

namespace fs = std::filesystem;

class Store : public ::testing::Test {
 protected:
  void SetUp() override {
    ExecutableCache::Get().Clear();
    for (const auto& folder : {OwnFolder(), SharedFolder()}) {
      if (!fs::exists(folder)) continue;
      for (const auto& entry : fs::directory_iterator(folder)) fs::remove(entry);
    }
    GetStats().Reset();
  }

  // As a new process would see it.
  static void Forget() { ExecutableCache::Get().Clear(); }

  static std::vector<fs::path> Blobs(std::string_view suffix) {
    std::vector<fs::path> blobs;
    for (const auto& entry : fs::directory_iterator(OwnFolder())) {
      if (entry.path().string().ends_with(suffix)) blobs.push_back(entry.path());
    }
    return blobs;
  }

  static void Damage(const fs::path& blob) {
    std::fstream file(blob, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('?');
  }

  static void ExpectSum() {
    const Tensor x(std::vector<float>{1, 2}, {2}), y(std::vector<float>{3, 4}, {2});
    EXPECT_EQ(Read<float>(RunAdd(x, y).outputs[0]), (std::vector<float>{4, 6}));
  }
};

TEST_F(Store, AProgramIsCompiledOnceAndLoadedAfterwards) {
  ExpectSum();
  EXPECT_EQ(GetStats().compiles, 1);
  EXPECT_EQ(GetStats().disk_writes, 2);
  Forget();
  ExpectSum();
  EXPECT_EQ(GetStats().compiles, 1);
  EXPECT_EQ(GetStats().disk_hits, 1);
  EXPECT_EQ(GetStats().disk_writes, 2);
  const auto records = CompileLog::Get().Records();
  EXPECT_EQ(records.back().origin, Origin::kDisk);
  EXPECT_EQ(records.back().program, "aten::add.Tensor(float32[2], float32[2], 1)");
}

TEST_F(Store, ALoadedProgramWritesInPlace) {
  for (int round = 0; round < 2; ++round, Forget()) {
    const Tensor x(std::vector<float>{1, 2}, {2}), y(std::vector<float>{3, 4}, {2});
    const int64_t before = Runtime::Get().device(0).memory.allocated();
    RunAddInPlace(x, y);
    RunAddInPlace(x, y);
    EXPECT_EQ(x.Values<float>(), (std::vector<float>{7, 10}));
    EXPECT_EQ(Runtime::Get().device(0).memory.allocated(), before);
    // Somebody else holds the old contents.
    const BufferRef old = x.buffer();
    RunAddInPlace(x, y);
    EXPECT_EQ(Read<float>(old), (std::vector<float>{7, 10}));
    EXPECT_EQ(x.Values<float>(), (std::vector<float>{10, 14}));
  }
  EXPECT_EQ(GetStats().compiles, 1);
}

TEST_F(Store, ALoadedProgramChecksItsIndices) {
  const Tensor x(std::vector<float>{1, 2}, {2});
  const Tensor index(std::vector<int64_t>{5}, {1});
  std::string messages[2];
  for (std::string& message : messages) {
    Forget();
    ProgramWriter writer(0);
    writer.Call(Row("aten::index_select"));
    writer.Tensor(x.View());
    writer.Int(0);
    writer.Tensor(index.View());
    writer.EndCall();
    Launch(writer, 0);
    message = MessageOf<c10::IndexError>([] { Runtime::Get().device(0).Synchronize(); });
  }
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_EQ(GetStats().compiles, 1);
}

TEST_F(Store, ADamagedFileIsCompiledAnewAndMended) {
  for (const std::string_view suffix : {kProgramSuffix, kExecutableSuffix}) {
    SetUp();
    ExpectSum();
    ASSERT_EQ(Blobs(suffix).size(), 1u);
    Damage(Blobs(suffix)[0]);
    Forget();
    ExpectSum();
    EXPECT_EQ(GetStats().disk_bad_files, 1);
    // A record comes from a lowering.
    EXPECT_EQ(GetStats().compiles, suffix == kExecutableSuffix ? 2 : 1);
    Forget();
    const int64_t compiles = GetStats().compiles;
    ExpectSum();
    EXPECT_EQ(GetStats().compiles, compiles);
    EXPECT_EQ(GetStats().disk_bad_files, 1);
  }
}

// Whole files that say something else than their names promise.
TEST_F(Store, AWholeFileWithAForeignContentIsCompiledAnew) {
  DiskCache folder(OwnFolder(), DiskCache::Mode::kReadWrite);
  for (const std::string_view suffix : {kProgramSuffix, kExecutableSuffix}) {
    SetUp();
    ExpectSum();
    const std::string name = Blobs(suffix)[0].filename();
    for (const std::string& blob : {std::string("no such thing"), std::string()}) {
      ASSERT_TRUE(folder.Write(name, blob));
      Forget();
      ExpectSum();
    }
    EXPECT_EQ(GetStats().disk_bad_files, 2);
    Forget();
    ExpectSum();
    EXPECT_EQ(GetStats().disk_bad_files, 2);
  }
}

TEST_F(Store, ARecordWithoutItsExecutableIsCompiledAnew) {
  ExpectSum();
  fs::remove(Blobs(kExecutableSuffix)[0]);
  Forget();
  ExpectSum();
  EXPECT_EQ(GetStats().compiles, 2);
  EXPECT_EQ(Blobs(kExecutableSuffix).size(), 1u);
}

TEST_F(Store, ASharedFolderServesAndIsNotWritten) {
  ExpectSum();
  for (const std::string_view suffix : {kProgramSuffix, kExecutableSuffix}) {
    const fs::path blob = Blobs(suffix)[0];
    fs::rename(blob, SharedFolder() / blob.filename());
  }
  Forget();
  ExpectSum();
  EXPECT_EQ(GetStats().compiles, 1);
  EXPECT_EQ(CompileLog::Get().Records().back().origin, Origin::kSharedDisk);
  EXPECT_TRUE(Blobs(kExecutableSuffix).empty());
  for (const auto& entry : fs::directory_iterator(SharedFolder())) Damage(entry);
  Forget();
  ExpectSum();
  EXPECT_EQ(GetStats().compiles, 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(SharedFolder()), {}), 2);
}

TEST_F(Store, ARecordGivesBackTheProgram) {
  const Tensor x(std::vector<float>{1, 2, 3, 4}, {2, 2});
  const Tensor index(std::vector<int64_t>{1}, {1});
  ProgramWriter writer(0);
  writer.Call(Row("aten::index_select"));
  writer.Tensor(x.View());
  writer.Int(0);
  writer.Tensor(index.View());
  writer.EndCall();
  writer.Layout(0, {1, 0});
  const LoweredProgram program = Lower(writer.bytes(), hlo::Target::kCpu);
  ASSERT_FALSE(program.check_messages.empty());
  const std::string bytes = Serialize({.key = std::string(writer.bytes()),
                                       .executable = "e",
                                       .description = "d",
                                       .compile_seconds = 1.5,
                                       .program = program});
  const auto record = ParseProgramRecord(bytes);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->key, writer.bytes());
  EXPECT_EQ(record->executable, "e");
  EXPECT_EQ(record->description, "d");
  EXPECT_EQ(record->compile_seconds, 1.5);
  EXPECT_EQ(record->program.name, program.name);
  EXPECT_EQ(record->program.results[0].type, program.results[0].type);
  EXPECT_EQ(record->program.results[0].permutation, (Dims{1, 0}));
  EXPECT_EQ(record->program.results[0].output, 0);
  EXPECT_EQ(record->program.outputs.size(), program.outputs.size());
  EXPECT_EQ(record->program.check_messages[0].text, program.check_messages[0].text);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseProgramRecord(bytes.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(ParseProgramRecord(bytes + "x").has_value());
}

TEST(Log, SaysWhatDiffersFromTheNearestProgram) {
  CompileLog& log = CompileLog::Get();
  log.Reset();
  const auto add = [&](int64_t rows, int64_t columns) {
    const Tensor x(std::vector<float>(rows * columns), {rows, columns});
    ProgramWriter writer(0);
    PutAdd(writer, x, x);
    log.Add(writer.bytes(), "model.py:1", 0.5, Origin::kCompiled);
    return log.Records().back().difference;
  };
  EXPECT_EQ(add(2, 3), "the first program of this op");
  EXPECT_EQ(
      add(4, 3),
      "argument 0 is float32[4, 3], was float32[2, 3]; argument 1 is float32[4, 3] of storage "
      "0, was float32[2, 3] of storage 0");
  EXPECT_EQ(add(2, 3), "the same as an earlier one that was dropped from memory");
}

}  // namespace
}  // namespace torch_tpu::exec
