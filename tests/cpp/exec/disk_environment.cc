// The settings of the tests of the disk cache: an empty folder for each process, gone at its end.
#include "disk_environment.h"

#include <unistd.h>

#include <cstdlib>

namespace torch_tpu::exec {
namespace {

pid_t g_owner = 0;

// A folder of nobody else's below the tests' own.
const std::string g_folder = [] {
  std::string name = ::testing::TempDir() + "torch_tpu_cache_XXXXXX";
  if (mkdtemp(name.data()) == nullptr) std::abort();
  g_owner = getpid();
  std::atexit([] {
    if (getpid() == g_owner) std::filesystem::remove_all(g_folder);
  });
  setenv("TORCH_TPU_PJRT_PLUGIN", TORCH_TPU_TEST_PLUGIN, 1);
  setenv("TORCH_TPU_CACHE_DIR", (name + "/own").c_str(), 1);
  setenv("TORCH_TPU_SHARED_CACHE_DIR", (name + "/shared").c_str(), 1);
  std::filesystem::create_directory(name + "/shared");
  for (const char* setting : {"TORCH_TPU_DISK_CACHE", "TORCH_TPU_CACHE_BYTES"}) unsetenv(setting);
  return name;
}();

}  // namespace

std::filesystem::path OwnFolder() { return g_folder + "/own"; }
std::filesystem::path SharedFolder() { return g_folder + "/shared"; }
std::filesystem::path NewFolder(const std::string& name) {
  const std::filesystem::path folder = g_folder + "/" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

}  // namespace torch_tpu::exec
