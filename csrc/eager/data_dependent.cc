// Ops whose result size depends on the data: rows compute padded results and a count; the count
// comes back to the host, and the results are prefixes of padded storages.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <cmath>

#include "eager/prefix.h"
#include "eager/row_call.h"
#include "eager/storage.h"

namespace torch_tpu::eager {
namespace {

using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

int Device(const at::Tensor& tensor) { return tensor.device().index(); }

Three Unique(const at::Tensor& self, std::optional<int64_t> dim, bool consecutive,
             bool return_inverse, bool return_counts) {
  RowCall call("tpu::unique_padded", Device(self));
  call.Tensor(self);
  dim ? call.Int(*dim) : call.None();
  const std::vector<at::Tensor> r = call.Bool(consecutive).Run();
  const int64_t count = r[3].item<int64_t>();
  const at::Tensor none = at::empty({0}, self.options().dtype(at::kLong));
  at::Tensor values = r[0];
  if (!dim || *dim == 0 || *dim == -self.dim()) {
    values = Prefix(values, count);
  } else {
    values = values.narrow(*dim, 0, count).clone();
  }
  return {values, return_inverse ? r[1] : none, return_counts ? Prefix(r[2], count) : none};
}

Three Unique2(const at::Tensor& self, bool, bool return_inverse, bool return_counts) {
  return Unique(self, std::nullopt, false, return_inverse, return_counts);
}

std::tuple<at::Tensor, at::Tensor> UniqueOfAll(const at::Tensor& self, bool, bool return_inverse) {
  auto [values, inverse, counts] = Unique(self, std::nullopt, false, return_inverse, false);
  return {values, inverse};
}

Three UniqueDim(const at::Tensor& self, int64_t dim, bool, bool return_inverse,
                bool return_counts) {
  return Unique(self, dim, false, return_inverse, return_counts);
}

Three UniqueConsecutive(const at::Tensor& self, bool return_inverse, bool return_counts,
                        std::optional<int64_t> dim) {
  return Unique(self, dim, true, return_inverse, return_counts);
}

Three UniqueDimConsecutive(const at::Tensor& self, int64_t dim, bool return_inverse,
                           bool return_counts) {
  return Unique(self, dim, true, return_inverse, return_counts);
}

at::Tensor Bincount(const at::Tensor& self, const std::optional<at::Tensor>& weights,
                    int64_t minlength) {
  TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
  TORCH_CHECK(self.dim() == 1 && c10::isIntegralType(self.scalar_type(), false),
              "bincount only supports 1-d non-negative integral inputs.");
  const bool weighted = weights && weights->defined();
  TORCH_CHECK(!weighted || (weights->dim() == 1 && weights->size(0) == self.size(0)),
              "weights should be 1-d and have the same length as input");
  int64_t size = minlength;
  if (self.numel() > 0) {
    const at::Tensor ends = at::stack({self.min(), self.max()}).to(at::kLong).cpu();
    TORCH_CHECK(ends[0].item<int64_t>() >= 0,
                "bincount only supports 1-d non-negative integral inputs.");
    size = std::max(minlength, ends[1].item<int64_t>() + 1);
  }
  RowCall call("tpu::bincount", Device(self));
  call.Tensor(self).Tensor(weighted ? *weights : at::Tensor()).Int(size);
  return call.Run()[0];
}

at::Tensor RepeatInterleave(const at::Tensor& repeats, std::optional<int64_t> output_size) {
  TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  TORCH_CHECK(repeats.scalar_type() == at::kLong || repeats.scalar_type() == at::kInt,
              "repeats has to be Long or Int tensor");
  if (repeats.numel() == 0) return at::empty_like(repeats);
  int64_t size = 0;
  if (output_size) {
    size = *output_size;
  } else {
    const at::Tensor facts = at::stack({repeats.sum(), repeats.min().to(at::kLong)}).cpu();
    TORCH_CHECK(facts[1].item<int64_t>() >= 0, "repeats can not be negative");
    size = facts[0].item<int64_t>();
  }
  return RowCall("aten::repeat_interleave.Tensor", Device(repeats))
      .Tensor(repeats)
      .Int(size)
      .Run()[0];
}

// The number of elements, as PyTorch counts them: of int64 in integers, of all else in double.
int64_t RangeSize(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                  DType dtype, bool inclusive) {
  const bool integers = dtype == DType::Long;
  const double first = start.toDouble(), last = end.toDouble(), stride = step.toDouble();
  TORCH_CHECK_VALUE(integers ? step.toLong() != 0 : stride != 0, "step must be nonzero");
  TORCH_CHECK(std::isfinite(first) && std::isfinite(last), "unsupported range: ", first, " -> ",
              last);
  TORCH_CHECK((stride > 0 && last >= first) || (stride < 0 && last <= first),
              "upper bound and lower bound inconsistent with step sign");
  if (inclusive) return static_cast<int64_t>((last - first) / stride) + 1;
  if (!integers) return static_cast<int64_t>(std::ceil((last - first) / stride));
  const int64_t s = step.toLong(), sign = s > 0 ? 1 : -1;
  return (end.toLong() - start.toLong() + s - sign) / s;
}

at::Tensor& FillRange(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                      at::Tensor& out, bool inclusive) {
  const DType dtype = out.scalar_type();
  const int64_t size = RangeSize(start, end, step, dtype, inclusive);
  if (out.numel() != size) {
    if (out.numel() > 0) {
      TORCH_WARN("The number of elements in the out tensor of shape ", out.sizes(), " is ",
                 out.numel(), " which does not match the computed number of elements ", size,
                 ". Note that this may occur as a result of rounding error. The out tensor will be "
                 "resized to a tensor of shape (",
                 size, ",).");
    }
    out.resize_({size});
  }
  if (size == 0) return out;
  RowCall call("tpu::arange", Device(out));
  call.Number(start).Number(step).Int(size).Dtype(dtype);
  call.RunInto(out.dim() == 1 ? out : out.view({size}));
  return out;
}

at::Tensor& ArangeOut(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                      at::Tensor& out) {
  return FillRange(start, end, step, out, /*inclusive=*/false);
}

at::Tensor& RangeOut(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                     at::Tensor& out) {
  return FillRange(start, end, step, out, /*inclusive=*/true);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_unique", UniqueOfAll);
  m.impl("_unique2", Unique2);
  m.impl("unique_dim", UniqueDim);
  m.impl("unique_consecutive", UniqueConsecutive);
  m.impl("unique_dim_consecutive", UniqueDimConsecutive);
  m.impl("bincount", Bincount);
  m.impl("repeat_interleave.Tensor", RepeatInterleave);
  m.impl("arange.start_out", ArangeOut);
  m.impl("range.out", RangeOut);
}

}  // namespace torch_tpu::eager
