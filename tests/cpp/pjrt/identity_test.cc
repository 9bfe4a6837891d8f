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
