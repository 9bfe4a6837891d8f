#include "exec/sequence.h"

#include <c10/util/Exception.h>

#include <cstring>

namespace torch_tpu::exec {

void SequenceWriter::Put(uint32_t word) {
  bytes_.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

SequenceWriter::SequenceWriter(size_t num_externals, size_t num_calls, size_t num_outputs,
                               bool guarded) {
  bytes_.push_back(static_cast<char>(Tag::kSequence));
  Put(static_cast<uint32_t>(num_externals));
  Put(static_cast<uint32_t>(num_calls));
  Put(static_cast<uint32_t>(num_outputs));
  Put(guarded);
}

void SequenceWriter::Call(std::string_view bytes, c10::ArrayRef<uint32_t> bases) {
  Put(static_cast<uint32_t>(bytes.size()));
  bytes_ += bytes;
  Put(static_cast<uint32_t>(bases.size()));
  for (uint32_t base : bases) Put(base);
}

void SequenceWriter::Output(uint32_t value, int replaces) {
  Put(value);
  Put(static_cast<uint32_t>(replaces));
}

SequenceView::SequenceView(std::string_view bytes) {
  size_t at = 1;
  const auto word = [&] {
    uint32_t value;
    TORCH_INTERNAL_ASSERT(at + sizeof(value) <= bytes.size());
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    at += sizeof(value);
    return value;
  };
  num_externals = word();
  calls.resize(word());
  outputs.resize(word());
  guarded = word() != 0;
  for (Call& call : calls) {
    const uint32_t size = word();
    call.bytes = bytes.substr(at, size);
    at += size;
    call.bases.resize(word());
    for (uint32_t& base : call.bases) base = word();
  }
  for (Output& output : outputs) {
    output.value = word();
    output.replaces = static_cast<int>(word());
  }
  TORCH_INTERNAL_ASSERT(at == bytes.size());
}

}  // namespace torch_tpu::exec
