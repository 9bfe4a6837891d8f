#include "hlo/builder.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <map>

#include "hlo/printer.h"

namespace torch_tpu::hlo {

Builder::Builder(std::string module_name, Target target)
    : module_name_(std::move(module_name)), target_(target) {}

Value Builder::NewValue(Type type) {
  types_.push_back(std::move(type));
  traits_.push_back(0);
  return Value(this, static_cast<int>(types_.size()) - 1);
}

Value Builder::Parameter(const Type& type) {
  Value value = NewValue(type);
  parameters_.push_back(value);
  parameter_attributes_.emplace_back();
  return value;
}

void Builder::SetParameterAttributes(int parameter, std::string attributes) {
  parameter_attributes_[parameter] = std::move(attributes);
}

void Builder::SetResults(ValueRef results) { results_ = results.vec(); }

std::string Builder::Names(ValueRef values) const {
  std::string text;
  for (const Value& v : values) {
    TORCH_INTERNAL_ASSERT(v.builder_ == this, "a value of another builder");
    fmt::format_to(std::back_inserter(text), "{}%{}", text.empty() ? "" : ", ", v.id_);
  }
  return text;
}

std::string Builder::Types(ValueRef values) const {
  std::string text;
  for (const Value& v : values) {
    if (!text.empty()) text += ", ";
    text += TypeText(v.type());
  }
  return text;
}

std::string Builder::Text() const {
  std::string text = fmt::format("module @{} {{\n  func.func public @main(", module_name_);
  std::string reshapes;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const std::string& attributes = parameter_attributes_[i];
    const int id = parameters_[i].id_;
    const Type& type = parameters_[i].type();
    const bool flat = flat_parameters_ && attributes.empty();
    const std::string declared = TypeText(flat ? Type{type.dtype, {NumElements(type.dims)}} : type);
    fmt::format_to(std::back_inserter(text), "{}%{}{}: {}{}", i == 0 ? "" : ", ",
                   flat ? "flat" : "", id, declared,
                   attributes.empty() ? "" : fmt::format(" {{{}}}", attributes));
    if (!flat) continue;
    fmt::format_to(std::back_inserter(reshapes),
                   "    %{0} = \"stablehlo.reshape\"(%flat{0}) : ({1}) -> {2}\n", id, declared,
                   TypeText(type));
  }
  fmt::format_to(std::back_inserter(text), ") -> ({}) {{\n", Types(results_));
  text += reshapes;
  text += body_;
  fmt::format_to(std::back_inserter(text), "    \"func.return\"({}) : ({}) -> ()\n  }}\n}}\n",
                 Names(results_), Types(results_));
  return text;
}

std::string Builder::RegionText(c10::ArrayRef<Type> arguments, const Region& body) {
  std::string outer;
  std::swap(outer, body_);
  ++depth_;
  Values args;
  std::string header = "({";
  if (!arguments.empty()) {
    header = "({\n" + std::string(depth_ * 2 - 2, ' ') + "^bb0(";
    for (size_t i = 0; i < arguments.size(); ++i) {
      args.push_back(NewValue(arguments[i]));
      header += fmt::format("{}%{}: {}", i == 0 ? "" : ", ", args[i].id_, TypeText(arguments[i]));
    }
    header += "):";
  }
  const Values returned = body(*this, args);
  std::string text = fmt::format("{}\n{}{}\"stablehlo.return\"({}) : ({}) -> ()\n{}}})", header,
                                 body_, std::string(depth_ * 2, ' '), Names(returned),
                                 Types(returned), std::string(depth_ * 2 - 2, ' '));
  --depth_;
  body_ = std::move(outer);
  return text;
}

uint8_t Builder::TraitsOf(std::string_view op, ValueRef operands) const {
  static const auto& folding = *new std::set<std::string_view>{
      "cbrt",  "divide", "exponential", "exponential_minus_one", "log", "log_plus_one",
      "power", "rsqrt",  "sqrt"};
  static const auto& moving = *new std::set<std::string_view>{
      "broadcast_in_dim", "concatenate", "dynamic_slice", "gather", "negate",   "pad",
      "reshape",          "reverse",     "select",        "slice",  "transpose"};
  if (folding.contains(op)) return kFolds;
  if (op == "multiply") return kContracts;
  uint8_t traits = 0;
  if (moving.contains(op)) {
    for (Value operand : operands) traits |= traits_[operand.id_];
  }
  return traits;
}

