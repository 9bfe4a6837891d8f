// Indexing whose result size depends on data: boolean masks, nonzero, unique, bincount. Rows do the
// work on padded shapes; one count comes back to the host.
#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <torch/library.h>

#include "eager/boxed_kernel.h"
#include "eager/overlap.h"
#include "eager/prefix.h"
#include "eager/row_call.h"
#include "eager/storage.h"

namespace torch_tpu::eager {
namespace {

using OptionalTensors = c10::List<std::optional<at::Tensor>>;

int Device(const at::Tensor& tensor) { return tensor.device().index(); }

bool IsMask(const at::Tensor& t) {
  return t.defined() && (t.scalar_type() == at::kBool || t.scalar_type() == at::kByte);
}

// Positions of the true elements, [numel, rank] with the count beside it.
at::Tensor Nonzero(const at::Tensor& self) {
  const std::vector<at::Tensor> r = RowCall("tpu::nonzero_padded", Device(self)).Tensor(self).Run();
  return Prefix(r[0], r[1].item<int64_t>());
}

at::Tensor& NonzeroOut(const at::Tensor& self, at::Tensor& out) {
  TORCH_CHECK(out.scalar_type() == at::kLong,
              "nonzero: Expected out tensor to have scalar type Long but got scalar type ",
              out.scalar_type());
  WriteOut(out, Nonzero(self));
  return out;
}

// Index tensors on the device, masks replaced by the positions they select, checked as PyTorch
// does.
std::vector<at::Tensor> ExpandIndices(const at::Tensor& self, const OptionalTensors& indices) {
  std::vector<at::Tensor> expanded;
  TORCH_CHECK_INDEX(static_cast<int64_t>(indices.size()) <= self.dim(),
                    "too many indices for tensor of dimension ", self.dim(), " (got ",
                    indices.size(), ")");
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::optional<at::Tensor> entry = indices.get(i);
    at::Tensor index = entry.value_or(at::Tensor());
    if (!index.defined()) {
      expanded.emplace_back();
      continue;
    }
    TORCH_CHECK_INDEX(
        index.scalar_type() == at::kLong || index.scalar_type() == at::kInt || IsMask(index),
        "tensors used as indices must be long, int, byte or bool tensors");
    TORCH_CHECK(index.device() == self.device() || index.is_cpu(), "indices should be either on ",
                at::kCPU, " or on the same device as the indexed tensor (", self.device(), ")");
    if (index.device() != self.device()) index = index.to(self.device());
    if (!IsMask(index)) {
      expanded.push_back(std::move(index));
      continue;
    }
    if (index.scalar_type() == at::kByte) {
      TORCH_WARN(
          "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
          "instead.");
    }
    for (int64_t d = 0; d < index.dim(); ++d) {
      const int64_t at = static_cast<int64_t>(expanded.size()) + d;
      TORCH_CHECK_INDEX(at < self.dim() && index.size(d) == self.size(at), "The shape of the mask ",
                        index.sizes(), " at index ", d,
                        " does not match the shape of the indexed tensor ", self.sizes(),
                        " at index ", at);
    }
    const at::Tensor positions = Nonzero(index);
    for (int64_t d = 0; d < index.dim(); ++d) expanded.push_back(positions.select(1, d));
  }
  TORCH_CHECK_INDEX(static_cast<int64_t>(expanded.size()) <= self.dim(),
                    "too many indices for tensor of dimension ", self.dim(), " (got ",
                    expanded.size(), ")");
  return expanded;
}

at::Tensor MaskedSelect(const at::Tensor& self, const at::Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == at::kByte || mask.scalar_type() == at::kBool,
              "masked_select: expected BoolTensor for mask");
  const at::Tensor on_device = mask.device() == self.device() ? mask : mask.to(self.device());
  auto [mask_b, self_b] = at::expand_outplace(on_device, self);
  const std::vector<at::Tensor> r = RowCall("tpu::masked_select_padded", Device(self))
                                        .Tensor(*self_b)
                                        .Tensor(mask_b->to(at::kBool))
                                        .Run();
  return Prefix(r[0], r[1].item<int64_t>());
}

// x[mask] of x's own shape needs no positions, and so no program for their number.
bool IsMaskedSelect(const at::Tensor& self, const OptionalTensors& indices) {
  if (indices.size() != 1 || self.dim() == 0) return false;
  const std::optional<at::Tensor> mask = indices.get(0);
  return mask && mask->defined() && mask->scalar_type() == at::kBool &&
         mask->device() == self.device() && mask->sizes() == self.sizes();
}

