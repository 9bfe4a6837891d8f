#include "pjrt/error.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

TEST(Error, CarriesCodeFunctionAndMessage) {
  const Error error(PJRT_Error_Code_NOT_FOUND, "PJRT_Client_LookupDevice", "no device 9");
  EXPECT_EQ(error.code(), PJRT_Error_Code_NOT_FOUND);
  EXPECT_STREQ(error.function(), "PJRT_Client_LookupDevice");
  EXPECT_EQ(error.message(), "no device 9");
  EXPECT_STREQ(error.what(), "PJRT_Client_LookupDevice: no device 9");
}

TEST(Error, CodeNames) {
  EXPECT_EQ(CodeName(PJRT_Error_Code_RESOURCE_EXHAUSTED), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(CodeName(PJRT_Error_Code_UNAUTHENTICATED), "UNAUTHENTICATED");
  EXPECT_EQ(CodeName(static_cast<PJRT_Error_Code>(17)), "code 17");
}

TEST(Error, TakenFromThePluginIsDestroyed) {
  fake_pjrt::FakePlugin plugin;
  const Api api = Api::FromTable(plugin.table());
  plugin.FailCall(1, PJRT_Error_Code_DATA_LOSS, "gone");
  try {
    PJRT_CALL(api.table(), Plugin_Attributes);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), PJRT_Error_Code_DATA_LOSS);
    EXPECT_EQ(error.message(), "gone");
  }
  EXPECT_EQ(plugin.created(fake_pjrt::Kind::kError), 1);
  EXPECT_EQ(plugin.Leaks(), "");
}

TEST(Error, CodeThatCannotBeReadIsUnknown) {
  fake_pjrt::FakePlugin plugin;
  const Api api = Api::FromTable(plugin.table());
  plugin.FailGetCode();
  plugin.FailCall(1, PJRT_Error_Code_DATA_LOSS, "gone");
  try {
    PJRT_CALL(api.table(), Plugin_Attributes);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), PJRT_Error_Code_UNKNOWN);
    EXPECT_EQ(error.message(), "gone");
  }
  EXPECT_EQ(plugin.created(fake_pjrt::Kind::kError), 2);
  EXPECT_EQ(plugin.Leaks(), "");
}

template <class Kind>
void ExpectKind(PJRT_Error_Code code) {
  const auto text = MessageOf<Kind>(
      [&] { ThrowAsTorchError(Error(code, "PJRT_Buffer_Delete", "why"), "aten::add"); });
  EXPECT_CONTAINS(text, "aten::add: PJRT_Buffer_Delete: why");
}

TEST(Error, BecomesPyTorchsOwnKind) {
  ExpectKind<c10::OutOfMemoryError>(PJRT_Error_Code_RESOURCE_EXHAUSTED);
  ExpectKind<c10::ValueError>(PJRT_Error_Code_INVALID_ARGUMENT);
  ExpectKind<c10::NotImplementedError>(PJRT_Error_Code_UNIMPLEMENTED);
  ExpectKind<c10::Error>(PJRT_Error_Code_INTERNAL);
}

}  // namespace
}  // namespace torch_tpu::pjrt
