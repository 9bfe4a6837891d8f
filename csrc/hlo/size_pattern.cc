#include "hlo/size_pattern.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <stdexcept>

namespace torch_tpu::hlo {
namespace {

[[noreturn]] void Differ(const std::string& what) { throw std::runtime_error(what); }

// Splits a text into decimal numbers and what stands between them. Hexadecimal numbers and digits
// of names (i64) belong to what stands between.
struct Split {
  std::string rest;
  std::vector<std::string> numbers;

  explicit Split(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
      const char before = i == 0 ? ' ' : text[i - 1];
      const bool name = std::isalpha(static_cast<unsigned char>(before)) || before == '_';
      const bool sign = text[i] == '-' && i + 1 < text.size() && IsDigit(text[i + 1]);
      if ((!IsDigit(text[i]) && !sign) || (name && before != 'x')) {
        rest += text[i++];
        continue;
      }
      size_t end = i + 1;
      if (text.substr(i, 2) == "0x") {
        while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) ++end;
        rest += text.substr(i, end - i);
        i = end;
        continue;
      }
      while (end < text.size() && (IsDigit(text[end]) || IsPoint(text, end))) ++end;
      numbers.emplace_back(text.substr(i, end - i));
      rest += '#';
      i = end;
    }
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  // A decimal point or an exponent inside a number.
  static bool IsPoint(std::string_view text, size_t i) {
    if (i + 1 >= text.size()) return false;
    if (text[i] == '.') return IsDigit(text[i + 1]);
    if (text[i] == 'e') return IsDigit(text[i + 1]) || text[i + 1] == '+' || text[i + 1] == '-';
    return (text[i] == '+' || text[i] == '-') && text[i - 1] == 'e';
  }
};

// Whole numbers only: what is linear in a size and no integer is not understood.
int64_t WholeNumber(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  if (value != static_cast<double>(static_cast<int64_t>(value)) || value > 1e15 || value < -1e15) {
    Differ(fmt::format("the number {} depends on the size", text));
  }
  return static_cast<int64_t>(value);
}

std::vector<int64_t> ReadIntegers(std::string_view attributes, std::string_view name) {
  size_t at = 0;
  for (;; ++at) {
    at = attributes.find(name, at);
    TORCH_INTERNAL_ASSERT(at != std::string_view::npos, name, " is missing in ", attributes);
    const bool starts = at == 0 || attributes[at - 1] == ' ' || attributes[at - 1] == '<';
    if (starts && attributes.substr(at + name.size(), 3) == " = ") break;
  }
  std::string_view text = attributes.substr(at + name.size() + 3);
  if (text.starts_with("array<i64")) {
    text = text.substr(9, text.find('>') - 9);
  } else if (text.starts_with("dense<")) {
    text = text.substr(6, text.find("> :") - 6);
  } else if (text.starts_with("[")) {
    text = text.substr(0, text.find(']'));
  } else {
    text = text.substr(0, text.find_first_of(" ,>"));
  }
  std::vector<int64_t> values;
  for (const std::string& number : Split(text).numbers) {
    values.push_back(std::strtoll(number.c_str(), nullptr, 10));
  }
  return values;
}

}  // namespace

SizePattern::SizePattern(std::unique_ptr<Builder> bound, int64_t bound_size,
                         std::unique_ptr<Builder> sample, int64_t sample_size)
    : bound_(std::move(bound)),
      sample_(std::move(sample)),
      bound_size_(bound_size),
      sample_size_(sample_size),
      dims_(bound_->num_values()),
      attributes_(bound_->kept_operations().size()) {
  TORCH_INTERNAL_ASSERT(bound_size != sample_size);
  CheckStructure(*sample_);
  for (size_t id = 0; id < bound_->num_values(); ++id) {
    const Dims& a = bound_->TypeOf(static_cast<int>(id)).dims;
    const Dims& b = sample_->TypeOf(static_cast<int>(id)).dims;
    if (a == b) continue;
    for (size_t i = 0; i < a.size(); ++i) {
      dims_[id].push_back(Solve(a[i], b[i]));
      if (dims_[id].back().slope < 0) Differ("a dimension shrinks as the size grows");
    }
  }
  for (size_t i = 0; i < attributes_.size(); ++i) {
    const std::string& a = bound_->kept_operations()[i].attributes;
    const std::string& b = sample_->kept_operations()[i].attributes;
    if (a == b) continue;
    const Split x(a), y(b);
    if (x.rest != y.rest || x.numbers.size() != y.numbers.size()) {
      Differ(
          fmt::format("{} has other attributes at other sizes", bound_->kept_operations()[i].name));
    }
    for (size_t k = 0; k < x.numbers.size(); ++k) {
      Token token{x.numbers[k], {}};
      if (x.numbers[k] != y.numbers[k]) {
        token.form = Solve(WholeNumber(x.numbers[k]), WholeNumber(y.numbers[k]));
      }
      attributes_[i].push_back(std::move(token));
    }
  }
}

