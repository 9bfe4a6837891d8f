// Tensors made of numbers: constants, ranges, identities.
#include <c10/util/Exception.h>

#include <cmath>

#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {
namespace {

void CheckSizes(const OpCall& call, const Dims& sizes) {
  for (int64_t size : sizes) {
    TORCH_CHECK(size >= 0, call.name(), ": expected sizes >= 0, got ", ToString(sizes));
  }
}

// The dtype of a tensor made of a Python number.
DType DtypeOfNumber(const OpCall& call, const NumberArg& number) {
  if (number.kind == DType::Double) return call.default_dtype();
  if (number.kind == DType::ComplexDouble) return ComplexType(call.default_dtype());
  return number.kind;
}

Value Filled(Builder& b, const OpCall& call, const Dims& sizes, int number, DType dtype) {
  CheckSizes(call, sizes);
  return b.Broadcast(call.Number(b, number, dtype), sizes);
}

// aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, ...) -> Tensor
Value Full(Builder& b, const OpCall& call) {
  return Filled(b, call, call.Ints(0), 1, call.DtypeOr(2, DtypeOfNumber(call, call.RawNumber(1))));
}

// aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, ...) -> Tensor
Value FullLike(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  return Filled(b, call, self.dims(), 1, call.DtypeOr(2, self.dtype()));
}

// aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, ...)
//   -> Tensor
Value NewFull(Builder& b, const OpCall& call) {
  return Filled(b, call, call.Ints(1), 2, call.DtypeOr(3, call.Tensor(0).dtype()));
}

// aten::zeros(SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor; ones, empty
template <int value>
Value Constants(Builder& b, const OpCall& call) {
  CheckSizes(call, call.Ints(0));
  return b.Constant(call.DtypeOr(1, call.default_dtype()), value, call.Ints(0));
}

// aten::zeros_like(Tensor self, *, ScalarType? dtype=None, ...) -> Tensor; ones_like, empty_like
template <int value>
Value ConstantsLike(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  return b.Constant(call.DtypeOr(1, self.dtype()), value, self.dims());
}

// aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor; new_ones
// `dtype` is argument 2, behind a list of strides 3.
template <int value, int dtype = 2>
Value NewConstants(Builder& b, const OpCall& call) {
  CheckSizes(call, call.Ints(1));
  return b.Constant(call.DtypeOr(dtype, call.Tensor(0).dtype()), value, call.Ints(1));
}

// aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, ...) -> Tensor
// aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, ...)
Value EmptyStrided(Builder& b, const OpCall& call) {
  return Zeros(b, call.DtypeOr(2, call.default_dtype()), call.Ints(0));
}

// aten::fill.Scalar(Tensor self, Scalar value) -> Tensor
Value FillScalar(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  return b.Broadcast(call.Number(b, 1, self.dtype()), self.dims());
}

// aten::fill.Tensor(Tensor self, Tensor value) -> Tensor
Value FillTensor(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), value = call.Tensor(1);
  TORCH_CHECK(value.rank() == 0, call.name(), ": expected a value of 0 dimensions, got ",
              ToString(value.dims()));
  return b.Broadcast(b.Convert(value, self.dtype()), self.dims());
}

// aten::zero(Tensor self) -> Tensor
Value Zero(Builder& b, const OpCall& call) { return b.ConstantLike(call.Tensor(0), 0); }

// aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, ...) -> Tensor
Value ScalarTensor(Builder& b, const OpCall& call) {
  return call.Number(b, 0, call.DtypeOr(1, call.default_dtype()));
}

// aten::eye(SymInt n, *, ScalarType? dtype=None, ...) -> Tensor
// aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, ...) -> Tensor
template <bool with_columns>
Value Eye(Builder& b, const OpCall& call) {
  const Dims sizes = {call.Int(0), call.Int(with_columns ? 1 : 0)};
  CheckSizes(call, sizes);
  const Value diagonal = b.Eq(b.Iota(DType::Int, sizes, 0), b.Iota(DType::Int, sizes, 1));
  return b.Convert(diagonal, call.DtypeOr(with_columns ? 2 : 1, call.default_dtype()));
}

// start + i * step, i < size: int64 for integers, float64 for float32 and wider (float32 for
// narrower), rounded once.
Value Range(Builder& b, DType dtype, int64_t size, Value start, Value step) {
  const DType compute = start.dtype();
  const Value i = b.Iota(DType::Long, {size}, 0);
  return b.Convert(b.Broadcast(start, {size}) + b.Convert(i, compute) * b.Broadcast(step, {size}),
                   dtype);
}

