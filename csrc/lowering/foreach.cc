// The _foreach_ family: the row of the single-tensor op for every entry of a list, in one program.
#include <c10/util/Exception.h>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

Arg TensorArg(Value value) {
  Arg arg;
  arg.kind = Arg::Kind::kTensor;
  arg.tensor = value;
  return arg;
}

Arg ToArg(const NumberArg& number) {
  Arg arg;
  arg.kind = Arg::Kind::kNumber;
  arg.numbers = {number};
  return arg;
}

Arg One() {
  NumberArg one;
  one.kind = DType::Long;
  one.constant = c10::Scalar(1);
  return ToArg(one);
}

size_t ListSize(const OpCall& call, int i) {
  const Arg& arg = call.arg(i);
  return arg.kind == Arg::Kind::kTensors ? arg.tensors.size() : arg.numbers.size();
}

// What argument `i` gives to entry `k`: an element of a list, the k-th element of a vector of
// scalars where `vector`, or the same for all.
Arg Entry(Builder& b, const OpCall& call, int i, size_t k, bool vector) {
  const Arg& arg = call.arg(i);
  if (arg.kind == Arg::Kind::kTensors) return TensorArg(arg.tensors[k]);
  if (arg.kind == Arg::Kind::kNumbers) return ToArg(arg.numbers[k]);
  if (!vector || arg.kind != Arg::Kind::kTensor) return arg;
  NumberArg number;
  number.kind = IsComplex(arg.tensor.dtype()) ? DType::ComplexDouble
                : IsFloat(arg.tensor.dtype()) ? DType::Double
                                              : DType::Long;
  const int64_t place = static_cast<int64_t>(k);
  number.value = b.Convert(b.Reshape(b.SliceDim(arg.tensor, 0, place, place + 1), {}), number.kind);
  return ToArg(number);
}

void CheckLists(const OpCall& call, int count) {
  size_t size = 0;
  for (int i = 0; i < count; ++i) {
    const Arg::Kind kind = call.arg(i).kind;
    if (kind != Arg::Kind::kTensors && kind != Arg::Kind::kNumbers) continue;
    if (size == 0) size = ListSize(call, i);
    TORCH_CHECK(ListSize(call, i) == size && size > 0, call.name(),
                ": expected lists of the same length, at least 1, got ", size, " and ",
                ListSize(call, i));
  }
}

Value LowerRow(Builder& b, const OpCall& call, const char* name, std::vector<Arg> args) {
  const OpRow* row = FindRow(name);
  TORCH_INTERNAL_ASSERT(row != nullptr, call.name(), " is made of ", name, ", which has no row");
  OpCall entry(name, std::move(args));
  entry.set_default_dtype(call.default_dtype());
  return row->Lower(b, entry)[0];
}

size_t Length(const OpCall& call) {
  for (int i = 0; i < call.size(); ++i) {
    if (call.arg(i).kind == Arg::Kind::kTensors) return ListSize(call, i);
  }
  return 0;
}

enum class Tail { kNone, kOne, kVector };  // the row takes one more 1; the last is a vector

// Calls `row` with entry k of each of the first `count` arguments.
template <OpName row, int count, Tail tail = Tail::kNone>
Values Each(Builder& b, const OpCall& call) {
  CheckLists(call, count);
  const size_t n = Length(call);
  if (tail == Tail::kVector) {
    const Value scalars = call.Tensor(count - 1);
    TORCH_CHECK(scalars.rank() == 1 && scalars.numel() == static_cast<int64_t>(n), call.name(),
                ": expected a vector of ", n, " scalars, got shape ", ToString(scalars.dims()));
  }
  Values results;
  for (size_t k = 0; k < n; ++k) {
    std::vector<Arg> args;
    for (int i = 0; i < count; ++i) args.push_back(Entry(b, call, i, k, tail == Tail::kVector));
    if (tail == Tail::kOne) args.push_back(One());
    results.push_back(LowerRow(b, call, row.text, std::move(args)));
  }
  return results;
}

// A tensor that stands for all entries must be a scalar.
template <OpName row, int count>
Values EachWithTensor(Builder& b, const OpCall& call) {
  const Value scalar = call.Tensor(1);
  TORCH_CHECK(scalar.rank() == 0 && scalar.numel() == 1, call.name(),
              ": expected a scalar tensor of 0 dimensions, got ", ToString(scalar.dims()));
  return Each<row, count>(b, call);
}

// aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]
Values Norm(Builder& b, const OpCall& call) {
  CheckLists(call, 1);
  Values results;
  Arg keep_dim;
  keep_dim.kind = Arg::Kind::kBool;
  for (const Value& t : call.Tensors(0)) {
    results.push_back(LowerRow(b, call, "aten::linalg_vector_norm",
                               {TensorArg(t), call.arg(1), Arg(), keep_dim, call.arg(2)}));
  }
  return results;
}

// aten::_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] self_out
Values Copy(Builder& b, const OpCall& call) {
  CheckLists(call, 2);
  Values results;
  for (size_t k = 0; k < call.Tensors(0).size(); ++k) {
    const Value self = call.Tensors(0)[k], source = call.Tensors(1)[k];
    TORCH_CHECK(BroadcastDims(self.dims(), source.dims(), call.name()) == self.dims(), call.name(),
                ": expected a source that expands to ", ToString(self.dims()), ", got ",
                ToString(source.dims()));
    results.push_back(b.Broadcast(b.Convert(source, self.dtype()), self.dims()));
  }
  return results;
}

// aten::_foreach_zero(Tensor[] self) -> Tensor[] self_out
Values Zero(Builder& b, const OpCall& call) {
  Values results;
  for (const Value& t : call.Tensors(0)) results.push_back(b.ConstantLike(t, 0));
  return results;
}

// aten::_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]
Values Clone(Builder& b, const OpCall& call) { return call.Tensors(0); }

// The exponent of a power decides what is computed where it is a small number.
const OpRow::Flags kPower = {.special_numbers = 0b10};
const OpRow::Flags kStaticOrder = {.static_numbers = 0b10};

}  // namespace

