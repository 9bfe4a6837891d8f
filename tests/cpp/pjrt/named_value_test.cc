#include "pjrt/named_value.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace torch_tpu::pjrt {
namespace {

TEST(NamedValue, EveryTypeSurvivesTheRoundTrip) {
  const NamedValues values = {{"text", "abc"},
                              {"number", 5},
                              {"list", std::vector<int64_t>{1, 2, 3}},
                              {"real", 2.5f},
                              {"flag", true}};
  const auto views = ViewNamedValues(values);
  EXPECT_EQ(ReadNamedValues(views.data(), views.size()), values);
}

TEST(NamedValue, UnknownTypeThrows) {
  PJRT_NamedValue value{};
  value.name = "x";
  value.name_size = 1;
  value.type = static_cast<PJRT_NamedValue_Type>(7);
  EXPECT_THROW(ReadNamedValues(&value, 1), c10::NotImplementedError);
}

TEST(NamedValue, Text) {
  EXPECT_EQ(ToString(NamedValue("a")), "a");
  EXPECT_EQ(ToString(NamedValue(-3)), "-3");
  EXPECT_EQ(ToString(NamedValue(std::vector<int64_t>{1, 2})), "[1, 2]");
  EXPECT_EQ(ToString(NamedValue(0.5f)), "0.5");
  EXPECT_EQ(ToString(NamedValue(false)), "false");
}

}  // namespace
}  // namespace torch_tpu::pjrt