DType RangeType(const OpCall& call, DType dtype) {
  CheckDtype(call.name(), dtype, Accept::kRealNumber);
  if (!IsFloat(dtype)) return DType::Long;
  return c10::isReducedFloatingType(dtype) ? DType::Float : DType::Double;
}

// tpu::arange(Scalar start, Scalar step, int size, ScalarType dtype) -> Tensor
Value Arange(Builder& b, const OpCall& call) {
  const DType dtype = call.Dtype(3), compute = RangeType(call, dtype);
  return Range(b, dtype, call.Int(2), call.Number(b, 0, compute), call.Number(b, 1, compute));
}

// How many steps lie in [start, end), or with the end in it: of int64 in integers.
int64_t RangeSize(const OpCall& call, const c10::Scalar& start, const c10::Scalar& end,
                  const c10::Scalar& step, DType dtype, bool closed) {
  const double from = start.toDouble(), to = end.toDouble(), by = step.toDouble();
  TORCH_CHECK(dtype == DType::Long ? step.toLong() != 0 : by != 0, call.name(),
              ": expected a step other than 0, got 0");
  TORCH_CHECK(std::isfinite(from) && std::isfinite(to), call.name(),
              ": expected finite bounds, got ", from, " and ", to);
  TORCH_CHECK((by > 0) == (to >= from) || from == to, call.name(),
              ": expected bounds that the step leads from one to the other, got ", from, ", ", to,
              " and step ", by);
  if (closed) return static_cast<int64_t>((to - from) / by) + 1;
  if (dtype == DType::Long) {
    const int64_t d = step.toLong(), span = end.toLong() - start.toLong();
    return (span + d - (d > 0 ? 1 : -1)) / d;
  }
  return static_cast<int64_t>(std::ceil((to - from) / by));
}

// aten::arange(Scalar end, *, ScalarType? dtype=None, ...) -> Tensor
// aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, ...) -> Tensor
// aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, ...)
// aten::range(Scalar start, Scalar end, *, ScalarType? dtype=None, ...) -> Tensor
// aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, ...)
template <int numbers, bool closed>
Value StaticRange(Builder& b, const OpCall& call) {
  const c10::Scalar start = numbers == 1 ? c10::Scalar(0) : call.StaticNumber(0);
  const c10::Scalar end = call.StaticNumber(numbers == 1 ? 0 : 1);
  const c10::Scalar step = numbers == 3 ? call.StaticNumber(2) : c10::Scalar(1);
  const bool whole = start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true);
  const DType dtype = call.DtypeOr(numbers, whole && !closed ? DType::Long : call.default_dtype());
  const DType compute = RangeType(call, dtype);
  return Range(b, dtype, RangeSize(call, start, end, step, dtype, closed),
               b.Constant(compute, start), b.Constant(compute, step));
}

// Both halves count from their own end, as PyTorch does.
Value Spaced(Builder& b, const OpCall& call, DType dtype, DType compute) {
  const int64_t steps = call.Int(2);
  TORCH_CHECK(steps >= 0, call.name(), ": expected steps >= 0, got ", steps);
  for (int i : {0, 1}) {
    if (call.arg(i).kind != Arg::Kind::kTensor) continue;
    TORCH_CHECK(call.Tensor(i).rank() == 0, call.name(), ": expected bounds of 0 dimensions, got ",
                ToString(call.Tensor(i).dims()));
  }
  const Value first = b.Convert(Operand(b, call, 0, dtype), compute);
  const Value last = b.Convert(Operand(b, call, 1, dtype), compute);
  if (steps <= 1) return b.Broadcast(first, {steps});
  const Value divisor = OpaqueLike(b, first, steps - 1);
  const Value step = b.Broadcast((last - first) / divisor, {steps});
  const Value i = b.Iota(DType::Long, {steps}, 0);
  const Value back = b.Convert(b.ConstantLike(i, steps - 1) - i, compute);
  return b.Select(b.Lt(i, b.ConstantLike(i, steps / 2)),
                  b.Broadcast(first, {steps}) + step * b.Convert(i, compute),
                  b.Broadcast(last, {steps}) - step * back);
}

DType SpacedType(const OpCall& call, int dtype_arg) {
  if (!call.IsNone(dtype_arg)) return call.Dtype(dtype_arg);
  for (int i : {0, 1}) {
    const Arg& arg = call.arg(i);
    const DType given = arg.kind == Arg::Kind::kTensor ? arg.tensor.dtype() : arg.numbers[0].kind;
    if (IsComplex(given)) return ComplexType(call.default_dtype());
  }
  return call.default_dtype();
}

