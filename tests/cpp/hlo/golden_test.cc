// The exact text of every program, and that XLA takes it. After a change of the text that is meant,
// TORCH_TPU_WRITE_GOLDEN=1 writes the files anew; the difference belongs into the commit.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "pjrt/client.h"
#include "pjrt/compile_options.h"
#include "programs.h"

namespace torch_tpu::hlo {
namespace {

std::vector<GoldenProgram> AllPrograms() {
  std::vector<GoldenProgram> all;
  for (const auto& family : {ElementwisePrograms, MovementPrograms, StructuredPrograms}) {
    for (GoldenProgram& program : family()) all.push_back(std::move(program));
  }
  return all;
}

std::filesystem::path FileOf(const GoldenProgram& program) {
  return std::filesystem::path(GOLDEN_FOLDER) / (program.name + ".mlir");
}

std::string TextOf(const GoldenProgram& program) {
  Builder b(program.name);
  b.SetResults(program.build(b));
  return b.Text();
}

class Golden : public ::testing::TestWithParam<GoldenProgram> {};

TEST_P(Golden, TextIsExact) {
  const std::string text = TextOf(GetParam());
  if (std::getenv("TORCH_TPU_WRITE_GOLDEN") != nullptr) std::ofstream(FileOf(GetParam())) << text;
  std::ifstream file(FileOf(GetParam()));
  ASSERT_TRUE(file) << FileOf(GetParam()) << " is missing";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str());
}

INSTANTIATE_TEST_SUITE_P(Program, Golden, ::testing::ValuesIn(AllPrograms()),
                         [](const auto& info) { return info.param.name; });

TEST(GoldenFiles, EachBelongsToAProgram) {
  std::set<std::filesystem::path> expected, found;
  for (const GoldenProgram& program : AllPrograms()) expected.insert(FileOf(program));
  for (const auto& entry : std::filesystem::directory_iterator(GOLDEN_FOLDER)) {
    found.insert(entry.path());
  }
  EXPECT_EQ(found, expected);
}

TEST(GoldenFiles, CpuPluginCompilesEachWithTheTypesThatTheBuilderInferred) {
  const auto client = pjrt::Client::Create(pjrt::Api::Load(TORCH_TPU_TEST_PLUGIN));
  for (const GoldenProgram& program : AllPrograms()) {
    SCOPED_TRACE(program.name);
    Builder b(program.name);
    b.SetResults(program.build(b));
    try {
      const pjrt::Executable executable =
          client->Compile(b.Text(), pjrt::Serialize(pjrt::CompileOptions()));
      const auto types = executable.output_types();
      ASSERT_EQ(types.size(), b.results().size());
      for (size_t i = 0; i < types.size(); ++i) {
        EXPECT_EQ(types[i].dtype, b.results()[i].dtype());
        EXPECT_EQ(types[i].dims, b.results()[i].dims());
      }
    } catch (const pjrt::Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

}  // namespace
}  // namespace torch_tpu::hlo