Form SizePattern::Solve(int64_t at_bound, int64_t at_sample) const {
  if (at_bound == at_sample) return {0, at_bound};
  const int64_t rise = at_bound - at_sample, run = bound_size_ - sample_size_;
  if (rise % run != 0)
    Differ(fmt::format("{} and {} are not linear in the size", at_sample, at_bound));
  return {rise / run, at_bound - rise / run * bound_size_};
}

void SizePattern::CheckStructure(const Builder& other) const {
  const auto ids = [](const Builder& b) {
    std::vector<int> list;
    for (const Value& value : b.parameters()) list.push_back(value.id());
    list.push_back(-1);
    for (const Value& value : b.results()) list.push_back(value.id());
    return list;
  };
  const auto& mine = bound_->kept_operations();
  const auto& others = other.kept_operations();
  if (bound_->num_values() != other.num_values() || mine.size() != others.size() ||
      ids(*bound_) != ids(other)) {
    Differ("other sizes take other operations");
  }
  for (size_t i = 0; i < mine.size(); ++i) {
    const Operation &a = mine[i], &b = others[i];
    if (a.name != b.name || a.operands != b.operands || a.results != b.results) {
      Differ(fmt::format("{} is another operation at other sizes", a.name));
    }
    if (a.regions != b.regions) Differ(fmt::format("the body of {} depends on the size", a.name));
  }
  for (size_t id = 0; id < bound_->num_values(); ++id) {
    const Type &a = bound_->TypeOf(static_cast<int>(id)), &b = other.TypeOf(static_cast<int>(id));
    if (a.dtype != b.dtype || a.dims.size() != b.dims.size()) {
      Differ("other sizes take values of other types");
    }
  }
}

void SizePattern::Check(const Builder& program, int64_t size) const {
  CheckStructure(program);
  for (size_t id = 0; id < dims_.size(); ++id) {
    const Dims& bound = bound_->TypeOf(static_cast<int>(id)).dims;
    const Dims& dims = program.TypeOf(static_cast<int>(id)).dims;
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t want = dims_[id].empty() ? bound[i] : dims_[id][i].At(size);
      if (dims[i] != want) Differ("a dimension is not linear in the size");
    }
  }
  for (size_t i = 0; i < attributes_.size(); ++i) {
    const Operation& operation = program.kept_operations()[i];
    const std::string& bound = bound_->kept_operations()[i].attributes;
    if (attributes_[i].empty()) {
      if (operation.attributes != bound) {
        Differ(fmt::format("an attribute of {} depends on the size", operation.name));
      }
      continue;
    }
    const Split split(operation.attributes);
    bool same = split.numbers.size() == attributes_[i].size() && split.rest == Split(bound).rest;
    for (size_t k = 0; same && k < split.numbers.size(); ++k) {
      const Token& token = attributes_[i][k];
      same = token.form.varies() ? WholeNumber(split.numbers[k]) == token.form.At(size)
                                 : split.numbers[k] == token.text;
    }
    if (!same) {
      Differ(fmt::format("an attribute of {} is not linear in the size", operation.name));
    }
  }
}

Forms SizePattern::DimForms(int id) const {
  if (Varies(id)) return dims_[id];
  Forms forms;
  for (int64_t dim : bound_->TypeOf(id).dims) forms.push_back({0, dim});
  return forms;
}

Forms SizePattern::Integers(size_t operation, std::string_view name) const {
  const auto a = ReadIntegers(bound_->kept_operations()[operation].attributes, name);
  const auto b = ReadIntegers(sample_->kept_operations()[operation].attributes, name);
  TORCH_INTERNAL_ASSERT(a.size() == b.size());
  Forms forms;
  for (size_t i = 0; i < a.size(); ++i) forms.push_back(Solve(a[i], b[i]));
  return forms;
}

std::optional<Form> SizePattern::VaryingSplat(size_t operation) const {
  const auto number = [&](const Builder& b) {
    const std::string& text = b.kept_operations()[operation].attributes;
    const size_t start = text.find("dense<") + 6;
    return text.substr(start, text.find("> :") - start);
  };
  const std::string at_bound = number(*bound_), at_sample = number(*sample_);
  if (at_bound == at_sample) return std::nullopt;
  if (at_bound.starts_with("(")) Differ("a complex number depends on the size");
  return Solve(WholeNumber(at_bound), WholeNumber(at_sample));
}

}  // namespace torch_tpu::hlo
