#include "pjrt/compile_options.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace torch_tpu::pjrt {
namespace {

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// 3: build options of 15 bytes {1: -1, 4: 1, 5: 1}; 4: portable.
constexpr char kPlain[] =
    "1a0f08ffffffffffffffffff0120012801"
    "2001";

TEST(CompileOptions, Plain) { EXPECT_EQ(Hex(Serialize(CompileOptions())), kPlain); }

TEST(CompileOptions, OverridesOfEveryType) {
  CompileOptions options;
  options.overrides = {{"a", "text"}, {"b", true}, {"c", int64_t{300}}, {"d", 1.0}, {"e", false}};
  EXPECT_EQ(Hex(Serialize(options)), std::string(kPlain) +
                                         "3a0b0a0161"
                                         "12060a0474657874"
                                         "3a070a0162"
                                         "12021001"
                                         "3a080a0163"
                                         "120318ac02"
                                         "3a0e0a0164"
                                         "120921000000000000f03f"
                                         "3a070a0165"
                                         "12021000");
}

TEST(CompileOptions, OrderOfOverridesDoesNotShow) {
  CompileOptions one, other;
  one.overrides = {{"a", true}, {"b", false}};
  other.overrides = {{"b", false}, {"a", true}};
  EXPECT_EQ(Serialize(one), Serialize(other));
}

TEST(CompileOptions, DeviceAssignmentListsReplicasPerPartition) {
  CompileOptions options;
  options.portable = false;
  options.num_replicas = 2;
  options.num_partitions = 2;
  options.use_spmd_partitioning = true;
  options.use_shardy_partitioner = true;
  options.device_assignment = {5, 6, 7, 8};
  EXPECT_EQ(Hex(Serialize(options)),
            "1a26"
            "08ffffffffffffffffff01"
            "2002"
            "2802"
            "3001"
            "4a10"
            "08021002"
            "1a040a020507"
            "1a040a020608"
            "980101");
}

TEST(CompileOptions, ContradictionsAreValueErrors) {
  CompileOptions portable;
  portable.num_replicas = 2;
  EXPECT_THROW(Serialize(portable), c10::ValueError);
  CompileOptions assigned;
  assigned.device_assignment = {0};
  EXPECT_THROW(Serialize(assigned), c10::ValueError);
  CompileOptions short_assignment;
  short_assignment.portable = false;
  short_assignment.num_replicas = 2;
  short_assignment.device_assignment = {0};
  EXPECT_THROW(Serialize(short_assignment), c10::ValueError);
  CompileOptions none;
  none.num_partitions = 0;
  EXPECT_THROW(Serialize(none), c10::ValueError);
}

}  // namespace
}  // namespace torch_tpu::pjrt
