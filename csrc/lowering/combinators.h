// Building blocks that most rows are made of: promotion, broadcasting and the float32 detour of
// low-precision floats, around a function on values.
#pragma once

#include <algorithm>

#include "lowering/registry.h"

namespace torch_tpu::lowering {

using hlo::Builder;
using hlo::Value;
using hlo::ValueRef;
using hlo::Values;

// Which type an elementwise op computes in and returns.
enum class Promote {
  kKeep,   // torch.result_type
  kFloat,  // ints and bools become the default float type
  kBool,   // computed in torch.result_type, returned as bool
};

// The dtypes that an op is defined for.
enum class Accept {
  kAll,
  kNoBool,
  kReal,        // no complex
  kRealNumber,  // neither complex nor bool
  kFloat,       // floats only
  kFloatOrComplex,
  kIntegral,  // ints and bool
  kInteger,   // ints only
};

// NotImplementedError naming the op unless it is defined for `dtype`.
void CheckDtype(std::string_view op, DType dtype, Accept accept);

// How numbers meet a low-precision tensor.
enum class Numbers {
  kRounded,  // to the result type first: what is compared or stored is a number of that type
  kExact,    // used in float32 as they are
};

// Common broadcast shape; RuntimeError naming the op when the shapes do not fit.
Dims BroadcastShape(std::string_view op, std::initializer_list<Value> values);

// Argument `i`, a tensor or a number, as a value of `dtype` (0-d for numbers).
Value Operand(Builder& b, const OpCall& call, int i, DType dtype);

// Arguments as values of `compute` and of one shape; None gives an undefined value.
Values Operands(Builder& b, const OpCall& call, std::initializer_list<int> args, DType type,
                DType compute, Numbers numbers = Numbers::kRounded);

// Computes f(operands...) elementwise over arguments `args`: promoted to one type, broadcast to one
// shape, low-precision floats computed in float32, the result rounded back once.
template <typename F>
Value Elementwise(Builder& b, const OpCall& call, std::initializer_list<int> args, Promote promote,
                  const F& f, Accept accept = Accept::kAll, Numbers numbers = Numbers::kRounded) {
  const DType type =
      promote == Promote::kFloat ? call.FloatResultType(args) : call.ResultType(args);
  CheckDtype(call.name(), type, accept);
  Value result = f(b, Operands(b, call, args, type, AccumulateType(type), numbers));
  return b.Convert(result, promote == Promote::kBool ? DType::Bool : type);
}

// Row functions: `f` is a captureless lambda on (Builder&, Value...).
template <auto f, Promote promote = Promote::kKeep, Accept accept = Accept::kAll>
Value Unary(Builder& b, const OpCall& call) {
  return Elementwise(
      b, call, {0}, promote, [](Builder& b, const Values& v) { return f(b, v[0]); }, accept);
}

template <auto f, Promote promote = Promote::kKeep, Accept accept = Accept::kAll>
Value Binary(Builder& b, const OpCall& call) {
  return Elementwise(
      b, call, {0, 1}, promote, [](Builder& b, const Values& v) { return f(b, v[0], v[1]); },
      accept);
}

template <auto f, Promote promote = Promote::kKeep, Accept accept = Accept::kAll>
Value Ternary(Builder& b, const OpCall& call) {
  return Elementwise(
      b, call, {0, 1, 2}, promote,
      [](Builder& b, const Values& v) { return f(b, v[0], v[1], v[2]); }, accept);
}

// The name of a StableHLO or chlo op as a template argument.
template <size_t n>
struct OpName {
  consteval OpName(const char (&name)[n]) { std::copy_n(name, n, text); }  // NOLINT: implicit
  char text[n];
};

template <OpName op, Promote promote = Promote::kKeep, Accept accept = Accept::kAll>
Value UnaryOp(Builder& b, const OpCall& call) {
  return Unary<[](Builder& b, Value x) { return b.Unary(op.text, x); }, promote, accept>(b, call);
}

template <OpName op, Promote promote = Promote::kKeep, Accept accept = Accept::kAll>
Value BinaryOp(Builder& b, const OpCall& call) {
  return Binary<[](Builder& b, Value x, Value y) { return b.Binary(op.text, x, y); }, promote,
                accept>(b, call);
}

// A number that XLA's simplifier cannot see: x / Opaque(c) stays a division, (x + c) - c stays
// both.
Value OpaqueLike(Builder& b, Value like, const c10::Scalar& value);

// Builder::Reduce for an associative and commutative binary `op`. XLA's CPU compiler walks
// innermost dimensions element by element; there they are reduced in lanes first.
Value ReduceWith(Builder& b, std::string_view op, Value x, Value init, IntArrayRef dims);

// Sums in AccumulateType and keeps that type; `keep_dims` leaves 1s.
Value Sum(Builder& b, Value x, IntArrayRef dims, bool keep_dims = false);
// NaN-propagating maximum over `dims` (identity: lowest value).
Value MaxOver(Builder& b, Value x, IntArrayRef dims, bool keep_dims = false);
Value MinOver(Builder& b, Value x, IntArrayRef dims, bool keep_dims = false);
// Puts 1s back where `dims` were reduced away from `original`.
Value KeepDims(Builder& b, Value reduced, const Dims& original, IntArrayRef dims);
// Takes the 1s at `dims` away.
Value DropDims(Builder& b, Value kept, IntArrayRef dims);
// All / any over every element of a bool value.
Value All(Builder& b, Value predicate);
Value Any(Builder& b, Value predicate);
// Product of sizes of `dims`.
int64_t CountOver(const Dims& sizes, IntArrayRef dims);
// x as rank `rank` with dimension `dim` holding its only axis: [n] -> [1, n, 1].
Value AlongDim(Builder& b, Value vector, int64_t rank, int64_t dim);
// 0 .. n-1 along `dim` of `dims`.
Value IotaLike(Builder& b, DType dtype, const Dims& dims, int64_t dim);
// The error function, exactly 1 and -1 far out: XLA's own stops one step short in float32, which
// x * (1 + erf(x)) would magnify.
Value Erf(Builder& b, Value x);
// Splits of NaN for float types; false constant for others.
Value IsNaN(Builder& b, Value x);

// RuntimeError when `ok` is false: at once where the number is known, at run time otherwise.
void RequireNumber(Builder& b, const OpCall& call, int arg, bool (*check)(double),
                   Value (*ok)(Builder&, Value), const char* message);
bool Positive(double x);
Value PositiveValue(Builder& b, Value x);
bool NotNegative(double x);
Value NotNegativeValue(Builder& b, Value x);

}  // namespace torch_tpu::lowering