at::Tensor Index(const at::Tensor& self, const OptionalTensors& indices) {
  if (IsMaskedSelect(self, indices)) return MaskedSelect(self, *indices.get(0));
  return RowCall("aten::index.Tensor", Device(self))
      .Tensor(self)
      .Tensors(ExpandIndices(self, indices))
      .Run()[0];
}

at::Tensor& IndexOut(const at::Tensor& self, const OptionalTensors& indices, at::Tensor& out) {
  WriteOut(out, Index(self, indices));
  return out;
}

// x[mask] = number needs no positions.
bool IsMaskedFill(const at::Tensor& self, const OptionalTensors& indices, const at::Tensor& values,
                  bool accumulate) {
  if (accumulate || values.numel() != 1 || indices.size() == 0) return false;
  const std::optional<at::Tensor> first = indices.get(0);
  if (!first || !IsMask(*first) || first->scalar_type() != at::kBool) return false;
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices.get(i) && indices.get(i)->defined()) return false;
  }
  return first->dim() <= self.dim() && self.sizes().slice(0, first->dim()) == first->sizes();
}

at::Tensor& IndexPut(at::Tensor& self, const OptionalTensors& indices, const at::Tensor& values,
                     bool accumulate, bool unsafe) {
  TORCH_CHECK_INDEX(self.scalar_type() == values.scalar_type(),
                    "Index put requires the source and destination dtypes match, got ",
                    self.scalar_type(), " for the destination and ", values.scalar_type(),
                    " for the source.");
  at::Tensor value = values;
  if (value.device() != self.device()) {
    TORCH_CHECK(value.is_cpu() && value.numel() == 1 && value.dim() == 0,
                "expected the values on the same device as self (", self.device(), "), got ",
                value.device());
    value = value.to(self.device());
  }
  if (IsMaskedFill(self, indices, value, accumulate)) {
    at::Tensor mask = indices.get(0)->to(self.device());
    for (int64_t d = mask.dim(); d < self.dim(); ++d) mask = mask.unsqueeze(-1);
    return self.masked_fill_(mask, value.dim() == 0 ? value : value.reshape({}));
  }
  const std::vector<at::Tensor> positions = ExpandIndices(self, indices);
  CheckOverlap(self, {value, positions}, /*disjoint=*/true);
  RowCall("aten::index_put", Device(self))
      .Tensor(self)
      .Tensors(positions)
      .Tensor(value)
      .Bool(accumulate)
      .RunInto(self);
  return self;
}

at::Tensor& IndexPutInPlace(at::Tensor& self, const OptionalTensors& indices,
                            const at::Tensor& values, bool accumulate) {
  return IndexPut(self, indices, values, accumulate, /*unsafe=*/false);
}

at::Tensor IndexPutCopy(const at::Tensor& self, const OptionalTensors& indices,
                        const at::Tensor& values, bool accumulate) {
  at::Tensor copy = self.clone(at::MemoryFormat::Preserve);
  return IndexPut(copy, indices, values, accumulate, /*unsafe=*/false);
}

at::Tensor& MaskedSelectOut(const at::Tensor& self, const at::Tensor& mask, at::Tensor& out) {
  TORCH_CHECK(self.scalar_type() == out.scalar_type(),
              "masked_select(): self and result must have the same scalar type");
  WriteOut(out, MaskedSelect(self, mask));
  return out;
}

bool Equal(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.device() == other.device(),
              "Expected all tensors to be on the same device, but found at least two devices, ",
              self.device(), " and ", other.device(), "!");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "Expected object of data type ",
              self.dtype(), " but got data type ", other.dtype(),
              " for argument 'other' in call to equal");
  if (self.sizes() != other.sizes()) return false;
  if (self.numel() == 0) return true;
  return at::eq(self, other).all().item<bool>();
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("nonzero", Nonzero);
  m.impl("nonzero.out", NonzeroOut);
  m.impl("index.Tensor", Index);
  m.impl("index.Tensor_out", IndexOut);
  m.impl("_index_put_impl_", IndexPut);
  m.impl("index_put_", IndexPutInPlace);
  m.impl("index_put", IndexPutCopy);
  m.impl("masked_select", MaskedSelect);
  m.impl("masked_select.out", MaskedSelectOut);
  m.impl("equal", Equal);
}

}  // namespace torch_tpu::eager
