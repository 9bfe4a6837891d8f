// What a lowering is as a function of one size: two programs that the same lowering gave for two
// sizes, compared operation by operation. Numbers that differ must be linear in the size.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/builder.h"

namespace torch_tpu::hlo {

// slope * size + base.
struct Form {
  int64_t slope = 0, base = 0;
  int64_t At(int64_t size) const { return slope * size + base; }
  bool varies() const { return slope != 0; }
  bool operator==(const Form&) const = default;
};
using Forms = std::vector<Form>;

class SizePattern {
 public:
  // Both kept their operations. Throws std::runtime_error with the reason where they differ in
  // more than numbers that are linear in the size.
  SizePattern(std::unique_ptr<Builder> bound, int64_t bound_size, std::unique_ptr<Builder> sample,
              int64_t sample_size);

  // Throws likewise where the program is not what the pattern gives for its size.
  void Check(const Builder& program, int64_t size) const;

  const Builder& bound() const { return *bound_; }
  int64_t bound_size() const { return bound_size_; }

  // By value id. Empty: its dims are the same for all sizes.
  const Forms& varying_dims(int id) const { return dims_[id]; }
  Forms DimForms(int id) const;
  bool Varies(int id) const { return !dims_[id].empty(); }
  // By position of the operation.
  bool AttributesVary(size_t operation) const { return !attributes_[operation].empty(); }
  // The integers of `name` among the attributes: a list, a matrix in row-major order or a number.
  Forms Integers(size_t operation, std::string_view name) const;
  // The number of a splat constant, where it varies.
  std::optional<Form> VaryingSplat(size_t operation) const;

 private:
  // A number in an attribute text.
  struct Token {
    std::string text;
    Form form;
  };
  void CheckStructure(const Builder& other) const;
  Form Solve(int64_t at_bound, int64_t at_sample) const;

  std::unique_ptr<Builder> bound_, sample_;
  int64_t bound_size_, sample_size_;
  std::vector<Forms> dims_;
  std::vector<std::vector<Token>> attributes_;  // empty: the same text for all sizes
};

}  // namespace torch_tpu::hlo
