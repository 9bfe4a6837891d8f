#include "pjrt/named_value.h"

#include <c10/util/Exception.h>

#include <sstream>
#include <string_view>
#include <type_traits>

namespace torch_tpu::pjrt {
namespace {

NamedValue Read(const PJRT_NamedValue& value) {
  switch (value.type) {
    case PJRT_NamedValue_kString:
      return std::string(value.string_value, value.value_size);
    case PJRT_NamedValue_kInt64:
      return value.int64_value;
    case PJRT_NamedValue_kInt64List:
      return std::vector<int64_t>(value.int64_array_value,
                                  value.int64_array_value + value.value_size);
    case PJRT_NamedValue_kFloat:
      return value.float_value;
    case PJRT_NamedValue_kBool:
      return value.bool_value;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(false, "PJRT_NamedValue: expected a type from 0 to 4, got ",
                              static_cast<int>(value.type), " for '",
                              std::string_view(value.name, value.name_size), "'");
}

}  // namespace

NamedValues ReadNamedValues(const PJRT_NamedValue* values, size_t size) {
  NamedValues result;
  for (size_t i = 0; i < size; ++i) {
    result.insert_or_assign(std::string(values[i].name, values[i].name_size), Read(values[i]));
  }
  return result;
}

std::vector<PJRT_NamedValue> ViewNamedValues(const NamedValues& values) {
  std::vector<PJRT_NamedValue> result;
  result.reserve(values.size());
  for (const auto& [name, value] : values) {
    PJRT_NamedValue& view = result.emplace_back();
    view.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    view.name = name.data();
    view.name_size = name.size();
    view.value_size = 1;
    if (const auto* text = std::get_if<std::string>(&value)) {
      view.type = PJRT_NamedValue_kString;
      view.string_value = text->data();
      view.value_size = text->size();
    } else if (const auto* number = std::get_if<int64_t>(&value)) {
      view.type = PJRT_NamedValue_kInt64;
      view.int64_value = *number;
    } else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      view.type = PJRT_NamedValue_kInt64List;
      view.int64_array_value = list->data();
      view.value_size = list->size();
    } else if (const auto* real = std::get_if<float>(&value)) {
      view.type = PJRT_NamedValue_kFloat;
      view.float_value = *real;
    } else {
      view.type = PJRT_NamedValue_kBool;
      view.bool_value = std::get<bool>(value);
    }
  }
  return result;
}

std::string ToString(const NamedValue& value) {
  std::ostringstream out;
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) {
          out << (v ? "true" : "false");
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          out << '[';
          for (size_t i = 0; i < v.size(); ++i) out << (i ? ", " : "") << v[i];
          out << ']';
        } else {
          out << v;
        }
      },
      value);
  return out.str();
}

}  // namespace torch_tpu::pjrt
