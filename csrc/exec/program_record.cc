#include "exec/program_record.h"

#include <cstring>
#include <type_traits>

namespace torch_tpu::exec {
namespace {

template <typename T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Writer {
 public:
  template <Plain T>
  void operator()(T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  uint64_t Size(size_t size) {
    uint64_t count = size;
    (*this)(count);
    return count;
  }
  std::string bytes;
};

struct Truncated {};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <Plain T>
  void operator()(T& value) {
    if (bytes_.size() < sizeof(T)) throw Truncated();
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
  }
  uint64_t Size(size_t) {
    uint64_t count = 0;
    (*this)(count);
    if (count > bytes_.size()) throw Truncated();  // every item takes a byte at least
    return count;
  }
  bool AtEnd() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

// One list of fields for both directions. The structured bindings do not compile when a struct has
// a field that is missing here.
template <class Archive, Plain T>
void Field(Archive& archive, T& value) {
  archive(value);
}

template <class Archive>
void Field(Archive& archive, hlo::Type& type);
template <class Archive>
void Field(Archive& archive, ResultInfo& info);
template <class Archive>
void Field(Archive& archive, LoweredProgram::Output& output);
template <class Archive>
void Field(Archive& archive, CheckMessage& message);

template <class Archive, class List>
  requires requires(List& list) { list.resize(1), list[0]; }
void Field(Archive& archive, List& list) {
  list.resize(archive.Size(list.size()));
  for (auto& item : list) Field(archive, item);
}

template <class Archive, class... T>
void Fields(Archive& archive, T&... fields) {
  (Field(archive, fields), ...);
}

template <class Archive>
void Field(Archive& archive, hlo::Type& type) {
  auto& [dtype, dims] = type;
  Fields(archive, dtype, dims);
}

template <class Archive>
void Field(Archive& archive, ResultInfo& info) {
  auto& [defined, written_input, output, type, permutation] = info;
  Fields(archive, defined, written_input, output, type, permutation);
}

template <class Archive>
void Field(Archive& archive, LoweredProgram::Output& output) {
  auto& [type, written_input] = output;
  Fields(archive, type, written_input);
}

template <class Archive>
void Field(Archive& archive, CheckMessage& message) {
  auto& [text, index_error] = message;
  Fields(archive, text, index_error);
}

template <class Archive>
void Field(Archive& archive, ProgramRecord& record) {
  auto& [key, executable, description, compile_seconds, program] = record;
  // The text and the options that follow from it have done their work in the executable.
  auto& [name, text, results, outputs, excess_precision, use_xnnpack, check_messages] = program;
  Fields(archive, key, executable, description, compile_seconds, name, results, outputs,
         excess_precision, use_xnnpack, check_messages);
}

}  // namespace

std::string Serialize(ProgramRecord record) {
  Writer writer;
  Field(writer, record);
  return std::move(writer.bytes);
}

std::optional<ProgramRecord> ParseProgramRecord(std::string_view bytes) {
  Reader reader(bytes);
  ProgramRecord record;
  try {
    Field(reader, record);
  } catch (const Truncated&) {
    return std::nullopt;
  }
  if (!reader.AtEnd()) return std::nullopt;
  return record;
}

}  // namespace torch_tpu::exec
