#include "pjrt/device.h"

#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

using DeviceTest = FakeClientTest;

TEST_F(DeviceTest, ReadsItsDescription) {
  const Device& device = client_->device(1);
  EXPECT_EQ(device.id(), 11);
  EXPECT_EQ(device.local_hardware_id(), 1);
  EXPECT_EQ(device.process_index(), 0);
  EXPECT_EQ(device.kind(), "fake kind");
  EXPECT_EQ(device.debug_string(), "fake:1");
  EXPECT_EQ(device.attributes(), (NamedValues{{"slot", 1}}));
}

TEST_F(DeviceTest, MemoryStatsGiveWhatIsSet) {
  const Buffer buffer = Upload();
  auto stats = client_->device(0).memory_stats();
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->bytes_in_use, 24);
  EXPECT_EQ(stats->peak_bytes_in_use, 24);
  EXPECT_FALSE(stats->bytes_limit.has_value());
  plugin_.set_memory_limit(1000);
  EXPECT_EQ(client_->device(0).memory_stats()->bytes_limit, 1000);
}

TEST_F(DeviceTest, MemoryStatsAreAbsentWhereUnimplemented) {
  plugin_.FailCall(1, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_FALSE(client_->device(0).memory_stats().has_value());
  plugin_.mutable_table().PJRT_Device_MemoryStats = nullptr;
  EXPECT_FALSE(client_->device(0).memory_stats().has_value());
}

TEST_F(DeviceTest, OtherErrorsOfMemoryStatsAreThrown) {
  plugin_.FailCall(1, PJRT_Error_Code_INTERNAL);
  EXPECT_THROW(client_->device(0).memory_stats(), Error);
}

TEST_F(DeviceTest, DefaultMemory) {
  const Memory memory = client_->device(1).default_memory();
  EXPECT_EQ(memory.id(), 21);
  EXPECT_EQ(memory.kind(), "device");
}

}  // namespace
}  // namespace torch_tpu::pjrt
