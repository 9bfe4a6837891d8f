#include "eager/overlap.h"

#include <ATen/Dispatch.h>
#include <ATen/MemoryOverlap.h>

namespace torch_tpu::eager {
namespace {

void CheckAgainst(const at::Tensor& target, const at::Tensor& operand, bool disjoint) {
  if (!operand.defined() || !operand.has_storage()) return;
  if (disjoint) {
    at::assert_no_overlap(target, operand);
  } else {
    at::assert_no_partial_overlap(target, operand);
  }
}

}  // namespace

void CheckOverlap(const at::Tensor& target, c10::ArrayRef<c10::IValue> args, bool disjoint) {
  at::assert_no_internal_overlap(target);
  for (const c10::IValue& arg : args) {
    if (arg.isTensor()) {
      CheckAgainst(target, arg.toTensor(), disjoint);
    } else if (disjoint && arg.isTensorList()) {
      for (const at::Tensor& tensor : arg.toTensorVector()) CheckAgainst(target, tensor, disjoint);
    }
  }
}

void CheckOut(const lowering::OpRow& row, const at::Tensor& out, const at::Tensor& result,
              c10::ArrayRef<c10::IValue> args) {
  TORCH_CHECK(!row.flags.exact_out || out.scalar_type() == result.scalar_type(),
              "Expected out tensor to have dtype ", result.scalar_type(), ", but got ",
              out.scalar_type(), " instead");
  const bool resized = out.sizes() != result.sizes();
  if (row.flags.disjoint || (row.flags.elementwise && !resized)) {
    CheckOverlap(out, args, row.flags.disjoint);
  }
}

void CheckFits(const c10::Scalar& number, c10::ScalarType dtype) {
  if (c10::isBarebonesUnsignedType(dtype) || c10::isFloat8Type(dtype)) return;
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(c10::kHalf, c10::kBFloat16, c10::kBool, dtype, "number",
                                         [&] { (void)number.to<scalar_t>(); });
}

at::Tensor WithoutRepeats(const at::Tensor& tensor) {
  at::DimVector sizes(tensor.sizes());
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.stride(d) == 0) sizes[d] = std::min<int64_t>(sizes[d], 1);
  }
  return tensor.as_strided(sizes, tensor.strides());
}

}  // namespace torch_tpu::eager
