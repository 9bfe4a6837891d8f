// A PJRT plugin made of our own functions: it counts what it creates and destroys, fails the n-th
// call on request, and runs programs by copying inputs to outputs. For tests of error paths.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pjrt_c_api.h"

namespace torch_tpu::fake_pjrt {

enum class Kind {
  kError,
  kClient,
  kEvent,
  kBuffer,
  kLoadedExecutable,
  kExecutable,
  kSerialized,
  kReference
};
inline constexpr int kNumKinds = 8;

// The C functions carry no context, so one FakePlugin at a time may exist. Two devices. Several
// threads may call it; set it up from one.
//
// A program may be any text with a StableHLO-like signature: "@main(%arg0: tensor<2xf32> {...}) ->
// (tensor<2xf32>)". Output i is a copy of argument i where both have the same number of bytes, else
// zeros. An argument marked with tf.aliasing_output or jax.buffer_donor is donated.
class FakePlugin {
 public:
  FakePlugin();
  ~FakePlugin();
  FakePlugin(const FakePlugin&) = delete;
  FakePlugin& operator=(const FakePlugin&) = delete;

  const PJRT_Api* table() const { return &table_; }
  // To take functions away, shorten the table or change its version.
  PJRT_Api& mutable_table() { return table_; }

  // The n-th call from now on (1 is the next) returns an error. Counted are all calls that can
  // return one, except Error_GetCode. A failing destroy frees its object nevertheless.
  void FailCall(int n, PJRT_Error_Code code = PJRT_Error_Code_INTERNAL,
                std::string message = "injected");
  // The C name of the function that FailCall made fail, or "".
  const std::string& failed_function() const { return failed_function_; }
  // From now on PJRT_Error_GetCode itself fails.
  void FailGetCode() { fail_get_code_ = true; }
  int calls() const { return calls_; }
  // How often one function was called, by its C name.
  int calls(const std::string& function) const;

  // Events made from now on stay unready until Finish.
  void HoldEvents() { hold_events_ = true; }
  // Makes all held events ready, with an error where `code` is not OK, and runs their callbacks.
  void Finish(PJRT_Error_Code code = PJRT_Error_Code_OK, std::string message = "");
  // Events made from now on are ready with this error. OK ends that.
  void FailEvents(PJRT_Error_Code code, std::string message = "");

  // What clients made from now on answer; "fake" until then.
  void set_platform_name(std::string name) { platform_name_ = std::move(name); }

  // Per device; allocations beyond it fail with RESOURCE_EXHAUSTED. 0 is no limit.
  void set_memory_limit(int64_t bytes) { memory_limit_ = bytes; }

  int created(Kind kind) const { return created_[static_cast<int>(kind)]; }
  int live(Kind kind) const { return live_[static_cast<int>(kind)]; }
  // "" where nothing is alive, else the kinds and counts.
  std::string Leaks() const;

  // What the plugin saw last, for tests of the arguments that reach it.
  struct Seen {
    std::vector<int64_t> byte_strides;
    std::vector<int64_t> non_donatable;
    std::vector<int64_t> host_minor_to_major;  // of ToHostBuffer; empty where no layout was given
    std::string compile_options;
    std::string create_options;  // "name=value;" of each
    int execute_device = -1;     // -1: not set
    bool wants_event = false;
  };
  const Seen& seen() const { return seen_; }

 private:
  friend struct Functions;
  PJRT_Api table_;
  int calls_ = 0;
  int fail_at_ = 0;
  PJRT_Error_Code fail_code_ = PJRT_Error_Code_INTERNAL;
  std::string fail_message_;
  std::string failed_function_;
  bool fail_get_code_ = false;
  bool hold_events_ = false;
  PJRT_Error_Code event_code_ = PJRT_Error_Code_OK;
  std::string event_message_;
  int64_t memory_limit_ = 0;
  std::string platform_name_ = "fake";
  int created_[kNumKinds] = {};
  int live_[kNumKinds] = {};
  Seen seen_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace torch_tpu::fake_pjrt
