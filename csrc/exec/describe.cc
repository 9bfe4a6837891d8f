#include "exec/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "exec/program_reader.h"
#include "exec/resize.h"
#include "exec/sequence.h"
#include "lowering/registry.h"

namespace torch_tpu::exec {
namespace {

constexpr size_t kMaxCallsInText = 8;

std::string TypeText(DType dtype, IntArrayRef dims) { return DTypeName(dtype) + ToString(dims); }

class Describer : private ProgramReader {
 public:
  explicit Describer(std::string_view bytes) : ProgramReader(bytes) {}

  ProgramDescription Run() {
    while (!AtEnd()) {
      const Tag tag = Get<Tag>();
      if (tag == Tag::kCall) {
        Call();
        continue;
      }
      const std::string place = fmt::format("result {}", Get<uint16_t>());
      if (tag == Tag::kWrite) {
        Add(place, "written into " + View());
      } else {
        Add(place, "laid out as " + ToString(GetTaggedDims()));
      }
    }
    const size_t shown = std::min(calls_.size(), kMaxCallsInText);
    result_.text = fmt::format("{}", fmt::join(calls_.begin(), calls_.begin() + shown, "; "));
    if (shown < calls_.size()) {
      result_.text += fmt::format("; and {} more calls", calls_.size() - shown);
    }
    return std::move(result_);
  }

 private:
  void Add(std::string place, std::string what) {
    result_.items.push_back({std::move(place), std::move(what)});
  }

  void Call() {
    const lowering::OpRow& row = lowering::Rows()[Get<uint16_t>()];
    if (calls_.empty()) result_.op = row.name;
    const std::string of = calls_.empty() ? "" : fmt::format(" of call {}", calls_.size());
    if (!calls_.empty()) Add("call" + of, row.name);
    std::vector<std::string> args;
    for (Tag tag = Get<Tag>(); tag != Tag::kEnd; tag = Get<Tag>()) {
      const size_t before = result_.items.size();
      if (tag == Tag::kRandom) {
        Add("random state" + of, "given");
      } else if (tag == Tag::kDefaultDtype) {
        Add("default dtype" + of, DTypeName(Get<DType>()));
      } else if (tag == Tag::kPrecision) {
        static constexpr const char* kNames[] = {"default", "high", "highest"};
        Add("precision" + of, kNames[static_cast<int>(Get<hlo::Precision>())]);
      } else if (tag == Tag::kExcessPrecision) {
        Add("excess precision" + of, "allowed");
      } else {
        const std::string place = fmt::format("argument {}{}", args.size(), of);
        Argument(tag, place);
        std::vector<std::string> parts;
        for (size_t i = before; i < result_.items.size(); ++i) {
          parts.push_back(result_.items[i].what);
        }
        const bool is_list = tag == Tag::kTensors || tag == Tag::kNumbers;
        args.push_back(fmt::format(fmt::runtime(is_list ? "[{}]" : "{}"), fmt::join(parts, ", ")));
      }
    }
    calls_.push_back(fmt::format("{}({})", row.name, fmt::join(args, ", ")));
  }

  void Argument(Tag tag, const std::string& place) {
    switch (tag) {
      case Tag::kNone:
        return Add(place, "None");
      case Tag::kTensor:
        return Add(place, View());
      case Tag::kWrappedTensor:
        return Add(place, View() + " from a Python number");
      case Tag::kTensors:
      case Tag::kNumbers: {
        const uint32_t count = Get<uint32_t>();
        for (uint32_t i = 0; i < count; ++i) {
          Argument(Get<Tag>(), fmt::format("item {} of {}", i, place));
        }
        return;
      }
      case Tag::kInt:
        return Add(place, fmt::format("{}", Get<int64_t>()));
      case Tag::kInts:
        return Add(place, ToString(GetDims()));
      case Tag::kBool:
        return Add(place, Get<bool>() ? "True" : "False");
      case Tag::kBools: {
        const auto list = GetList<char>();
        return Add(place, ToString(Dims(list.begin(), list.end())));
      }
      case Tag::kDoubles:
        return Add(place, fmt::format("[{}]", fmt::join(GetList<double>(), ", ")));
      case Tag::kDtype:
        return Add(place, DTypeName(Get<DType>()));
      case Tag::kString: {
        const auto list = GetList<char>();
        return Add(place, fmt::format("'{}'", std::string_view(list.data(), list.size())));
      }
      case Tag::kStaticNumber:
        return Add(place, StaticNumber());
      case Tag::kNumber:
        return Add(place, DTypeName(Get<DType>()) + " number");
      default:
        TORCH_INTERNAL_ASSERT(false, "unknown tag ", static_cast<int>(tag));
    }
  }

