#include "compile/region.h"

#include <ATen/ops/clone.h>

#include "eager/storage.h"

namespace torch_tpu::compile {
namespace {

using exec::BufferRef;
using exec::Recording;
using exec::RegionKind;
using hlo::Type;

exec::Recording& CurrentRecording() {
  exec::Recording* recording = Recording::Current();
  TORCH_CHECK(recording != nullptr, "region: expected a graph under trace, got none");
  return *recording;
}

// The array of the tensor, which is all of it and row-major.
BufferRef WholeArray(const at::Tensor& given) {
  TORCH_CHECK(eager::OnDevice(given), "region: expected a tensor on tpu, got one on ",
              given.device());
  at::Tensor tensor = given.resolve_conj().resolve_neg();
  BufferRef buffer = eager::StorageOf(tensor).Load();
  const Type type{tensor.scalar_type(), Dims(tensor.sizes())};
  if (buffer == nullptr || !(buffer->type() == type) || !tensor.is_contiguous() ||
      tensor.storage_offset() != 0) {
    tensor = tensor.clone(at::MemoryFormat::Contiguous);
    buffer = eager::StorageOf(tensor).Load();
    TORCH_INTERNAL_ASSERT(buffer != nullptr && buffer->type() == type);
  }
  return buffer;
}

std::vector<BufferRef> WholeArrays(const std::vector<at::Tensor>& tensors) {
  std::vector<BufferRef> arrays;
  for (const at::Tensor& tensor : tensors) arrays.push_back(WholeArray(tensor));
  return arrays;
}

at::Tensor TensorOf(const BufferRef& buffer) { return eager::Wrap(buffer, buffer->type().dims); }

std::vector<at::Tensor> Add(RegionKind kind, const std::vector<BufferRef>& given, size_t carried,
                            int64_t length, std::initializer_list<const Region*> regions,
                            const std::vector<Type>& types) {
  std::vector<Recording::Region> recorded;
  for (const Region* region : regions) recorded.push_back(region->recorded());
  std::vector<at::Tensor> results;
  for (const BufferRef& buffer : CurrentRecording().AddRegions(
           kind, given, static_cast<int>(carried), length, recorded, types)) {
    results.push_back(TensorOf(buffer));
  }
  return results;
}

std::string Text(c10::ArrayRef<Type> types) {
  std::string text;
  for (const Type& type : types) {
    text += (text.empty() ? "" : ", ") + std::string(DTypeName(type.dtype)) + ToString(type.dims);
  }
  return "(" + text + ")";
}

std::vector<Type> TypesOf(const std::vector<BufferRef>& arrays) {
  std::vector<Type> types;
  for (const BufferRef& array : arrays) types.push_back(array->type());
  return types;
}

}  // namespace

std::vector<at::Tensor> Region::Begin(const std::vector<at::Tensor>& carried,
                                      const std::vector<at::Tensor>& rows) {
  Recording& outer = CurrentRecording();
  recorded_.recording = std::make_shared<Recording>(outer.device(), outer.shared_from_this());
  std::vector<at::Tensor> stand_ins;
  const auto add = [&](const at::Tensor& like, IntArrayRef sizes) {
    const int index = static_cast<int>(stand_ins.size());
    stand_ins.push_back(
        TensorOf(recorded_.recording->Placeholder({like.scalar_type(), Dims(sizes)}, index)));
  };
  for (const at::Tensor& tensor : carried) add(tensor, tensor.sizes());
  for (const at::Tensor& tensor : rows) add(tensor, tensor.sizes().slice(1));
  scope_ = std::make_unique<Recording::Scope>(recorded_.recording);
  return stand_ins;
}

void Region::End(const std::vector<at::Tensor>& results) {
  TORCH_CHECK(scope_ != nullptr, "region: expected Begin before End");
  recorded_.results = WholeArrays(results);
  scope_.reset();
}

std::vector<Type> Region::result_types() const { return TypesOf(recorded_.results); }

std::vector<at::Tensor> AddCond(const at::Tensor& predicate, const Region& on_true,
                                const Region& on_false) {
  const std::vector<Type> types = on_true.result_types();
  TORCH_CHECK(types == on_false.result_types(), "cond: expected results of the same types, got ",
              Text(types), " and ", Text(on_false.result_types()));
  TORCH_CHECK(predicate.numel() == 1, "cond: expected a predicate of one element, got one of ",
              predicate.sizes());
  const at::Tensor scalar = predicate.to(DType::Bool).reshape({});
  return Add(RegionKind::kIf, {WholeArray(scalar)}, 0, 0, {&on_true, &on_false}, types);
}

std::vector<at::Tensor> AddWhile(const std::vector<at::Tensor>& carried, const Region& condition,
                                 const Region& body) {
  const std::vector<BufferRef> given = WholeArrays(carried);
  const std::vector<Type> types = TypesOf(given), flag{{DType::Bool, {}}};
  TORCH_CHECK(types == body.result_types(), "while_loop: expected a body that gives ", Text(types),
              ", as it is given, got ", Text(body.result_types()));
  TORCH_CHECK(condition.result_types() == flag, "while_loop: expected a condition that gives ",
              Text(flag), ", got ", Text(condition.result_types()));
  return Add(RegionKind::kWhile, given, given.size(), 0, {&condition, &body}, types);
}

std::vector<at::Tensor> AddScan(const std::vector<at::Tensor>& carried,
                                const std::vector<at::Tensor>& rows, const Region& body) {
  TORCH_CHECK(!rows.empty(), "scan: expected at least one tensor to scan, got none");
  std::vector<BufferRef> given = WholeArrays(carried);
  std::vector<Type> types = TypesOf(given);
  const std::vector<Type> results = body.result_types();
  TORCH_CHECK(
      results.size() >= types.size() && std::equal(types.begin(), types.end(), results.begin()),
      "scan: expected a body that gives first ", Text(types), ", as it is given, got ",
      Text(results));
  const int64_t length = rows[0].size(0);
  for (size_t i = types.size(); i < results.size(); ++i) {
    Type stacked = results[i];
    stacked.dims.insert(stacked.dims.begin(), length);
    types.push_back(std::move(stacked));
  }
  for (const at::Tensor& tensor : rows) given.push_back(WholeArray(tensor));
  return Add(RegionKind::kScan, given, carried.size(), length, {&body}, types);
}

}  // namespace torch_tpu::compile
