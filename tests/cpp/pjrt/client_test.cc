#include "pjrt/client.h"

#include <c10/util/Exception.h>

#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

using ClientTest = FakeClientTest;
using fake_pjrt::Kind;

TEST_F(ClientTest, ReadsWhatDoesNotChange) {
  EXPECT_EQ(client_->platform_name(), "fake");
  EXPECT_EQ(client_->platform_version(), "1.2");
  EXPECT_EQ(client_->process_index(), 0);
  EXPECT_EQ(client_->devices().size(), 2u);
  EXPECT_EQ(client_->IndexOf(client_->device(1).raw()), 1);
  EXPECT_EQ(client_->IndexOf(nullptr), -1);
}

TEST_F(ClientTest, PassesItsOptions) {
  const auto other = Client::Create(Api::FromTable(plugin_.table()),
                                    {{"count", 3}, {"flag", true}, {"name", "x"}});
  EXPECT_EQ(plugin_.seen().create_options, "count=3;flag=1;name=x;");
}

TEST_F(ClientTest, UnknownDeviceNamesTheRange) {
  for (const int index : {-1, 2}) {
    const auto text = MessageOf<c10::Error>([&] { client_->device(index); });
    EXPECT_CONTAINS(text, "expected a device index from 0 to 1, got " + std::to_string(index));
  }
}

TEST_F(ClientTest, CompileErrorsAreThrown) {
  try {
    client_->Compile("nonsense", "");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), PJRT_Error_Code_INVALID_ARGUMENT);
    EXPECT_STREQ(error.function(), "PJRT_Client_Compile");
  }
}

TEST_F(ClientTest, CompilePassesTheOptions) {
  client_->Compile(kCopyProgram, "abc");
  EXPECT_EQ(plugin_.seen().compile_options, "abc");
}

TEST_F(ClientTest, BufferFromHostFreesTheDoneEvent) {
  const Buffer buffer = Upload();
  EXPECT_EQ(plugin_.created(Kind::kEvent), 1);
  EXPECT_EQ(plugin_.live(Kind::kEvent), 0);
}

TEST_F(ClientTest, BufferFromHostPassesStrides) {
  const float values[6] = {};
  client_->BufferFromHost(values, DType::Float, {2, 3}, c10::IntArrayRef({4, 8}), 1);
  EXPECT_EQ(plugin_.seen().byte_strides, (std::vector<int64_t>{4, 8}));
  EXPECT_THROW(client_->BufferFromHost(values, DType::Float, {2, 3}, c10::IntArrayRef({4}), 1),
               c10::Error);
}

TEST_F(ClientTest, BufferFromHostTakesScalarsAndNothing) {
  const float value = 3;
  const Buffer scalar = client_->BufferFromHost(&value, DType::Float, {}, std::nullopt, 0);
  EXPECT_EQ(scalar.dims().size(), 0u);
  const Buffer empty = client_->BufferFromHost(nullptr, DType::Float, {0, 4}, std::nullopt, 0);
  EXPECT_EQ(empty.on_device_size(), 0u);
}

TEST_F(ClientTest, UnsupportedDTypeThrowsBeforeThePluginIsCalled) {
  const float value = 3;
  const int calls = plugin_.calls();
  EXPECT_THROW(client_->BufferFromHost(&value, DType::QInt8, {}, std::nullopt, 0),
               c10::NotImplementedError);
  EXPECT_EQ(plugin_.calls(), calls);
}

TEST_F(ClientTest, OutOfMemoryLeavesTheOthersAlone) {
  plugin_.set_memory_limit(30);
  const Buffer kept = Upload({1, 2, 3, 4, 5, 6});
  try {
    Upload();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), PJRT_Error_Code_RESOURCE_EXHAUSTED);
  }
  float out[6];
  kept.CopyToHost(out, 24).Await();
  EXPECT_EQ(out[5], 6);
}

TEST_F(ClientTest, CreateUninitializedNeedsThePlugin) {
  try {
    client_->CreateUninitialized(DType::Float, {2}, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), PJRT_Error_Code_UNIMPLEMENTED);
  }
}

}  // namespace
}  // namespace torch_tpu::pjrt
