// Storages as the eager room has them, without PyTorch: one buffer that views read and writes
// replace.
#pragma once

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exec/launch.h"
#include "exec/program.h"
#include "exec/runtime.h"
#include "exec/stats.h"

namespace torch_tpu::exec {

inline Dims DimsOf(const std::vector<int64_t>& list) { return Dims(list.begin(), list.end()); }

template <typename T>
std::vector<T> Read(const BufferRef& buffer) {
  std::vector<T> values(buffer->bytes() / sizeof(T));
  Runtime::Get().ToHost(buffer, values.data(), buffer->bytes());
  return values;
}

struct Storage : BufferSlot {
  int64_t bytes;

  explicit Storage(int64_t bytes) : bytes(bytes) {}  // nothing was written yet
  Storage(const void* data, const hlo::Type& type, int device) : bytes(BytesOf(type)) {
    Store(Runtime::Get().ToDevice(data, type, device, std::nullopt, "test::upload"));
  }

  // The lists must outlive the use of the view.
  TensorView View(DType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset = 0) {
    return {this, dtype, sizes, strides, offset, bytes};
  }
};

// A row-major tensor that is all of its storage.
class Tensor {
 public:
  template <typename T>
  Tensor(const std::vector<T>& values, IntArrayRef dims, int device = 0)
      : dtype(c10::CppTypeToScalarType<T>::value),
        sizes(dims),
        strides(RowMajorStrides(dims)),
        device(device),
        storage(values.data(), {dtype, Dims(dims)}, device) {}

  TensorView View() const { return storage.View(dtype, sizes, strides); }
  BufferRef buffer() const { return storage.Load(); }
  template <typename T>
  std::vector<T> Values() const {
    return Read<T>(buffer());
  }

  DType dtype;
  Dims sizes, strides;
  int device;
  mutable Storage storage;  // programs write through it
};

inline const lowering::OpRow& Row(const char* name) {
  const lowering::OpRow* row = lowering::FindRow(name);
  TORCH_CHECK(row != nullptr, name, ": no such row");
  return *row;
}

// x + alpha * y, with a number as alpha.
inline void PutAdd(ProgramWriter& writer, const Tensor& x, const Tensor& y,
                   const c10::Scalar& alpha = 1, bool is_static = true) {
  writer.Call(Row("aten::add.Tensor"));
  writer.Tensor(x.View());
  writer.Tensor(y.View());
  writer.Number(alpha, is_static);
  writer.EndCall();
}

inline Launched RunAdd(const Tensor& x, const Tensor& y) {
  ProgramWriter writer(x.device);
  PutAdd(writer, x, y);
  return Launch(writer, 0);
}

// x += y
inline void RunAddInPlace(const Tensor& x, const Tensor& y) {
  ProgramWriter writer(x.device);
  PutAdd(writer, x, y);
  writer.Write(0, x.View());
  Launch(writer, 0);
}

// The message of what `body` throws as E; fails the test where it throws nothing or another kind.
template <class E, class Body>
std::string MessageOf(Body body) {
  try {
    body();
  } catch (const E& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind: " << error.what();
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace torch_tpu::exec
