// PJRT_NamedValue as C++ values: create options go in, attributes and cost analyses come out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "pjrt_c_api.h"

namespace torch_tpu::pjrt {

using NamedValue = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;
using NamedValues = std::map<std::string, NamedValue>;

// Copies out of the plugin's memory.
NamedValues ReadNamedValues(const PJRT_NamedValue* values, size_t size);

// The result points into `values`.
std::vector<PJRT_NamedValue> ViewNamedValues(const NamedValues& values);

std::string ToString(const NamedValue& value);

}  // namespace torch_tpu::pjrt