  std::string StaticNumber() {
    const DType kind = Get<DType>();
    if (kind == DType::ComplexDouble) {
      const double real = Get<double>(), imag = Get<double>();
      return fmt::format("{}{:+}j", real, imag);
    }
    if (kind == DType::Double) return fmt::format("{}", Get<double>());
    const int64_t value = Get<int64_t>();
    return kind == DType::Bool ? (value != 0 ? "True" : "False") : fmt::format("{}", value);
  }

  std::string View() {
    const Tag where = Get<Tag>();
    if (where == Tag::kOperand) return DTypeName(Get<DType>()) + " number";
    std::string suffix;
    size_t slot = inputs_.size();
    if (where == Tag::kOldInput) {
      slot = Get<uint16_t>();
      suffix = fmt::format(" of storage {}", slot);
    } else {
      hlo::Type type;
      type.dtype = Get<DType>();
      type.dims = GetTaggedDims();
      inputs_.push_back(std::move(type));
      if (where == Tag::kUnwrittenInput) suffix = " never written";
    }
    const hlo::Type& base = inputs_[slot];
    const DType dtype = Get<DType>();
    const Tag kind = Get<Tag>();
    if (kind == Tag::kWhole) return TypeText(dtype, base.dims) + suffix;
    const Dims sizes = GetDims();
    std::string text = TypeText(dtype, sizes);
    if (kind != Tag::kReshaped) {
      text += fmt::format(" with strides {}{}", ToString(GetTaggedDims()),
                          kind == Tag::kGathered ? " (gathered)" : "");
    }
    return text + " over " + TypeText(base.dtype, base.dims) + suffix;
  }

  ProgramDescription result_;
  std::vector<std::string> calls_;
  std::vector<hlo::Type> inputs_;
};

ProgramDescription DescribeSequence(const SequenceView& sequence) {
  ProgramDescription graph;
  graph.op = "graph";
  std::vector<std::string> shown;
  for (size_t i = 0; i < sequence.calls.size(); ++i) {
    std::string text = Describe(sequence.calls[i].bytes).text;
    if (i < kMaxCallsInText) shown.push_back(text);
    graph.items.push_back({fmt::format("call {}", i), std::move(text)});
  }
  graph.text = fmt::format("graph of {} ops: {}", sequence.calls.size(), fmt::join(shown, "; "));
  if (shown.size() < sequence.calls.size()) {
    graph.text += fmt::format("; and {} more calls", sequence.calls.size() - shown.size());
  }
  return graph;
}

ProgramDescription DescribeRegions(const RegionCall& call) {
  ProgramDescription regions;
  regions.op = RegionKindName(call.kind);
  std::vector<std::string> texts;
  for (const RegionCall::Region& region : call.regions) {
    texts.push_back("{" + DescribeSequence(SequenceView(region.bytes)).text + "}");
  }
  regions.text = fmt::format("{}({})", regions.op, fmt::join(texts, ", "));
  return regions;
}

}  // namespace

ProgramDescription Describe(std::string_view program_bytes) {
  if (SequenceView::Is(program_bytes)) return DescribeSequence(SequenceView(program_bytes));
  if (RegionCall::Is(program_bytes)) return DescribeRegions(RegionCall::Parse(program_bytes));
  if (ResizeView::Is(program_bytes)) {
    const ResizeView resize(program_bytes);
    const std::string from = TypeText(resize.dtype, resize.from), to = ToString(resize.to);
    return {kResizeName,
            fmt::format("{}({}, {})", kResizeName, from, to),
            {{"argument 0", from}, {"argument 1", to}}};
  }
  return Describer(program_bytes).Run();
}

}  // namespace torch_tpu::exec
