// The settings that every test of this room runs with; they are read once per process.
#include <cstdlib>

namespace {

const bool set = [] {
  setenv("TORCH_TPU_PJRT_PLUGIN", TORCH_TPU_TEST_PLUGIN, 1);
  setenv("TORCH_TPU_NUM_DEVICES", "2", 1);
  setenv("TORCH_TPU_MEMORY_LIMIT", "67108864", 1);  // 64 MiB
  setenv("TORCH_TPU_DISK_CACHE", "0", 1);
  setenv("TORCH_TPU_GROWING_SHAPES", "0", 1);  // keys of many sizes stay programs of their own
  unsetenv("TORCH_TPU_CHECK_INDICES");
  unsetenv("TORCH_TPU_EAGER_MODE");
  unsetenv("TORCH_TPU_DUMP_PROGRAMS");
  return true;
}();

}  // namespace
