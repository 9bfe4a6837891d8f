#include "lowering/combinators.h"

#include <c10/util/Exception.h>

#include <numeric>

namespace torch_tpu::lowering {

Dims BroadcastShape(std::string_view op, std::initializer_list<Value> values) {
  Dims dims;
  for (const Value& v : values) dims = BroadcastDims(dims, v.dims(), op);
  return dims;
}

Value Operand(Builder& b, const OpCall& call, int i, DType dtype) {
  if (call.arg(i).kind == Arg::Kind::kNumber) return call.Number(b, i, dtype);
  return b.Convert(call.Tensor(i), dtype);
}

Values Operands(Builder& b, const OpCall& call, std::initializer_list<int> args, DType type,
                DType compute, Numbers numbers) {
  Values operands;
  Dims dims;
  for (int i : args) {
    const Arg& arg = call.arg(i);
    if (arg.kind == Arg::Kind::kNone) {
      operands.emplace_back();
      continue;
    }
    const bool number = arg.kind == Arg::Kind::kNumber || arg.tensor.rank() == 0;
    const DType via = number && numbers == Numbers::kExact ? compute : type;
    operands.push_back(b.Convert(Operand(b, call, i, via), compute));
    dims = BroadcastDims(dims, operands.back().dims(), call.name());
  }
  for (Value& v : operands) {
    if (v.defined()) v = b.Broadcast(v, dims);
  }
  return operands;
}

void CheckDtype(std::string_view op, DType dtype, Accept accept) {
  struct Rule {
    bool fits;
    const char* name;
  };
  const bool real = !IsComplex(dtype), boolean = IsBool(dtype), floating = IsFloat(dtype);
  const Rule rule = [&]() -> Rule {
    switch (accept) {
      case Accept::kAll:
        return {true, ""};
      case Accept::kNoBool:
        return {!boolean, "a number"};
      case Accept::kReal:
        return {real, "a real"};
      case Accept::kRealNumber:
        return {real && !boolean, "a real number"};
      case Accept::kFloat:
        return {floating, "a floating point"};
      case Accept::kFloatOrComplex:
        return {floating || !real, "a floating point or complex"};
      case Accept::kIntegral:
        return {real && !floating, "an integer or bool"};
      case Accept::kInteger:
        return {real && !floating && !boolean, "an integer"};
    }
    return {false, ""};
  }();
  TORCH_CHECK_NOT_IMPLEMENTED(rule.fits, op, ": expected ", rule.name, " dtype, got ",
                              DTypeName(dtype));
}

Value OpaqueLike(Builder& b, Value like, const c10::Scalar& value) {
  return b.Broadcast(b.OptimizationBarrier({b.Constant(like.dtype(), value)})[0], like.dims());
}

Value KeepDims(Builder& b, Value reduced, const Dims& original, IntArrayRef dims) {
  Dims kept = original;
  for (int64_t d : dims) kept[d] = 1;
  return b.Reshape(reduced, kept);
}

Value DropDims(Builder& b, Value kept, IntArrayRef dims) {
  Dims left;
  for (int64_t i = 0; i < kept.rank(); ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) left.push_back(kept.dim(i));
  }
  return b.Reshape(kept, left);
}

Value ReduceWith(Builder& b, std::string_view op, Value x, Value init, IntArrayRef dims) {
  constexpr int64_t kLanes = 16;
  const auto reduced = [&](int64_t dim) {
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
  };
  int64_t leading = x.rank(), count = 1;
  while (leading > 0 && reduced(leading - 1)) count *= x.dim(--leading);
  if (b.target() != hlo::Target::kCpu || b.keeps_operations() || count < 2 * kLanes) {
    return b.Reduce(op, x, init, dims);
  }

  Dims shape(x.dims().begin(), x.dims().begin() + leading), others;
  for (int64_t i = 0; i < leading; ++i) {
    if (reduced(i)) others.push_back(i);
  }
  const auto with = [](Dims list, std::initializer_list<int64_t> more) {
    list.insert(list.end(), more);
    return list;
  };
  const int64_t whole = count / kLanes * kLanes;
  x = b.Reshape(x, with(shape, {count}));
  const Value lanes = b.Reduce(
      op, b.Reshape(b.SliceDim(x, leading, 0, whole), with(shape, {whole / kLanes, kLanes})), init,
      with(others, {leading}));
  const Value result = b.Reduce(op, b.OptimizationBarrier({lanes})[0], init, {lanes.rank() - 1});
  if (whole == count) return result;
  return b.Binary(
      op, result,
      b.Reduce(op, b.SliceDim(x, leading, whole, count), init, with(others, {leading})));
}

