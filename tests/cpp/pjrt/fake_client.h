// A client of the fake plugin, and small helpers that several tests of this room share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fake_pjrt/fake_pjrt.h"
#include "pjrt/client.h"
#include "pjrt/compile_options.h"

namespace torch_tpu::pjrt {

inline constexpr char kCopyProgram[] =
    "func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {";
inline constexpr char kDonatingProgram[] =
    "func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}) -> "
    "tensor<2x3xf32> {";

class FakeClientTest : public ::testing::Test {
 protected:
  void TearDown() override {
    client_.reset();
    EXPECT_EQ(plugin_.Leaks(), "");
  }

  Buffer Upload(const std::vector<float>& values = {1, 2, 3, 4, 5, 6}, int device = 0) {
    return client_->BufferFromHost(values.data(), DType::Float, {2, 3}, std::nullopt, device);
  }
  Executable Compile(const char* text = kCopyProgram) {
    return client_->Compile(text, Serialize(CompileOptions()));
  }

  fake_pjrt::FakePlugin plugin_;
  std::shared_ptr<Client> client_ = Client::Create(Api::FromTable(plugin_.table()));
};

// The message of what `body` throws as E; fails the test where it throws nothing or another kind.
template <class E, class Body>
std::string MessageOf(Body body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind: " << error.what();
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace torch_tpu::pjrt
