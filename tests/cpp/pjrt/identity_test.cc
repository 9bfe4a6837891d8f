#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

TEST(Identity, NamesWhatAnExecutableDependsOn) {
  fake_pjrt::FakePlugin plugin;
  const auto client = Client::Create(Api::FromTable(plugin.table()));
  const std::string& identity = client->Identity();
  EXPECT_CONTAINS(identity, "platform=fake\n");
  EXPECT_CONTAINS(identity, "platform_version=1.2\n");
  EXPECT_CONTAINS(identity, "xla_version=7\n");
  EXPECT_CONTAINS(identity, "device_kind=fake kind\n");
  EXPECT_EQ(identity.find("plugin_file"), std::string::npos);
  EXPECT_EQ(&identity, &client->Identity());
}

TEST(Identity, ChangesWithThePluginsFile) {
  const std::string path = ::testing::TempDir() + "identity_plugin.so";
  fake_pjrt::FakePlugin plugin;
  std::ofstream(path) << "one";
  const auto one = Client::Create(Api::FromTable(plugin.table(), path))->Identity();
  EXPECT_EQ(Client::Create(Api::FromTable(plugin.table(), path))->Identity(), one);
  std::ofstream(path) << "longer";
  EXPECT_NE(Client::Create(Api::FromTable(plugin.table(), path))->Identity(), one);
  // The same plugin, installed at another time, elsewhere.
  const std::string other = ::testing::TempDir() + "identity_other.so";
  std::ofstream(other) << "one";
  std::filesystem::last_write_time(other, {});
  EXPECT_EQ(Client::Create(Api::FromTable(plugin.table(), other))->Identity(), one);
}

TEST(Identity, ChangesWithTheFlagsOfXla) {
  fake_pjrt::FakePlugin plugin;
  const auto identity = [&] { return Client::Create(Api::FromTable(plugin.table()))->Identity(); };
  unsetenv("XLA_FLAGS");
  const std::string without = identity();
  setenv("XLA_FLAGS", "--xla_some_flag=true", 1);
  EXPECT_CONTAINS(identity(), "XLA_FLAGS=--xla_some_flag=true\n");
  unsetenv("XLA_FLAGS");
  EXPECT_EQ(identity(), without);
}

TEST(Identity, IsTriedAgainAfterAnError) {
  fake_pjrt::FakePlugin plugin;
  const auto client = Client::Create(Api::FromTable(plugin.table()));
  plugin.FailCall(1);
  EXPECT_THROW(client->Identity(), Error);
  EXPECT_CONTAINS(client->Identity(), "platform=fake");
}

}  // namespace
}  // namespace torch_tpu::pjrt
