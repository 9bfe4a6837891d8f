#include "pjrt/event.h"

#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

using EventTest = FakeClientTest;

TEST_F(EventTest, EmptyEventIsDone) {
  const Event event;
  EXPECT_TRUE(event.IsReady());
  event.Await();
  int calls = 0;
  event.OnReady([&](std::optional<Error> error) { calls += error ? 100 : 1; });
  EXPECT_EQ(calls, 1);
}

TEST_F(EventTest, ReadyAfterTheWork) {
  const Buffer buffer = Upload();
  plugin_.HoldEvents();
  const Event event = buffer.ReadyEvent();
  EXPECT_FALSE(event.IsReady());
  plugin_.Finish();
  EXPECT_TRUE(event.IsReady());
  event.Await();
}

TEST_F(EventTest, AwaitThrowsTheErrorEachTime) {
  const Buffer buffer = Upload();
  plugin_.FailEvents(PJRT_Error_Code_ABORTED, "cable pulled");
  const Event event = buffer.ReadyEvent();
  for (int i = 0; i < 2; ++i) {
    try {
      event.Await();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), PJRT_Error_Code_ABORTED);
      EXPECT_STREQ(error.what(), "PJRT_Event_Await: cable pulled");
    }
  }
}

TEST_F(EventTest, CallbackRunsOnceAfterTheEventIsGone) {
  const Buffer buffer = Upload();
  plugin_.HoldEvents();
  int calls = 0;
  buffer.ReadyEvent().OnReady([&](std::optional<Error> error) { calls += error ? 100 : 1; });
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(plugin_.live(fake_pjrt::Kind::kEvent), 0);
  plugin_.Finish();
  EXPECT_EQ(calls, 1);
}

TEST_F(EventTest, CallbackReceivesTheErrorAndFreesIt) {
  const Buffer buffer = Upload();
  plugin_.HoldEvents();
  std::string message;
  auto owned = std::make_shared<int>(0);
  buffer.ReadyEvent().OnReady(
      [&message, owned](std::optional<Error> error) { message = error ? error->what() : "none"; });
  EXPECT_EQ(owned.use_count(), 2);
  plugin_.Finish(PJRT_Error_Code_INTERNAL, "burnt");
  EXPECT_EQ(message, "PJRT_Event_OnReady: burnt");
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_EQ(plugin_.live(fake_pjrt::Kind::kError), 0);
}

TEST_F(EventTest, CallbackIsFreedWhereRegisteringFails) {
  const Buffer buffer = Upload();
  const Event event = buffer.ReadyEvent();
  auto owned = std::make_shared<int>(0);
  plugin_.FailCall(1);
  EXPECT_THROW(event.OnReady([owned](std::optional<Error>) { FAIL(); }), Error);
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(EventTest, ThrowingCallbackIsLogged) {
  const Buffer buffer = Upload();
  ::testing::internal::CaptureStderr();
  buffer.ReadyEvent().OnReady([](std::optional<Error>) { throw std::runtime_error("oh no"); });
  buffer.ReadyEvent().OnReady([](std::optional<Error>) { throw 7; });
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_CONTAINS(log, "exception in an event callback: oh no");
}

TEST_F(EventTest, CallbackMayOutliveTheClient) {
  plugin_.HoldEvents();
  int calls = 0;
  Upload().ReadyEvent().OnReady([&](std::optional<Error> error) { calls += error ? 1 : 100; });
  client_.reset();
  EXPECT_EQ(plugin_.live(fake_pjrt::Kind::kClient), 0);
  plugin_.Finish(PJRT_Error_Code_CANCELLED, "closed");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace torch_tpu::pjrt
