#include "exec/shape_fields.h"

#include <algorithm>
#include <cstring>

#include "exec/program_reader.h"
#include "exec/sequence.h"

namespace torch_tpu::exec {
namespace {

class Finder : private ProgramReader {
 public:
  // `start`: where the bytes stand in the whole program.
  Finder(std::string_view bytes, size_t start, ShapeFields& fields)
      : ProgramReader(bytes), start_(start), fields_(fields) {
    while (!AtEnd()) {
      const Tag tag = Get<Tag>();
      if (tag == Tag::kCall) {
        Get<uint16_t>();
        for (Tag arg = Get<Tag>(); arg != Tag::kEnd; arg = Get<Tag>()) Argument(arg);
        continue;
      }
      Get<uint16_t>();
      if (tag == Tag::kWrite) {
        View();
      } else {
        TORCH_INTERNAL_ASSERT(tag == Tag::kLayout);
        GetTaggedDims();
      }
    }
  }

 private:
  void Numbers() {
    for (uint32_t n = Get<uint32_t>(); n > 0; --n) Number();
  }
  void Number() {
    fields_.positions.push_back(static_cast<uint32_t>(start_ + at_));
    fields_.values.push_back(Get<int64_t>());
  }
  void TaggedNumbers() {
    Get<Tag>();
    Numbers();
  }

  void View() {
    const Tag where = Get<Tag>();
    if (where == Tag::kOperand) {
      Get<DType>();
      return;
    }
    if (where == Tag::kOldInput) {
      Get<uint16_t>();
    } else {
      Get<DType>();
      TaggedNumbers();
    }
    Get<DType>();
    const Tag kind = Get<Tag>();
    if (kind == Tag::kWhole) return;
    Numbers();
    if (kind != Tag::kReshaped) TaggedNumbers();
  }

  void Argument(Tag tag) {
    switch (tag) {
      case Tag::kNone:
      case Tag::kRandom:
      case Tag::kExcessPrecision:
        return;
      case Tag::kTensor:
      case Tag::kWrappedTensor:
        return View();
      case Tag::kTensors:
      case Tag::kNumbers:
        for (uint32_t n = Get<uint32_t>(); n > 0; --n) Argument(Get<Tag>());
        return;
      case Tag::kInt:
        return Number();
      case Tag::kInts:
        return Numbers();
      case Tag::kBool:
        Get<bool>();
        return;
      case Tag::kBools:
      case Tag::kString:
        GetList<char>();
        return;
      case Tag::kDoubles:
        GetList<double>();
        return;
      case Tag::kDtype:
      case Tag::kDefaultDtype:
      case Tag::kNumber:
        Get<DType>();
        return;
      case Tag::kPrecision:
        Get<hlo::Precision>();
        return;
      case Tag::kStaticNumber:
        at_ += Get<DType>() == DType::ComplexDouble ? 16 : 8;
        return;
      default:
        TORCH_INTERNAL_ASSERT(false, "unknown tag ", static_cast<int>(tag));
    }
  }

  size_t start_;
  ShapeFields& fields_;
};

}  // namespace

ShapeFields::ShapeFields(std::string_view bytes) : rest(bytes) {
  if (SequenceView::Is(bytes)) {
    const SequenceView sequence(bytes);
    // The sizes of branches and loops are not looked for.
    if (std::any_of(sequence.calls.begin(), sequence.calls.end(),
                    [](const auto& call) { return RegionCall::Is(call.bytes); })) {
      return;
    }
    for (size_t i = 0; i < sequence.externals.size(); ++i) {
      const size_t start = sequence.external_dims[i].data() - bytes.data();
      for (size_t d = 0; d < sequence.externals[i].dims.size(); ++d) {
        positions.push_back(static_cast<uint32_t>(start + d * sizeof(int64_t)));
        values.push_back(sequence.externals[i].dims[d]);
      }
    }
    for (const SequenceView::Call& call : sequence.calls) {
      Finder(call.bytes, call.bytes.data() - bytes.data(), *this);
    }
  } else {
    Finder(bytes, 0, *this);
  }
  for (uint32_t position : positions) std::memset(rest.data() + position, 0, sizeof(int64_t));
}

std::string ShapeFields::With(const std::vector<int64_t>& numbers) const {
  std::string bytes = rest;
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(bytes.data() + positions[i], &numbers[i], sizeof(int64_t));
  }
  return bytes;
}

}  // namespace torch_tpu::exec
