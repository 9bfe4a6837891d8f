#include "fake_pjrt/fake_program.h"

#include <cctype>
#include <regex>
#include <stdexcept>
#include <utility>

namespace torch_tpu::fake_pjrt {
namespace {

constexpr std::pair<const char*, std::pair<PJRT_Buffer_Type, size_t>> kTypes[] = {
    {"i1", {PJRT_Buffer_Type_PRED, 1}},           {"i8", {PJRT_Buffer_Type_S8, 1}},
    {"i16", {PJRT_Buffer_Type_S16, 2}},           {"i32", {PJRT_Buffer_Type_S32, 4}},
    {"i64", {PJRT_Buffer_Type_S64, 8}},           {"ui8", {PJRT_Buffer_Type_U8, 1}},
    {"ui16", {PJRT_Buffer_Type_U16, 2}},          {"ui32", {PJRT_Buffer_Type_U32, 4}},
    {"ui64", {PJRT_Buffer_Type_U64, 8}},          {"f16", {PJRT_Buffer_Type_F16, 2}},
    {"bf16", {PJRT_Buffer_Type_BF16, 2}},         {"f32", {PJRT_Buffer_Type_F32, 4}},
    {"f64", {PJRT_Buffer_Type_F64, 8}},           {"complex<f32>", {PJRT_Buffer_Type_C64, 8}},
    {"complex<f64>", {PJRT_Buffer_Type_C128, 16}}};

// "2x3xf32" -> {F32, [2, 3]}
Shape ParseTensor(std::string text) {
  Shape shape{PJRT_Buffer_Type_INVALID, {}};
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) {
    const size_t x = text.find('x');
    shape.dims.push_back(std::stoll(text.substr(0, x)));
    text.erase(0, x + 1);
  }
  for (const auto& row : kTypes) {
    if (text == row.first) shape.type = row.second.first;
  }
  if (shape.type == PJRT_Buffer_Type_INVALID) throw std::runtime_error("unknown type " + text);
  return shape;
}

std::vector<std::string> Tensors(const std::string& text) {
  static const std::regex tensor("tensor<((?:[^<>]|<[^<>]*>)*)>");
  std::vector<std::string> result;
  for (std::sregex_iterator it(text.begin(), text.end(), tensor), end; it != end; ++it) {
    result.push_back((*it)[1]);
  }
  return result;
}

}  // namespace

size_t Shape::bytes() const {
  size_t size = 0;
  for (const auto& row : kTypes) {
    if (row.second.first == type) size = row.second.second;
  }
  for (const int64_t dim : dims) size *= static_cast<size_t>(dim);
  return size;
}

Program ParseProgram(const std::string& text) {
  const size_t main = text.find("@main(");
  const size_t arrow = text.find("->", main);
  if (main == std::string::npos || arrow == std::string::npos) {
    throw std::runtime_error("no @main(...) -> ...");
  }
  Program program;
  program.text = text;
  const std::string arguments = text.substr(main, arrow - main);
  for (size_t at = arguments.find('%'); at != std::string::npos;) {
    const size_t next = arguments.find('%', at + 1);
    const std::string argument = arguments.substr(at, next - at);
    program.donated.push_back(argument.find("tf.aliasing_output") != std::string::npos ||
                              argument.find("jax.buffer_donor") != std::string::npos);
    at = next;
  }
  const size_t body = text.find('{', arrow);
  std::string results = text.substr(arrow, body - arrow);
  if (results.find('\n') != std::string::npos) results.erase(results.find('\n'));
  for (const std::string& tensor : Tensors(results)) program.outputs.push_back(ParseTensor(tensor));
  return program;
}

}  // namespace torch_tpu::fake_pjrt
