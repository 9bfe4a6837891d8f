// Building blocks that most rows are made of: promotion, broadcasting and the float32 detour of
// low-precision floats, around a function on values.
#pragma once

#include "lowering/registry.h"

namespace torch_tpu::lowering {

using hlo::Builder;
using hlo::Value;
using hlo::Values;

// Which type an elementwise op computes in and returns.
enum class Promote {
  kKeep,   // torch.result_type
  kFloat,  // ints and bools become the default float type
  kBool,   // computed in torch.result_type, returned as bool
};

// Common broadcast shape; RuntimeError naming the op when the shapes do not fit.
Dims BroadcastShape(std::string_view op, std::initializer_list<Value> values);

// Argument `i`, a tensor or a number, as a value of `dtype` (0-d for numbers).
Value Operand(Builder& b, const OpCall& call, int i, DType dtype);

// Computes f(operands...) elementwise over arguments `args`: promoted to one type, broadcast to one
// shape, low-precision floats computed in float32, the result rounded back once.
template <typename F>
Value Elementwise(Builder& b, const OpCall& call, std::initializer_list<int> args, Promote promote,
                  const F& f) {
  const DType type =
      promote == Promote::kFloat ? call.FloatResultType(args) : call.ResultType(args);
  const DType compute = AccumulateType(type);
  std::vector<Value> operands;
  Dims dims;
  for (int i : args) {
    operands.push_back(b.Convert(Operand(b, call, i, type), compute));
    dims = BroadcastDims(dims, operands.back().dims(), call.name());
  }
  for (Value& v : operands) v = b.Broadcast(v, dims);
  Value result = f(b, operands);
  return promote == Promote::kBool ? b.Convert(result, DType::Bool) : b.Convert(result, type);
}

// Row functions: `f` is a captureless lambda on (Builder&, Value...).
template <auto f, Promote promote = Promote::kKeep>
Value Unary(Builder& b, const OpCall& call) {
  return Elementwise(b, call, {0}, promote,
                     [](Builder& b, const Values& v) { return f(b, v[0]); });
}

template <auto f, Promote promote = Promote::kKeep>
Value Binary(Builder& b, const OpCall& call) {
  return Elementwise(b, call, {0, 1}, promote,
                     [](Builder& b, const Values& v) { return f(b, v[0], v[1]); });
}

template <auto f, Promote promote = Promote::kKeep>
Value Ternary(Builder& b, const OpCall& call) {
  return Elementwise(b, call, {0, 1, 2}, promote,
                     [](Builder& b, const Values& v) { return f(b, v[0], v[1], v[2]); });
}

// Sums in AccumulateType and keeps that type; `keep_dims` leaves 1s.
Value Sum(Builder& b, Value x, IntArrayRef dims, bool keep_dims = false);
// NaN-propagating maximum over `dims` (identity: lowest value).
Value MaxOver(Builder& b, Value x, IntArrayRef dims, bool keep_dims = false);
Value MinOver(Builder& b, Value x, IntArrayRef dims, bool keep_dims = false);
// Puts 1s back where `dims` were reduced away from `original`.
Value KeepDims(Builder& b, Value reduced, const Dims& original, IntArrayRef dims);
// All / any over every element of a bool value.
Value All(Builder& b, Value predicate);
Value Any(Builder& b, Value predicate);
// Product of sizes of `dims`.
int64_t CountOver(const Dims& sizes, IntArrayRef dims);
// x as rank `rank` with dimension `dim` holding its only axis: [n] -> [1, n, 1].
Value AlongDim(Builder& b, Value vector, int64_t rank, int64_t dim);
// 0 .. n-1 along `dim` of `dims`.
Value IotaLike(Builder& b, DType dtype, const Dims& dims, int64_t dim);
// Splits of NaN for float types; false constant for others.
Value IsNaN(Builder& b, Value x);

}  // namespace torch_tpu::lowering