DType SpacedCompute(DType dtype) {
  return c10::isIntegralType(dtype, true) ? DType::Double : AccumulateType(dtype);
}

// aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, ...) -> Tensor,
// and with Tensor bounds
Value LinSpace(Builder& b, const OpCall& call) {
  const DType dtype = SpacedType(call, 3);
  return b.Convert(Spaced(b, call, dtype, SpacedCompute(dtype)), dtype);
}

// aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None,
// ...)
//   -> Tensor, and with Tensor bounds
Value LogSpace(Builder& b, const OpCall& call) {
  const DType dtype = SpacedType(call, 4), compute = SpacedCompute(dtype);
  const Value exponent = Spaced(b, call, dtype, compute);
  return b.Convert(b.Pow(b.Broadcast(call.Number(b, 3, compute), exponent.dims()), exponent),
                   dtype);
}

// aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
Value Clone(Builder& b, const OpCall& call) { return call.Tensor(0); }

// aten::_to_copy(Tensor self, *, ScalarType? dtype=None, ...) -> Tensor
Value ToCopy(Builder& b, const OpCall& call) {
  return b.Convert(call.Tensor(0), call.DtypeOr(1, call.Tensor(0).dtype()));
}

// aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor
Value Copy(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  return ExpandTo(b, call, b.Convert(call.Tensor(1), self.dtype()), self.dims(), "a source");
}

const OpRow::Flags kFill = {.elementwise = true, .one_value = true};
// PyTorch's own kernels make the tensor with the strides that were asked for and fill it.
const OpRow::Flags kGraphOnly = {.graph_only = true};

OpRow::Flags Static(uint32_t numbers) { return {.static_numbers = numbers, .graph_only = true}; }

}  // namespace

OpRows FactoryRows() {
  return {
      {"aten::full", Full},
      {"aten::full_like", FullLike, kGraphOnly},
      {"aten::new_full", NewFull, kGraphOnly},
      {"aten::zeros", Constants<0>},
      {"aten::ones", Constants<1>},
      {"aten::empty.memory_format", Constants<0>, kGraphOnly},
      {"aten::zeros_like", ConstantsLike<0>, kGraphOnly},
      {"aten::ones_like", ConstantsLike<1>, kGraphOnly},
      {"aten::empty_like", ConstantsLike<0>, kGraphOnly},
      {"aten::new_zeros", NewConstants<0>, kGraphOnly},
      {"aten::new_ones", NewConstants<1>, kGraphOnly},
      {"aten::new_empty", NewConstants<0>, kGraphOnly},
      {"aten::new_empty_strided", NewConstants<0, 3>, kGraphOnly},
      {"aten::empty_strided", EmptyStrided, kGraphOnly},
      {"aten::empty_permuted", EmptyStrided, kGraphOnly},
      {"aten::fill.Scalar",
       FillScalar,
       {.elementwise = true, .fitting_number = 1, .one_value = true}},
      {"aten::fill.Tensor", FillTensor, kFill},
      {"aten::zero", Zero, kFill},
      {"aten::scalar_tensor", ScalarTensor},
      {"aten::eye", Eye<false>},
      {"aten::eye.m", Eye<true>},
      {"tpu::arange", Arange},
      {"aten::arange", StaticRange<1, false>, Static(0b1)},
      {"aten::arange.start", StaticRange<2, false>, Static(0b11)},
      {"aten::arange.start_step", StaticRange<3, false>, Static(0b111)},
      {"aten::range", StaticRange<2, true>, Static(0b11)},
      {"aten::range.step", StaticRange<3, true>, Static(0b111)},
      {"aten::linspace", LinSpace},
      {"aten::linspace.Scalar_Tensor", LinSpace},
      {"aten::linspace.Tensor_Scalar", LinSpace},
      {"aten::linspace.Tensor_Tensor", LinSpace},
      {"aten::logspace", LogSpace},
      {"aten::logspace.Scalar_Tensor", LogSpace},
      {"aten::logspace.Tensor_Scalar", LogSpace},
      {"aten::logspace.Tensor_Tensor", LogSpace},
      {"aten::clone", Clone, kGraphOnly},
      {"aten::_to_copy", ToCopy, kGraphOnly},
      {"aten::copy", Copy, kGraphOnly},
  };
}

}  // namespace torch_tpu::lowering
