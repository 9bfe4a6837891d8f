#include "pjrt/event.h"

#include <c10/util/Logging.h>

#include <utility>

#include "pjrt/client.h"

namespace torch_tpu::pjrt {
namespace {

// Owned by the plugin between OnReady and Run. Knows only the table, which outlives everything: the
// client may end before its last callback has returned, or even because of it.
struct Callback {
  const PJRT_Api* api;
  std::function<void(std::optional<Error>)> function;

  static void Run(PJRT_Error* raw, void* user_arg) noexcept {
    const std::unique_ptr<Callback> self(static_cast<Callback*>(user_arg));
    try {
      std::optional<Error> error;
      if (raw != nullptr) error = TakeError(self->api, "PJRT_Event_OnReady", raw);
      self->function(std::move(error));
    } catch (const std::exception& e) {
      LOG(ERROR) << "exception in an event callback: " << e.what();
    } catch (...) {
      LOG(ERROR) << "exception in an event callback";
    }
  }
};

}  // namespace

namespace internal {
void DestroyEvent(const Client& client, PJRT_Event* event) noexcept {
  PJRT_CALL_NO_THROW(client.table(), Event_Destroy, .event = event);
}
}  // namespace internal

void Event::Await() const {
  if (handle_) PJRT_CALL(handle_.client()->table(), Event_Await, .event = raw());
}

bool Event::IsReady() const {
  if (!handle_) return true;
  return PJRT_CALL(handle_.client()->table(), Event_IsReady, .event = raw()).is_ready;
}

void Event::OnReady(std::function<void(std::optional<Error>)> callback) const {
  if (!handle_) {
    Callback::Run(nullptr, std::make_unique<Callback>(nullptr, std::move(callback)).release());
    return;
  }
  const PJRT_Api* api = handle_.client()->table();
  auto owned = std::make_unique<Callback>(api, std::move(callback));
  PJRT_CALL(api, Event_OnReady, .event = raw(), .callback = &Callback::Run,
            .user_arg = owned.get());
  owned.release();
}

}  // namespace torch_tpu::pjrt
