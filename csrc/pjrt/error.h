// The one exception type for what a plugin reports, and its way into PyTorch's own exception kinds.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "pjrt_c_api.h"

namespace torch_tpu::pjrt {

class Error : public std::runtime_error {
 public:
  // `function` is the C function's name and must have static lifetime. what() is
  // "<function>: <message>".
  Error(PJRT_Error_Code code, const char* function, std::string_view message);

  PJRT_Error_Code code() const { return code_; }
  const char* function() const { return function_; }
  // The plugin's own words, without the function's name.
  std::string_view message() const;

 private:
  PJRT_Error_Code code_;
  const char* function_;
};

// "RESOURCE_EXHAUSTED" and so on; "code <n>" for a code that the header does not know.
std::string CodeName(PJRT_Error_Code code);

// The only function that reads a PJRT_Error. Takes ownership: `error` is destroyed on every path.
Error TakeError(const PJRT_Api* api, const char* function, PJRT_Error* error);

// Throws c10::OutOfMemoryError for RESOURCE_EXHAUSTED, c10::ValueError for INVALID_ARGUMENT,
// c10::NotImplementedError for UNIMPLEMENTED and c10::Error for all else, with the text
// "<context>: <what>".
[[noreturn]] void ThrowAsTorchError(const Error& error, std::string_view context);

}  // namespace torch_tpu::pjrt