OpRows ForeachRows() {
  return {
      {"aten::_foreach_abs", Each<"aten::abs", 1>},
      {"aten::_foreach_acos", Each<"aten::acos", 1>},
      {"aten::_foreach_asin", Each<"aten::asin", 1>},
      {"aten::_foreach_atan", Each<"aten::atan", 1>},
      {"aten::_foreach_ceil", Each<"aten::ceil", 1>},
      {"aten::_foreach_cos", Each<"aten::cos", 1>},
      {"aten::_foreach_cosh", Each<"aten::cosh", 1>},
      {"aten::_foreach_erf", Each<"aten::erf", 1>},
      {"aten::_foreach_erfc", Each<"aten::erfc", 1>},
      {"aten::_foreach_exp", Each<"aten::exp", 1>},
      {"aten::_foreach_expm1", Each<"aten::expm1", 1>},
      {"aten::_foreach_floor", Each<"aten::floor", 1>},
      {"aten::_foreach_frac", Each<"aten::frac", 1>},
      {"aten::_foreach_lgamma", Each<"aten::lgamma", 1>},
      {"aten::_foreach_log", Each<"aten::log", 1>},
      {"aten::_foreach_log10", Each<"aten::log10", 1>},
      {"aten::_foreach_log1p", Each<"aten::log1p", 1>},
      {"aten::_foreach_log2", Each<"aten::log2", 1>},
      {"aten::_foreach_max", Each<"aten::max", 1>},
      {"aten::_foreach_neg", Each<"aten::neg", 1>},
      {"aten::_foreach_reciprocal", Each<"aten::reciprocal", 1>},
      {"aten::_foreach_round", Each<"aten::round", 1>},
      {"aten::_foreach_rsqrt", Each<"aten::rsqrt", 1>},
      {"aten::_foreach_sigmoid", Each<"aten::sigmoid", 1>},
      {"aten::_foreach_sign", Each<"aten::sign", 1>},
      {"aten::_foreach_sin", Each<"aten::sin", 1>},
      {"aten::_foreach_sinh", Each<"aten::sinh", 1>},
      {"aten::_foreach_sqrt", Each<"aten::sqrt", 1>},
      {"aten::_foreach_tan", Each<"aten::tan", 1>},
      {"aten::_foreach_tanh", Each<"aten::tanh", 1>},
      {"aten::_foreach_trunc", Each<"aten::trunc", 1>},

      {"aten::_foreach_add.List", Each<"aten::add.Tensor", 3>},
      {"aten::_foreach_add.Scalar", Each<"aten::add.Scalar", 2, Tail::kOne>},
      {"aten::_foreach_add.ScalarList", Each<"aten::add.Scalar", 2, Tail::kOne>},
      {"aten::_foreach_add.Tensor", EachWithTensor<"aten::add.Tensor", 3>},
      {"aten::_foreach_sub.List", Each<"aten::sub.Tensor", 3>},
      {"aten::_foreach_sub.Scalar", Each<"aten::sub.Scalar", 2, Tail::kOne>},
      {"aten::_foreach_sub.ScalarList", Each<"aten::sub.Scalar", 2, Tail::kOne>},
      {"aten::_foreach_mul.List", Each<"aten::mul.Tensor", 2>},
      {"aten::_foreach_mul.Scalar", Each<"aten::mul.Scalar", 2>},
      {"aten::_foreach_mul.ScalarList", Each<"aten::mul.Scalar", 2>},
      {"aten::_foreach_mul.Tensor", EachWithTensor<"aten::mul.Tensor", 2>},
      {"aten::_foreach_div.List", Each<"aten::div.Tensor", 2>},
      {"aten::_foreach_div.Scalar", Each<"aten::div.Scalar", 2>},
      {"aten::_foreach_div.ScalarList", Each<"aten::div.Scalar", 2>},
      {"aten::_foreach_div.Tensor", EachWithTensor<"aten::div.Tensor", 2>},
      // As in PyTorch, maximum and minimum are the clamps.
      {"aten::_foreach_clamp_max.List", Each<"aten::clamp_max.Tensor", 2>},
      {"aten::_foreach_clamp_max.Scalar", Each<"aten::clamp_max", 2>},
      {"aten::_foreach_clamp_max.ScalarList", Each<"aten::clamp_max", 2>},
      {"aten::_foreach_minimum.List", Each<"aten::clamp_max.Tensor", 2>},
      {"aten::_foreach_minimum.Scalar", Each<"aten::clamp_max", 2>},
      {"aten::_foreach_minimum.ScalarList", Each<"aten::clamp_max", 2>},
      {"aten::_foreach_clamp_min.List", Each<"aten::clamp_min.Tensor", 2>},
      {"aten::_foreach_clamp_min.Scalar", Each<"aten::clamp_min", 2>},
      {"aten::_foreach_clamp_min.ScalarList", Each<"aten::clamp_min", 2>},
      {"aten::_foreach_maximum.List", Each<"aten::clamp_min.Tensor", 2>},
      {"aten::_foreach_maximum.Scalar", Each<"aten::clamp_min", 2>},
      {"aten::_foreach_maximum.ScalarList", Each<"aten::clamp_min", 2>},
      {"aten::_foreach_pow.List", Each<"aten::pow.Tensor_Tensor", 2>},
      {"aten::_foreach_pow.Scalar", Each<"aten::pow.Tensor_Scalar", 2>, kPower},
      {"aten::_foreach_pow.ScalarList", Each<"aten::pow.Tensor_Scalar", 2>, kPower},
      {"aten::_foreach_pow.ScalarAndTensor", Each<"aten::pow.Scalar", 2>},

      {"aten::_foreach_addcmul.Scalar", Each<"aten::addcmul", 4>},
      {"aten::_foreach_addcmul.ScalarList", Each<"aten::addcmul", 4>},
      {"aten::_foreach_addcmul.Tensor", Each<"aten::addcmul", 4, Tail::kVector>},
      {"aten::_foreach_addcdiv.Scalar", Each<"aten::addcdiv", 4>},
      {"aten::_foreach_addcdiv.ScalarList", Each<"aten::addcdiv", 4>},
      {"aten::_foreach_addcdiv.Tensor", Each<"aten::addcdiv", 4, Tail::kVector>},
      {"aten::_foreach_lerp.List", Each<"aten::lerp.Tensor", 3>},
      {"aten::_foreach_lerp.Scalar", Each<"aten::lerp.Scalar", 3>},
      {"aten::_foreach_lerp.ScalarList", Each<"aten::lerp.Scalar", 3>},

      {"aten::_foreach_mm", Each<"aten::mm", 2>},
      {"aten::_foreach_norm.Scalar", Norm, kStaticOrder},
      {"aten::_foreach_copy", Copy},
      {"aten::_foreach_zero", Zero},
      {"aten::_foreach_clone", Clone},
  };
}

}  // namespace torch_tpu::lowering
