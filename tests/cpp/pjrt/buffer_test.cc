#include "pjrt/buffer.h"

#include <c10/util/Exception.h>

#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

using BufferTest = FakeClientTest;
using fake_pjrt::Kind;

TEST_F(BufferTest, KnowsItsTypeWithoutAsking) {
  const Buffer buffer = Upload();
  EXPECT_EQ(buffer.dtype(), DType::Float);
  EXPECT_EQ(buffer.dims(), c10::IntArrayRef({2, 3}));
  EXPECT_EQ(plugin_.calls("PJRT_Buffer_ElementType"), 0);
  EXPECT_EQ(plugin_.calls("PJRT_Buffer_Dimensions"), 0);
}

TEST_F(BufferTest, AsksThePluginForATypeNotGiven) {
  Buffer given = Upload();
  const Buffer buffer(client_, given.Release());
  EXPECT_FALSE(given);
  EXPECT_EQ(buffer.dtype(), DType::Float);
  EXPECT_EQ(buffer.dims(), c10::IntArrayRef({2, 3}));
}

TEST_F(BufferTest, CopiesToHostRowMajor) {
  const Buffer buffer = Upload({6, 5, 4, 3, 2, 1});
  std::vector<float> out(6);
  buffer.CopyToHost(out.data(), 24).Await();
  EXPECT_EQ(out, (std::vector<float>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(plugin_.seen().host_minor_to_major, (std::vector<int64_t>{1, 0}));
}

TEST_F(BufferTest, DestinationThatIsTooSmallThrows) {
  const Buffer buffer = Upload();
  float out;
  EXPECT_THROW(buffer.CopyToHost(&out, 4), Error);
}

class HostMemoryBufferTest : public BufferTest {
 protected:
  HostMemoryBufferTest() {
    plugin_.set_platform_name("cpu");
    client_ = Client::Create(Api::FromTable(plugin_.table()));
  }
  int plugin_copies() const { return plugin_.calls("PJRT_Buffer_ToHostBuffer"); }
};

TEST_F(HostMemoryBufferTest, ReadySmallArrayIsCopiedInline) {
  const Buffer buffer = Upload({6, 5, 4, 3, 2, 1});
  std::vector<float> out(6);
  EXPECT_FALSE(buffer.CopyToHost(out.data(), 24));
  EXPECT_EQ(out, (std::vector<float>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(plugin_copies(), 0);
}

TEST_F(HostMemoryBufferTest, ThePluginCopiesWhatIsLargeUnknownOrNotReady) {
  const std::vector<float> large(1 << 17, 2);
  std::vector<float> out(large.size());
  client_->BufferFromHost(large.data(), DType::Float, {1 << 17}, std::nullopt, 0)
      .CopyToHost(out.data(), out.size() * 4)
      .Await();
  EXPECT_EQ(out, large);
  EXPECT_EQ(plugin_copies(), 1);

  const Buffer unknown(client_, Upload().Release());
  unknown.CopyToHost(out.data(), 24).Await();
  EXPECT_EQ(plugin_copies(), 2);

  const Buffer pending = Upload();
  plugin_.HoldEvents();
  EXPECT_FALSE(pending.CopyToHost(out.data(), 24).IsReady());
  plugin_.Finish();
  EXPECT_EQ(plugin_copies(), 3);
}

TEST_F(HostMemoryBufferTest, PaddedMemoryIsLeftToThePlugin) {
  Buffer given = Upload();
  const Buffer prefix(client_, given.Release(), DType::Float, {3});
  float out[6];
  prefix.CopyToHost(out, 24).Await();
  EXPECT_EQ(plugin_copies(), 1);
}

TEST_F(HostMemoryBufferTest, ErrorsComeWithTheEvent) {
  const Buffer buffer = Upload();
  plugin_.FailEvents(PJRT_Error_Code_INTERNAL, "the program failed");
  float out[6];
  const Event event = buffer.CopyToHost(out, 24);
  EXPECT_THROW(event.Await(), Error);
  EXPECT_THROW(buffer.CopyToHost(out, 8), Error);
}

TEST_F(BufferTest, CopiesToAnotherDevice) {
  const Buffer buffer = Upload();
  const Buffer copy = buffer.CopyToDevice(1);
  EXPECT_EQ(buffer.device_index(), 0);
  EXPECT_EQ(copy.device_index(), 1);
  EXPECT_EQ(copy.dims(), buffer.dims());
  EXPECT_EQ(plugin_.calls("PJRT_Buffer_Dimensions"), 0);
  EXPECT_THROW(buffer.CopyToDevice(2), c10::Error);
}

TEST_F(BufferTest, DeleteFreesAndMarks) {
  Buffer buffer = Upload();
  EXPECT_EQ(buffer.on_device_size(), 24u);
  EXPECT_NE(buffer.UnsafePointer(), 0u);
  EXPECT_FALSE(buffer.IsDeleted());
  buffer.Delete();
  EXPECT_TRUE(buffer.IsDeleted());
  float out[6];
  EXPECT_THROW(buffer.CopyToHost(out, 24), Error);
}

TEST_F(BufferTest, ReadinessFollowsTheEvent) {
  const Buffer buffer = Upload();
  EXPECT_TRUE(buffer.IsReady());
  plugin_.HoldEvents();
  EXPECT_FALSE(buffer.IsReady());
  plugin_.Finish();
}

TEST_F(BufferTest, MovesLeaveNothingBehind) {
  Buffer one = Upload();
  Buffer other = Upload();
  PJRT_Buffer* raw = other.raw();
  one = std::move(other);
  EXPECT_EQ(one.raw(), raw);
  EXPECT_EQ(plugin_.live(Kind::kBuffer), 1);
  Buffer& self = one;
  one = std::move(self);
  EXPECT_EQ(one.raw(), raw);
  const Buffer last(std::move(one));
  EXPECT_EQ(last.dims(), c10::IntArrayRef({2, 3}));
  EXPECT_EQ(plugin_.live(Kind::kBuffer), 1);
}

TEST_F(BufferTest, KeepsItsClientAlive) {
  {
    const Buffer buffer = Upload();
    client_.reset();
    EXPECT_EQ(plugin_.live(Kind::kClient), 1);
    float out[6];
    buffer.CopyToHost(out, 24).Await();
  }
  EXPECT_EQ(plugin_.live(Kind::kClient), 0);
}

TEST_F(BufferTest, FailingDestroyDoesNotThrow) {
  {
    const Buffer buffer = Upload();
    plugin_.FailCall(1);
  }
  EXPECT_EQ(plugin_.failed_function(), "PJRT_Buffer_Destroy");
}

}  // namespace
}  // namespace torch_tpu::pjrt
