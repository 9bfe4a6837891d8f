// Takes apart what ProgramWriter wrote.
#pragma once

#include <c10/util/Exception.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "exec/program.h"

namespace torch_tpu::exec {

class ProgramReader {
 public:
  explicit ProgramReader(std::string_view bytes) : bytes_(bytes) {}

 protected:
  bool AtEnd() const { return at_ >= bytes_.size(); }
  template <typename T>
  T Get() {
    T value;
    TORCH_INTERNAL_ASSERT(at_ + sizeof(T) <= bytes_.size());
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  template <typename T>
  std::vector<T> GetList() {
    std::vector<T> values(Get<uint32_t>());
    if (!values.empty()) std::memcpy(values.data(), bytes_.data() + at_, values.size() * sizeof(T));
    at_ += values.size() * sizeof(T);
    return values;
  }
  Dims GetDims() {
    const auto list = GetList<int64_t>();
    return Dims(list.begin(), list.end());
  }
  Dims GetTaggedDims() {
    Get<Tag>();
    return GetDims();
  }

  std::string_view bytes_;
  size_t at_ = 0;
};

}  // namespace torch_tpu::exec
