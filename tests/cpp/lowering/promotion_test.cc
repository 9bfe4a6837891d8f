// Every one, two and three operands of every kind and dtype, against PyTorch's own result_type.
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <optional>

#include "lowering/op_call.h"

namespace torch_tpu::lowering {
namespace {

enum class Kind { kTensor, kZeroDim, kNumber };

struct Operand {
  Kind kind;
  DType dtype;
  at::Tensor tensor;
};

constexpr DType kDTypes[] = {DType::Bool,        DType::Byte,         DType::Char,
                             DType::Short,       DType::Int,          DType::Long,
                             DType::UInt16,      DType::UInt32,       DType::UInt64,
                             DType::Half,        DType::BFloat16,     DType::Float,
                             DType::Double,      DType::ComplexFloat, DType::ComplexDouble,
                             DType::Float8_e5m2, DType::Float8_e4m3fn};

std::vector<Operand> AllOperands() {
  std::vector<Operand> operands;
  for (const DType dtype : kDTypes) {
    operands.push_back({Kind::kTensor, dtype, at::empty({2}, dtype)});
    operands.push_back({Kind::kZeroDim, dtype, at::empty({}, dtype)});
  }
  for (const DType dtype : {DType::Bool, DType::Long, DType::Double, DType::ComplexDouble}) {
    operands.push_back({Kind::kNumber, dtype, at::empty({}, dtype)});
    operands.back().tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return operands;
}

// nullopt: the types have no promotion, which is an error.
std::optional<DType> Theirs(std::initializer_list<const Operand*> operands) {
  try {
    at::native::ResultTypeState state = {};
    for (const Operand* operand : operands) {
      state = at::native::update_result_type_state(operand->tensor, state);
    }
    return at::native::result_type(state);
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

std::optional<DType> Ours(std::initializer_list<const Operand*> operands, DType default_dtype) {
  try {
    PromotionState state;
    for (const Operand* operand : operands) {
      state.Add(operand->dtype, operand->kind != Kind::kTensor, operand->kind == Kind::kNumber);
    }
    return state.Result(default_dtype);
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

class Promotion : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override { c10::set_default_dtype(c10::scalarTypeToTypeMeta(GetParam())); }
  void TearDown() override { c10::set_default_dtype(c10::scalarTypeToTypeMeta(DType::Float)); }

  void Expect(std::initializer_list<const Operand*> operands) {
    std::optional<DType> theirs = Theirs(operands);
    // XLA has no complex32: complex64 stands in for it.
    if (theirs == DType::ComplexHalf) theirs = DType::ComplexFloat;
    const std::optional<DType> ours = Ours(operands, GetParam());
    if (ours == theirs) return;
    std::string text;
    for (const Operand* operand : operands) {
      static constexpr const char* kNames[] = {"tensor", "0-d tensor", "number"};
      text += std::string(kNames[static_cast<int>(operand->kind)]) + " " +
              DTypeName(operand->dtype) + ", ";
    }
    ADD_FAILURE() << text << "expected " << (theirs ? DTypeName(*theirs) : "an error") << ", got "
                  << (ours ? DTypeName(*ours) : "an error");
  }

  const std::vector<Operand> operands_ = AllOperands();
};

TEST_P(Promotion, OfOneAndTwo) {
  for (const Operand& a : operands_) {
    Expect({&a});
    for (const Operand& b : operands_) Expect({&a, &b});
  }
}

TEST_P(Promotion, OfThree) {
  for (const Operand& a : operands_) {
    for (const Operand& b : operands_) {
      for (const Operand& c : operands_) Expect({&a, &b, &c});
      if (HasFailure()) return;  // a few lines tell as much as thousands
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DefaultDtype, Promotion,
                         ::testing::Values(DType::Float, DType::Double, DType::BFloat16),
                         [](const auto& info) { return DTypeName(info.param); });

}  // namespace
}  // namespace torch_tpu::lowering