Values Builder::Emit(std::string_view op, ValueRef operands, c10::ArrayRef<Type> results,
                     std::string_view attributes, c10::ArrayRef<std::string> regions) {
  Values values;
  for (const Type& type : results) values.push_back(NewValue(type));
  Write(op, operands, values, attributes, regions);
  if (keeps_operations_ && depth_ == kFunctionDepth) [[unlikely]] {
    Operation& operation = kept_.emplace_back();
    operation.name = op;
    for (const Value& operand : operands) operation.operands.push_back(operand.id_);
    for (const Value& value : values) operation.results.push_back(value.id_);
    operation.attributes = attributes;
    operation.regions = regions.vec();
    operation.location = location_;
  }
  return values;
}

void Builder::ReserveValues(const Builder& other) {
  TORCH_INTERNAL_ASSERT(types_.empty());
  types_ = other.types_;
  traits_ = other.traits_;
}

Values Builder::Repeat(const Operation& operation, ValueRef operands) {
  Values values;
  for (int id : operation.results) values.push_back(Value(this, id));
  location_ = operation.location;
  Write(operation.name, operands, values, operation.attributes, operation.regions);
  return values;
}

Values Builder::Inline(const std::string& region, ValueRef arguments) {
  // "({\n ^bb0(%1: type, ...):\n operations \"stablehlo.return\"(%7, ...) : types\n })"
  const auto id_at = [&](size_t at) { return std::atoi(region.c_str() + at + 1); };
  std::map<int, int> renamed;
  size_t at = region.find("^bb0(");
  const size_t body = region.find('\n', at) + 1;
  for (size_t i = 0; (at = region.find('%', at)) < body; ++at, ++i) {
    renamed[id_at(at)] = arguments[i].id_;
  }
  TORCH_INTERNAL_ASSERT(renamed.size() == arguments.size());
  const auto name_of = [&](int id) {
    const auto found = renamed.find(id);
    return found == renamed.end() ? id : found->second;
  };
  const size_t end = region.rfind("\"stablehlo.return\"");
  for (size_t i = body; i < region.rfind('\n', end) + 1;) {
    body_ += region[i];
    if (region[i++] != '%') continue;
    body_ += std::to_string(name_of(id_at(i - 1)));
    while (std::isdigit(static_cast<unsigned char>(region[i])) != 0) ++i;
  }
  Values returned;
  const size_t close = region.find(')', end);
  for (size_t i = end; (i = region.find('%', i)) < close; ++i) {
    returned.push_back(Value(this, name_of(id_at(i))));
  }
  return returned;
}

void Builder::Write(std::string_view op, ValueRef operands, ValueRef values,
                    std::string_view attributes, c10::ArrayRef<std::string> regions) {
  operations_.emplace(op);
  const std::string operand_names = Names(operands), operand_types = Types(operands);
  for (Value value : values) {
    if (IsFloat(value.dtype()) || IsComplex(value.dtype())) {
      traits_[value.id_] = TraitsOf(op, operands);
    }
  }
  auto out = std::back_inserter(body_);
  fmt::format_to(out, "{}{}{}\"{}{}\"({})", std::string(depth_ * 2, ' '), Names(values),
                 values.empty() ? "" : " = ",
                 op.find('.') == std::string_view::npos ? "stablehlo." : "", op, operand_names);
  if (!regions.empty()) {
    body_ += " (";
    for (size_t i = 0; i < regions.size(); ++i) {
      // RegionText wraps in "({ ... })": keep the braces only.
      body_ += (i == 0 ? "" : ", ") + regions[i].substr(1, regions[i].size() - 2);
    }
    body_ += ")";
  }
  if (!attributes.empty()) fmt::format_to(out, " {{{}}}", attributes);
  const std::string result_types = Types(values);
  if (values.size() == 1) {
    fmt::format_to(out, " : ({}) -> {}", operand_types, result_types);
  } else {
    fmt::format_to(out, " : ({}) -> ({})", operand_types, result_types);
  }
  if (!location_.empty()) fmt::format_to(out, " loc(\"{}\")", location_);
  body_ += "\n";
}

Value Builder::Emit1(std::string_view op, ValueRef operands, const Type& result,
                     std::string_view attributes, c10::ArrayRef<std::string> regions) {
  return Emit(op, operands, {result}, attributes, regions)[0];
}

Values Builder::Raw(std::string_view op, ValueRef operands, c10::ArrayRef<Type> results,
                    std::string_view attributes) {
  return Emit(op, operands, results, attributes);
}

}  // namespace torch_tpu::hlo
