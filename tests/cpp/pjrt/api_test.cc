#include "pjrt/api.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

using fake_pjrt::FakePlugin;

TEST(ApiLoad, MissingFileNamesThePath) {
  const auto text = MessageOf<c10::Error>([] { Api::Load("/nowhere/plugin.so"); });
  EXPECT_CONTAINS(text, "got no file at /nowhere/plugin.so");
}

TEST(ApiLoad, FileThatIsNoLibraryGivesTheLoadersReason) {
  const std::string path = ::testing::TempDir() + "not_a_library.so";
  std::ofstream(path) << "text";
  const auto text = MessageOf<c10::Error>([&] { Api::Load(path); });
  EXPECT_CONTAINS(text, path + ": expected a loadable shared library");
}

TEST(ApiLoad, LibraryWithoutTheEntryPointIsNoPlugin) {
  const auto text = MessageOf<c10::Error>([] { Api::Load(NOT_A_PLUGIN); });
  EXPECT_CONTAINS(text, "exports GetPjrtApi");
  EXPECT_CONTAINS(text, NOT_A_PLUGIN);
}

TEST(ApiLoad, OtherMajorVersionNamesBothVersions) {
  const auto text = MessageOf<c10::Error>([] { Api::Load(WRONG_VERSION_PLUGIN); });
  EXPECT_CONTAINS(text, "expected PJRT API version 0.x");
  EXPECT_CONTAINS(text, "got 3.5");
  EXPECT_CONTAINS(text, WRONG_VERSION_PLUGIN);
}

TEST(ApiLoad, InitializesOnceHoweverItIsReached) {
  const std::string link = ::testing::TempDir() + "link_to_fake_plugin.so";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(FAKE_PLUGIN, link);
  const Api first = Api::Load(FAKE_PLUGIN);
  const Api second = Api::Load(FAKE_PLUGIN);
  const Api third = Api::Load(link);
  EXPECT_EQ(first.table(), third.table());
  EXPECT_EQ(first.path(), FAKE_PLUGIN);
  EXPECT_EQ(third.path(), link);
  EXPECT_EQ(first.minor_version(), 5);
  void* library = dlopen(FAKE_PLUGIN, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(reinterpret_cast<int (*)()>(dlsym(library, "FakeInitializeCalls"))(), 1);
  dlclose(library);
}

TEST(ApiFromTable, RefusesATableWithoutErrorFunctions) {
  FakePlugin plugin;
  plugin.mutable_table().struct_size = offsetof(PJRT_Api, PJRT_Error_GetCode);
  const auto text = MessageOf<c10::Error>([&] { Api::FromTable(plugin.table()); });
  EXPECT_CONTAINS(text, "error functions");
}

TEST(ApiFromTable, RefusesNoTable) {
  const auto text = MessageOf<c10::Error>([] { Api::FromTable(nullptr, "p.so"); });
  EXPECT_CONTAINS(text, "PJRT plugin p.so");
}

TEST(ApiFromTable, FailingInitializeThrows) {
  FakePlugin plugin;
  plugin.FailCall(1, PJRT_Error_Code_FAILED_PRECONDITION, "busy");
  const auto text = MessageOf<Error>([&] { Api::FromTable(plugin.table()); });
  EXPECT_EQ(text, "PJRT_Plugin_Initialize: busy");
  EXPECT_EQ(plugin.Leaks(), "");
}

TEST(ApiDoor, SlotPastTheEndOfAnOldTableIsNotRead) {
  FakePlugin plugin;
  const Api api = Api::FromTable(plugin.table());
  EXPECT_TRUE(PJRT_OFFERS(api.table(), Client_Compile));
  plugin.mutable_table().struct_size = offsetof(PJRT_Api, PJRT_Client_Compile);
  EXPECT_FALSE(PJRT_OFFERS(api.table(), Client_Compile));
  try {
    PJRT_CALL(api.table(), Client_Compile);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), PJRT_Error_Code_UNIMPLEMENTED);
    EXPECT_STREQ(error.function(), "PJRT_Client_Compile");
  }
}

TEST(ApiDoor, EmptySlotIsUnimplemented) {
  FakePlugin plugin;
  plugin.mutable_table().PJRT_Client_Create = nullptr;
  const Api api = Api::FromTable(plugin.table());
  const auto text = MessageOf<Error>([&] { PJRT_CALL(api.table(), Client_Create); });
  EXPECT_EQ(text, "PJRT_Client_Create: this plugin does not offer it");
}

TEST(ApiDoor, NoThrowDoorSwallowsNothingButLogs) {
  FakePlugin plugin;
  const Api api = Api::FromTable(plugin.table());
  plugin.FailCall(1, PJRT_Error_Code_INTERNAL, "cannot initialize");
  ::testing::internal::CaptureStderr();
  PJRT_CALL_NO_THROW(api.table(), Plugin_Initialize);
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), "cannot initialize");
  plugin.mutable_table().PJRT_Plugin_Initialize = nullptr;
  PJRT_CALL_NO_THROW(api.table(), Plugin_Initialize);
  EXPECT_EQ(plugin.Leaks(), "");
}

TEST(Api, Attributes) {
  FakePlugin plugin;
  const Api api = Api::FromTable(plugin.table());
  EXPECT_EQ(api.Attributes(), (NamedValues{{"xla_version", int64_t{7}}}));
  plugin.mutable_table().PJRT_Plugin_Attributes = nullptr;
  EXPECT_TRUE(api.Attributes().empty());
}

TEST(Api, FindsAnExtensionInTheChain) {
  FakePlugin plugin;
  PJRT_Extension_Base last{PJRT_Extension_Base_STRUCT_SIZE, PJRT_Extension_Type_FFI, nullptr};
  PJRT_Extension_Base first{PJRT_Extension_Base_STRUCT_SIZE, PJRT_Extension_Type_Layouts, &last};
  plugin.mutable_table().extension_start = &first;
  const Api api = Api::FromTable(plugin.table());
  EXPECT_EQ(api.FindExtension(PJRT_Extension_Type_FFI), &last);
  EXPECT_EQ(api.FindExtension(PJRT_Extension_Type_Profiler), nullptr);
}

}  // namespace
}  // namespace torch_tpu::pjrt
