// Completion of asynchronous work, with its error.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "pjrt/error.h"
#include "pjrt/handle.h"
#include "pjrt_c_api.h"

namespace torch_tpu::pjrt {

namespace internal {
void DestroyEvent(const Client& client, PJRT_Event* event) noexcept;
}

// An empty event (default-made or moved-from) counts as complete and without error.
// Dropping an event neither waits for nor cancels the work behind it.
class Event {
 public:
  Event() = default;
  Event(std::shared_ptr<Client> client, PJRT_Event* event) : handle_(std::move(client), event) {}

  // Blocks; throws pjrt::Error where the work failed. May be called again, with the same outcome.
  // Release the GIL around it.
  void Await() const;
  bool IsReady() const;
  // `callback` runs exactly once: on the calling thread where the event is ready, else on one of
  // the plugin's threads, where it must not block. It outlives this object. An exception that it
  // throws is logged and dropped, since it cannot pass through the plugin. Where OnReady itself
  // throws, the callback never runs.
  void OnReady(std::function<void(std::optional<Error>)> callback) const;

  PJRT_Event* raw() const { return handle_.get(); }
  explicit operator bool() const { return static_cast<bool>(handle_); }

 private:
  Handle<PJRT_Event, internal::DestroyEvent> handle_;
};

}  // namespace torch_tpu::pjrt
