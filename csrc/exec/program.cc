#include "exec/program.h"

#include <c10/util/Exception.h>

namespace torch_tpu::exec {

ViewPlan PlanOver(const hlo::Type& base, DType dtype, IntArrayRef sizes, IntArrayRef strides) {
  if (base.dtype == dtype) return PlanView(base.dims, sizes, strides);
  return PlanView({BytesOf(base) / static_cast<int64_t>(c10::elementSize(dtype))}, sizes, strides);
}

void ProgramWriter::PushNumber(const c10::Scalar& value) {
  if (value.isComplex()) {
    const auto z = value.toComplexDouble();
    doubles_.push_back(z.real());
    doubles_.push_back(z.imag());
  } else if (value.isFloatingPoint()) {
    doubles_.push_back(value.toDouble());
  } else if (value.type() == DType::UInt64) {
    ints_.push_back(static_cast<int64_t>(value.toUInt64()));
  } else {
    ints_.push_back(value.isBoolean() ? value.toBool() : value.toLong());
  }
}

void ProgramWriter::Number(const c10::Scalar& value, bool is_static) {
  const DType kind = value.isBoolean()         ? DType::Bool
                     : value.isComplex()       ? DType::ComplexDouble
                     : value.isFloatingPoint() ? DType::Double
                                               : DType::Long;
  if (!is_static) {
    Put(Tag::kNumber, kind);
    PushNumber(value);
  } else if (kind == DType::ComplexDouble) {
    const auto z = value.toComplexDouble();
    Put(Tag::kStaticNumber, kind, z.real(), z.imag());
  } else if (kind == DType::Double) {
    Put(Tag::kStaticNumber, kind, value.toDouble());
  } else {
    Put(Tag::kStaticNumber, kind, kind == DType::Bool ? int64_t{value.toBool()} : value.toLong());
  }
}

void ProgramWriter::String(std::string_view text) {
  PutList(Tag::kString, c10::ArrayRef<char>(text.data(), text.size()));
}

void ProgramWriter::Random(uint64_t seed, uint64_t offset, uint64_t count) {
  Put(Tag::kRandom);
  randoms_.push_back({static_cast<int>(ints_.size()), count});
  ints_.push_back(static_cast<int64_t>(seed));
  ints_.push_back(static_cast<int64_t>(offset));
}

void ProgramWriter::View(const TensorView& view) {
  size_t slot = 0;
  while (slot < inputs_.size() && inputs_[slot].storage != view.storage) ++slot;
  if (slot < inputs_.size()) {
    Put(Tag::kOldInput, static_cast<uint16_t>(slot));
  } else {
    Input input{view.storage, view.storage->Load(), {}};
    const bool unwritten = input.buffer == nullptr;
    if (!unwritten) {
      input.type = input.buffer->type();
    } else {
      input.type.dtype = view.dtype;
      const int64_t item = static_cast<int64_t>(c10::elementSize(view.dtype));
      const int64_t elements = view.storage_bytes / item;
      if (view.offset == 0 && NumElements(view.sizes) == elements &&
          IsRowMajor(view.sizes, view.strides)) {
        input.type.dims = Dims(view.sizes);
      } else {
        input.type.dims = {elements};
      }
    }
    Put(unwritten ? Tag::kUnwrittenInput : Tag::kNewInput, input.type.dtype);
    PutList(Tag::kInts, IntArrayRef(input.type.dims));
    inputs_.push_back(std::move(input));
  }
  const hlo::Type& base = inputs_[slot].type;
  Put(view.dtype);
  const bool same_type = base.dtype == view.dtype;
  const bool row_major = view.offset == 0 && IsRowMajor(view.sizes, view.strides);
  if (same_type && row_major && IntArrayRef(base.dims) == view.sizes) {
    Put(Tag::kWhole);
    return;
  }
  const int64_t elements = BytesOf(base) / static_cast<int64_t>(c10::elementSize(view.dtype));
  if (row_major && NumElements(view.sizes) == elements) {
    PutList(Tag::kReshaped, view.sizes);
    return;
  }
  const ViewPlan plan = PlanOver(base, view.dtype, view.sizes, view.strides);
  const bool slices = plan.slices && plan.Fits(view.offset);
  PutList(slices ? Tag::kSliced : Tag::kGathered, view.sizes);
  PutList(Tag::kInts, view.strides);
  if (slices && !plan.dynamic) return;
  view_offsets_.push_back({static_cast<int>(ints_.size()), static_cast<int>(slot)});
  ints_.push_back(view.offset);
}

}  // namespace torch_tpu::exec
