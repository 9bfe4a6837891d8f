// Owns one PJRT object and keeps its client alive.
#pragma once

#include <memory>
#include <utility>

namespace torch_tpu::pjrt {

class Client;

// kDestroy must do nothing in a forked child.
template <class Raw, void (*kDestroy)(const Client&, Raw*) noexcept>
class Handle {
 public:
  Handle() = default;
  Handle(std::shared_ptr<Client> client, Raw* raw) : client_(std::move(client)), raw_(raw) {}
  Handle(Handle&& other) noexcept
      : client_(std::move(other.client_)), raw_(std::exchange(other.raw_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      Reset();
      client_ = std::move(other.client_);
      raw_ = std::exchange(other.raw_, nullptr);
    }
    return *this;
  }
  ~Handle() { Reset(); }

  Raw* get() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }
  const std::shared_ptr<Client>& client() const { return client_; }

  Raw* Release() { return std::exchange(raw_, nullptr); }
  void Reset() noexcept {
    if (raw_ != nullptr) kDestroy(*client_, std::exchange(raw_, nullptr));
    client_.reset();
  }

 private:
  std::shared_ptr<Client> client_;
  Raw* raw_ = nullptr;
};

}  // namespace torch_tpu::pjrt
