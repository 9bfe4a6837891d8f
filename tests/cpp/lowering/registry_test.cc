#include "lowering/registry.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace torch_tpu::lowering {
namespace {

TEST(Registry, NoOpHasTwoRows) {
  std::set<std::string> names;
  for (const OpRow& row : Rows()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_GE(names.size(), 300u);
}

TEST(Registry, FindsEachRowByName) {
  for (const OpRow& row : Rows()) EXPECT_EQ(FindRow(row.name), &row) << row.name;
  EXPECT_EQ(FindRow("aten::no_such_op"), nullptr);
  EXPECT_EQ(FindRow(""), nullptr);
}

TEST(Registry, IndicesArePositionsAndFitInAKey) {
  for (size_t i = 0; i < Rows().size(); ++i) EXPECT_EQ(Rows()[i].index, static_cast<int>(i));
  EXPECT_LT(Rows().size(), size_t{UINT16_MAX});
}

TEST(Registry, NamesAreFunctionalOverloadsWithOneLowering) {
  for (const OpRow& row : Rows()) {
    const std::string name = row.name;
    EXPECT_TRUE(name.starts_with("aten::") || name.starts_with("tpu::")) << name;
    // In-place and out= forms are derived; a row of its own would drift.
    const std::string base = name.substr(0, name.find('.'));
    EXPECT_FALSE(base.ends_with('_') && !base.ends_with("__")) << name;
    EXPECT_EQ(name.find(".out"), std::string::npos) << name;
    EXPECT_NE(row.one == nullptr, row.many == nullptr) << name;
  }
}

}  // namespace
}  // namespace torch_tpu::lowering
