#include "pjrt/fork_guard.h"

#include <c10/util/Exception.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_client.h"

namespace torch_tpu::pjrt {
namespace {

// The exit status of `body` in a forked child; 255 where it throws.
template <class Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 255;
    try {
      status = body();
    } catch (...) {
    }
    _exit(status);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class Body>
bool ThrowsForkError(Body body) {
  try {
    body();
  } catch (const c10::Error& error) {
    return std::string(error.what()).find("forked subprocess") != std::string::npos;
  }
  return false;
}

TEST(ForkGuard, ParentIsNoChild) { EXPECT_FALSE(InForkedChild()); }

TEST(ForkGuard, ChildMustNotTouchThePlugin) {
  fake_pjrt::FakePlugin plugin;
  const auto client = Client::Create(Api::FromTable(plugin.table()));
  const float values[6] = {};
  Buffer buffer = client->BufferFromHost(values, DType::Float, {2, 3}, std::nullopt, 0);
  const Executable executable = client->Compile(kCopyProgram, "");
  const int status = InChild([&] {
    const int calls = plugin.calls();
    float out[6];
    PJRT_Buffer* outputs[1];
    if (!InForkedChild()) return 1;
    if (!ThrowsForkError([&] { buffer.CopyToHost(out, 24); })) return 2;
    if (!ThrowsForkError([&] { executable.Execute({}, 0, {}, outputs, nullptr); })) return 3;
    if (!ThrowsForkError([&] { Client::Create(client->api()); })) return 4;
    if (!ThrowsForkError([&] { Api::Load("/any"); })) return 5;
    buffer = Buffer();
    return plugin.calls() == calls ? 0 : 6;
  });
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(InForkedChild());
  float out[6];
  buffer.CopyToHost(out, 24).Await();
}

}  // namespace
}  // namespace torch_tpu::pjrt
