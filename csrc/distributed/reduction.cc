#include "distributed/reduction.h"

#include <ATen/ops/div.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/ScalarType.h>

#include <array>

namespace torch_tpu::distributed {
namespace {

using Op = c10d::ReduceOp;

constexpr std::array<const char*, 9> kNames = {"sum",  "avg", "product", "min",       "max",
                                               "band", "bor", "bxor",    "premul_sum"};

// The dtype in which Gloo can do it.
DType Carrier(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return DType::Byte;
    case DType::Short:
    case DType::UInt16:
      return DType::Int;
    case DType::UInt32:
    case DType::UInt64:
      return DType::Long;
    case DType::ComplexFloat:
      return DType::Float;
    case DType::ComplexDouble:
      return DType::Double;
    default:
      return c10::isFloat8Type(dtype) ? DType::Float : dtype;
  }
}

double FactorOf(const Op& op) {
  const auto* supplement = dynamic_cast<const c10d::PreMulSumSupplement*>(op.supplement_.get());
  TORCH_CHECK_VALUE(supplement != nullptr, "premul_sum: expected a factor, got none");
  if (!supplement->tensor_factor.defined()) return supplement->double_factor;
  return supplement->tensor_factor.item<double>();
}

}  // namespace

Reduction::Reduction(const Op& op, DType dtype, int size, const char* collective)
    : dtype_(dtype), carrier_(Carrier(dtype)), gloo_op_(op), size_(size) {
  const Op::RedOpType kind = op;
  TORCH_CHECK_VALUE(kind < kNames.size(), collective, ": expected a reduction, got number ",
                    static_cast<int>(kind));
  name_ = kNames[kind];
  const bool is_bool = dtype == DType::Bool, is_complex = c10::isComplexType(dtype);
  const bool is_int = c10::isIntegralType(dtype, /*includeBool=*/false);
  switch (kind) {
    case Op::SUM:
      if (is_bool) gloo_op_ = Op::MAX;  // any
      break;
    case Op::AVG:
      TORCH_CHECK(!is_bool, collective, ": expected a number dtype for avg, got ",
                  DTypeName(dtype));
      if (is_int) {
        gloo_op_ = Op::SUM;
        is_average_of_ints_ = true;
      }
      break;
    case Op::PRODUCT:
      if (is_bool) gloo_op_ = Op::MIN;  // all
      TORCH_CHECK(!is_complex, collective, " does not support product on complex tensors");
      break;
    case Op::MIN:
    case Op::MAX:
      TORCH_CHECK(!is_complex, collective, " does not support ", name_, " on complex tensors");
      flips_sign_ = dtype == DType::UInt64;
      break;
    case Op::BAND:
    case Op::BOR:
    case Op::BXOR:
      TORCH_CHECK(is_int || is_bool, "Cannot use ReduceOp.", name_, " with non-integral dtype");
      break;
    default:
      TORCH_CHECK(!is_int && !is_bool, collective,
                  ": expected a floating point or complex dtype for premul_sum, got ",
                  DTypeName(dtype));
      scale_ = FactorOf(op);
      gloo_op_ = Op::SUM;
  }
}

at::Tensor Reduction::Load(const at::Tensor& elements) const {
  at::Tensor t = elements;
  if (c10::isComplexType(dtype_)) t = at::view_as_real(t);
  if (dtype_ == DType::UInt64) {
    t = t.view(DType::Long);
    return flips_sign_ ? t.bitwise_xor(INT64_MIN) : t.clone();
  }
  if (dtype_ == DType::Bool) t = t.ne(0);  // bytes other than 0 and 1 cannot be
  if (scale_) return t.mul(*scale_).to(carrier_).contiguous();
  return t.to(carrier_, /*non_blocking=*/false, /*copy=*/true);
}

void Reduction::Store(const at::Tensor& out, const at::Tensor& reduced) const {
  at::Tensor value = reduced;
  if (is_average_of_ints_) value = at::div(value, size_, "floor");
  if (dtype_ == DType::UInt64) {
    if (flips_sign_) value = value.bitwise_xor(INT64_MIN);
    out.view(DType::Long).copy_(value);
  } else if (c10::isComplexType(dtype_)) {
    at::view_as_real(out).copy_(value);
  } else {
    out.copy_(value);
  }
}

}  // namespace torch_tpu::distributed
