// What a collective reads and writes, as tensors in host memory. On the CPU plugin they are the
// device's own memory; elsewhere they are copies.
#pragma once

#include <ATen/core/Tensor.h>

#include <mutex>
#include <string>

#include "exec/runtime.h"
#include "pjrt/pending_buffer.h"

namespace torch_tpu::distributed {

// A row-major host tensor as bytes, whatever its dtype.
at::Tensor Bytes(const at::Tensor& tensor);

// The elements that a tensor has when this is made; later writes do not show.
class HostInput {
 public:
  // RuntimeError where the tensor is not on tpu.
  explicit HostInput(const at::Tensor& tensor);

  // True when Get does not wait.
  bool IsReady() const;
  // Waits for what computes the elements and raises its error. Row-major, to be read only; holds
  // the device memory as long as it lives.
  at::Tensor Get() const;

  const std::vector<int64_t>& sizes() const { return sizes_; }
  DType dtype() const { return dtype_; }
  int64_t numel() const { return numel_; }

 private:
  std::vector<int64_t> sizes_;
  DType dtype_;
  int64_t numel_;
  exec::BufferRef buffer_;  // null: zeros
  int64_t byte_offset_ = 0;
};

// From its making on, the tensor's elements are those that will be in host().
class HostOutput {
 public:
  // `producer` names the collective for errors that show when the tensor is read; static lifetime.
  HostOutput(const at::Tensor& tensor, const char* producer);
  HostOutput(const HostOutput&) = delete;
  HostOutput& operator=(const HostOutput&) = delete;
  // Fails where it was not completed.
  ~HostOutput();

  // To be filled. Row-major, with the tensor's sizes and dtype.
  const at::Tensor& host() const { return host_; }
  // The first of the two counts, and may come from any thread.
  void Complete();
  void Fail(const std::string& message);

 private:
  bool IsFirst();

  at::Tensor host_;
  std::unique_ptr<pjrt::PendingBuffer> pending_;  // null where there are no elements
  exec::BufferRef buffer_;                        // keeps the memory of host()
  std::mutex mutex_;
  bool is_done_ = false;
};

}  // namespace torch_tpu::distributed
