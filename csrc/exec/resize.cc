#include "exec/resize.h"

#include "exec/program_reader.h"

namespace torch_tpu::exec {
namespace {

class Reader : public ProgramReader {
 public:
  using ProgramReader::Get;
  using ProgramReader::GetDims;
  using ProgramReader::ProgramReader;
};

}  // namespace

std::string ResizeKey(DType dtype, const Dims& from, const Dims& to) {
  std::string bytes;
  const auto put = [&](const auto* values, size_t count) {
    bytes.append(reinterpret_cast<const char*>(values), count * sizeof(*values));
  };
  const Tag tag = Tag::kResize;
  put(&tag, 1);
  put(&dtype, 1);
  for (const Dims* dims : {&from, &to}) {
    const uint32_t rank = static_cast<uint32_t>(dims->size());
    put(&rank, 1);
    put(dims->data(), dims->size());
  }
  return bytes;
}

ResizeView::ResizeView(std::string_view bytes) {
  Reader reader(bytes);
  reader.Get<Tag>();
  dtype = reader.Get<DType>();
  from = reader.GetDims();
  to = reader.GetDims();
}

LoweredProgram LowerResize(std::string_view bytes, hlo::Builder& b) {
  const ResizeView view(bytes);
  b.SetLocation(kResizeName);
  hlo::Value x = b.Parameter({view.dtype, view.from});
  Dims kept, more;
  for (size_t i = 0; i < view.from.size(); ++i) {
    kept.push_back(std::min(view.from[i], view.to[i]));
    more.push_back(view.to[i] - kept[i]);
  }
  const Dims zeros(kept.size(), 0);
  x = b.Pad(b.Slice(x, zeros, kept), b.Constant(view.dtype, 0), zeros, more);
  b.SetResults({x});
  LoweredProgram program;
  program.name = kResizeName;
  program.outputs.push_back({x.type(), -1});
  ResultInfo& result = program.results.emplace_back();
  result.defined = true;
  result.output = 0;
  result.type = x.type();
  return program;
}

}  // namespace torch_tpu::exec
