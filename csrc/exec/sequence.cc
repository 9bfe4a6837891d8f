#include "exec/sequence.h"

#include <c10/util/Exception.h>

#include <cstring>

namespace torch_tpu::exec {
namespace {

void Put(std::string& bytes, uint32_t word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

void PutText(std::string& bytes, std::string_view text) {
  Put(bytes, static_cast<uint32_t>(text.size()));
  bytes += text;
}

void PutWords(std::string& bytes, c10::ArrayRef<uint32_t> words) {
  Put(bytes, static_cast<uint32_t>(words.size()));
  for (uint32_t word : words) Put(bytes, word);
}

void PutTypes(std::string& bytes, c10::ArrayRef<hlo::Type> types) {
  Put(bytes, static_cast<uint32_t>(types.size()));
  for (const hlo::Type& type : types) {
    bytes.push_back(static_cast<char>(type.dtype));
    Put(bytes, static_cast<uint32_t>(type.dims.size()));
    bytes.append(reinterpret_cast<const char*>(type.dims.data()),
                 type.dims.size() * sizeof(int64_t));
  }
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    T value;
    TORCH_INTERNAL_ASSERT(at_ + sizeof(value) <= bytes_.size());
    std::memcpy(&value, bytes_.data() + at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  uint32_t Word() { return Get<uint32_t>(); }
  std::string_view Text() {
    const uint32_t size = Word();
    TORCH_INTERNAL_ASSERT(at_ + size <= bytes_.size());
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  // `places`: where each one's dims stand.
  std::vector<hlo::Type> Types(std::vector<std::string_view>* places = nullptr) {
    std::vector<hlo::Type> types(Word());
    for (hlo::Type& type : types) {
      type.dtype = Get<DType>();
      type.dims.resize(Word());
      if (places != nullptr) {
        places->push_back(bytes_.substr(at_, type.dims.size() * sizeof(int64_t)));
      }
      for (int64_t& dim : type.dims) dim = Get<int64_t>();
    }
    return types;
  }
  std::vector<uint32_t> Words() {
    std::vector<uint32_t> words(Word());
    for (uint32_t& word : words) word = Word();
    return words;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 1;  // after the tag
};

}  // namespace

const char* RegionKindName(RegionKind kind) {
  switch (kind) {
    case RegionKind::kIf:
      return "cond";
    case RegionKind::kWhile:
      return "while_loop";
    case RegionKind::kScan:
      return "scan";
  }
  TORCH_INTERNAL_ASSERT(false);
}

std::string RegionCall::Bytes() const {
  std::string bytes;
  bytes.push_back(static_cast<char>(Tag::kRegions));
  bytes.push_back(static_cast<char>(kind));
  Put(bytes, num_given);
  Put(bytes, num_carried);
  Put(bytes, length);
  PutTypes(bytes, stacked);
  Put(bytes, static_cast<uint32_t>(regions.size()));
  for (const Region& region : regions) {
    PutText(bytes, region.bytes);
    PutWords(bytes, region.externals);
  }
  return bytes;
}

RegionCall RegionCall::Parse(std::string_view bytes) {
  Reader reader(bytes);
  RegionCall call;
  call.kind = reader.Get<RegionKind>();
  call.num_given = reader.Word();
  call.num_carried = reader.Word();
  call.length = reader.Word();
  call.stacked = reader.Types();
  call.regions.resize(reader.Word());
  for (Region& region : call.regions) {
    region.bytes = reader.Text();
    region.externals = reader.Words();
  }
  return call;
}

SequenceWriter::SequenceWriter(c10::ArrayRef<hlo::Type> externals, size_t num_calls,
                               size_t num_outputs, OperandCounts operands, bool guarded) {
  bytes_.push_back(static_cast<char>(Tag::kSequence));
  PutTypes(bytes_, externals);
  Put(bytes_, static_cast<uint32_t>(num_calls));
  Put(bytes_, static_cast<uint32_t>(num_outputs));
  Put(bytes_, operands.ints);
  Put(bytes_, operands.doubles);
  Put(bytes_, guarded);
}

void SequenceWriter::Call(std::string_view bytes, c10::ArrayRef<uint32_t> bases) {
  PutText(bytes_, bytes);
  PutWords(bytes_, bases);
}

void SequenceWriter::Output(uint32_t value, int replaces) {
  Put(bytes_, value);
  Put(bytes_, static_cast<uint32_t>(replaces));
}

SequenceView::SequenceView(std::string_view bytes) {
  Reader reader(bytes);
  externals = reader.Types(&external_dims);
  calls.resize(reader.Word());
  outputs.resize(reader.Word());
  operands.ints = reader.Word();
  operands.doubles = reader.Word();
  guarded = reader.Word() != 0;
  for (Call& call : calls) {
    call.bytes = reader.Text();
    call.bases = reader.Words();
  }
  for (Output& output : outputs) {
    output.value = reader.Word();
    output.replaces = static_cast<int>(reader.Word());
  }
}

}  // namespace torch_tpu::exec
