#include "pjrt/error.h"

#include <c10/util/Exception.h>

#include <cstring>

namespace torch_tpu::pjrt {
namespace {

std::string Join(std::string_view head, std::string_view tail) {
  std::string text(head);
  text += ": ";
  text += tail;
  return text;
}

// Straight through the table: the door itself ends here when a call fails.
class ErrorOwner {
 public:
  ErrorOwner(const PJRT_Api* api, PJRT_Error* error) : api_(api), error_(error) {}
  ErrorOwner(const ErrorOwner&) = delete;
  ErrorOwner& operator=(const ErrorOwner&) = delete;
  ~ErrorOwner() {
    PJRT_Error_Destroy_Args args{PJRT_Error_Destroy_Args_STRUCT_SIZE, nullptr, error_};
    api_->PJRT_Error_Destroy(&args);
  }

  std::string_view message() const {
    PJRT_Error_Message_Args args{PJRT_Error_Message_Args_STRUCT_SIZE, nullptr, error_, nullptr, 0};
    api_->PJRT_Error_Message(&args);
    return {args.message, args.message_size};
  }

  PJRT_Error_Code code() const {
    PJRT_Error_GetCode_Args args{PJRT_Error_GetCode_Args_STRUCT_SIZE, nullptr, error_,
                                 PJRT_Error_Code_UNKNOWN};
    if (PJRT_Error* nested = api_->PJRT_Error_GetCode(&args)) {
      ErrorOwner owner(api_, nested);
      return PJRT_Error_Code_UNKNOWN;
    }
    return args.code;
  }

 private:
  const PJRT_Api* api_;
  PJRT_Error* error_;
};

}  // namespace

Error::Error(PJRT_Error_Code code, const char* function, std::string_view message)
    : std::runtime_error(Join(function, message)), code_(code), function_(function) {}

std::string_view Error::message() const {
  return std::string_view(what()).substr(std::strlen(function_) + 2);
}

std::string CodeName(PJRT_Error_Code code) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  const size_t index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "code " + std::to_string(index);
}

Error TakeError(const PJRT_Api* api, const char* function, PJRT_Error* error) {
  ErrorOwner owner(api, error);
  return Error(owner.code(), function, owner.message());
}

void ThrowAsTorchError(const Error& error, std::string_view context) {
  const std::string text = Join(context, error.what());
  switch (error.code()) {
    case PJRT_Error_Code_RESOURCE_EXHAUSTED:
      C10_THROW_ERROR(OutOfMemoryError, text);
    case PJRT_Error_Code_INVALID_ARGUMENT:
      C10_THROW_ERROR(ValueError, text);
    case PJRT_Error_Code_UNIMPLEMENTED:
      C10_THROW_ERROR(NotImplementedError, text);
    default:
      C10_THROW_ERROR(Error, text);
  }
}

}  // namespace torch_tpu::pjrt