Value Sum(Builder& b, Value x, IntArrayRef dims, bool keep_dims) {
  const Value wide = b.Convert(x, AccumulateType(x.dtype()));
  const Value sum = ReduceWith(b, "add", wide, b.Constant(wide.dtype(), 0), dims);
  return keep_dims ? KeepDims(b, sum, x.dims(), dims) : sum;
}

Value MaxOver(Builder& b, Value x, IntArrayRef dims, bool keep_dims) {
  const Value max = ReduceWith(b, "maximum", x, b.LowestOf(x.dtype()), dims);
  return keep_dims ? KeepDims(b, max, x.dims(), dims) : max;
}

Value MinOver(Builder& b, Value x, IntArrayRef dims, bool keep_dims) {
  const Value min = ReduceWith(b, "minimum", x, b.HighestOf(x.dtype()), dims);
  return keep_dims ? KeepDims(b, min, x.dims(), dims) : min;
}

Value All(Builder& b, Value predicate) {
  Dims every(predicate.rank());
  std::iota(every.begin(), every.end(), 0);
  return ReduceWith(b, "and", predicate, b.Constant(DType::Bool, true), every);
}

Value Any(Builder& b, Value predicate) {
  Dims every(predicate.rank());
  std::iota(every.begin(), every.end(), 0);
  return ReduceWith(b, "or", predicate, b.Constant(DType::Bool, false), every);
}

int64_t CountOver(const Dims& sizes, IntArrayRef dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= sizes[d];
  return n;
}

Value AlongDim(Builder& b, Value vector, int64_t rank, int64_t dim) {
  Dims dims(rank, 1);
  dims[dim] = vector.numel();
  return b.Reshape(vector, dims);
}

Value IotaLike(Builder& b, DType dtype, const Dims& dims, int64_t dim) {
  return b.Iota(dtype, dims, dim);
}

Value Erf(Builder& b, Value x) {
  const Value erf = b.Unary("chlo.erf", x);
  if (x.dtype() != DType::Float) return erf;
  const Value far = b.Gt(b.Abs(x), b.ConstantLike(x, 3.8325));
  return b.Select(far, b.Sign(x), erf);
}

Value IsNaN(Builder& b, Value x) {
  if (IsComplex(x.dtype())) return b.Or(IsNaN(b, b.Real(x)), IsNaN(b, b.Imag(x)));
  if (!IsFloat(x.dtype())) return b.Constant(DType::Bool, false, x.dims());
  return b.Ne(x, x);
}

bool Positive(double x) { return x > 0; }
Value PositiveValue(Builder& b, Value x) { return b.Gt(x, b.ConstantLike(x, 0)); }
bool NotNegative(double x) { return x >= 0; }
Value NotNegativeValue(Builder& b, Value x) { return b.Ge(x, b.ConstantLike(x, 0)); }

void RequireNumber(Builder& b, const OpCall& call, int arg, bool (*check)(double),
                   Value (*ok)(Builder&, Value), const char* message) {
  const NumberArg& number = call.RawNumber(arg);
  if (number.constant) {
    TORCH_CHECK(check(number.constant->toDouble()), call.name(), ": ", message, ", got ",
                number.constant->toDouble());
    return;
  }
  call.Require(ok(b, NumberValue(b, number, DType::Double)), message);
}

}  // namespace torch_tpu::lowering
