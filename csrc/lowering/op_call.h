// One ATen call as a lowering sees it: arguments by schema position, tensors as HLO values. No
// device, no cache, no Python and no ATen.
//
// What shapes a program (int, int[], bool, dtype, str) is static and part of its key. Numbers
// (Scalar, float) are run-time operands unless the row marks them static or they equal the schema's
// default.
#pragma once

#include <c10/core/Scalar.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/builder.h"

namespace torch_tpu::lowering {

struct NumberArg {
  DType kind = DType::Double;           // Bool, Long, Double or ComplexDouble: Python's type
  std::optional<c10::Scalar> constant;  // set when it is known while the program is built
  hlo::Value value;                     // 0-d operand otherwise (Long for Bool)
};

struct Arg {
  enum class Kind {
    kNone,
    kTensor,
    kTensors,
    kInt,
    kInts,
    kBool,
    kBools,
    kDoubles,
    kNumber,
    kNumbers,
    kDtype,
    kString
  };
  Kind kind = Kind::kNone;
  hlo::Value tensor;
  bool wrapped_number = false;  // a Python number that arrived as a 0-d tensor
  hlo::Values tensors;          // undefined entries stand for None
  int64_t integer = 0;          // kInt, kBool, kDtype
  Dims integers;                // kInts, kBools
  std::vector<double> doubles;
  std::vector<NumberArg> numbers;  // kNumber: one entry
  std::string text;
};

class OpCall {
 public:
  OpCall(std::string_view name, std::vector<Arg> args) : name_(name), args_(std::move(args)) {}

  std::string_view name() const { return name_; }
  int size() const { return static_cast<int>(args_.size()); }
  const Arg& arg(int i) const { return args_.at(i); }
  bool IsNone(int i) const { return arg(i).kind == Arg::Kind::kNone; }

  hlo::Value Tensor(int i) const;
  hlo::Value TensorOrUndefined(int i) const;  // undefined value for None
  const hlo::Values& Tensors(int i) const;
  int64_t Int(int i) const;
  int64_t IntOr(int i, int64_t otherwise) const { return IsNone(i) ? otherwise : Int(i); }
  // An int argument that shapes nothing, as a 0-d int64 value (a row's `offsets`).
  hlo::Value Offset(hlo::Builder& b, int i) const;
  // A dimension argument, wrapped into [0, rank); IndexError when out of range.
  int64_t Dim(int i, int64_t rank) const { return WrapDim(Int(i), rank); }
  Dims Ints(int i) const;  // an int argument gives one entry
  // int[]? dim with PyTorch's reduction meaning: None or empty is every dimension; sorted, wrapped;
  // RuntimeError for a dimension named twice.
  Dims ReduceDims(int i, int64_t rank) const;
  // A per-spatial-dimension list; one entry stands for all.
  Dims IntsOfSize(int i, size_t size) const;
  bool Bool(int i) const;
  std::vector<bool> Bools(int i) const;
  const std::vector<double>& Doubles(int i) const;
  DType Dtype(int i) const;
  DType DtypeOr(int i, DType otherwise) const { return IsNone(i) ? otherwise : Dtype(i); }
  std::string_view String(int i) const;
  const NumberArg& RawNumber(int i) const;
  const std::vector<NumberArg>& Numbers(int i) const;
  // The number as a 0-d value of `dtype`.
  hlo::Value Number(hlo::Builder& b, int i, DType dtype) const;
  hlo::Value NumberOr(hlo::Builder& b, int i, const c10::Scalar& otherwise, DType dtype) const;
  // The number's value where it is static (rows with static_numbers); internal error otherwise.
  c10::Scalar StaticNumber(int i) const;

  // PyTorch's result type of the given tensor and number arguments: dimensioned tensors before 0-d
  // tensors before Python numbers, by category (torch.result_type).
  DType ResultType(std::initializer_list<int> args) const;
  // The same where ints and bools become the default float type (`default_dtype`).
  DType FloatResultType(std::initializer_list<int> args) const;
  // torch.get_default_dtype() at the call.
  DType default_dtype() const { return default_dtype_; }
  void set_default_dtype(DType dtype) { default_dtype_ = dtype; }

  // Random rows: Philox state ui64[2] (seed, offset) of this call.
  hlo::Value RandomState() const { return random_state_; }
  void set_random_state(hlo::Value state) { random_state_ = state; }

  // Run-time checks: `ok` is a 0-d bool; where it is false the next synchronization raises
  // IndexError (RuntimeError for Require) with the op's name and `message`. Nothing when index
  // checks are off.
  void RequireIndex(hlo::Value ok, std::string message) const;
  void Require(hlo::Value ok, std::string message) const;
  struct Requirement {
    hlo::Value ok;
    std::string message;
    bool index_error = true;
  };
  const std::vector<Requirement>& requirements() const { return requirements_; }

 private:
  std::string name_;
  std::vector<Arg> args_;
  DType default_dtype_ = DType::Float;
  hlo::Value random_state_;
  mutable std::vector<Requirement> requirements_;
};

// A number as a 0-d value of `dtype`.
hlo::Value NumberValue(hlo::Builder& b, const NumberArg& number, DType dtype);

// Promotion over explicit operands.
struct PromotionState {
  std::optional<DType> dimensioned, zero_dim, number;
  void Add(DType dtype, bool zero_dim_tensor, bool wrapped_number);
  DType Result(DType default_dtype) const;
};

}  // namespace torch_tpu::lowering
