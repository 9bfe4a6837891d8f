// Softmax in its forms, and log-sum-exp.
#include <c10/util/Exception.h>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

struct Shifted {
  Value x;    // minus its maximum over `dims`
  Value sum;  // of exp(x), with 1s in place of `dims`
  Dims dims;
};

// `x` shifted so that its largest element is 0, with the sum of its exponentials.
Shifted Shift(Builder& b, Value x, Dims dims) {
  const Value max = MaxOver(b, x, dims, /*keep_dims=*/true);
  const Value shifted = x - b.Broadcast(max, x.dims());
  return {shifted, Sum(b, b.Exp(shifted), dims, /*keep_dims=*/true), dims};
}

struct Input {
  Value x;       // in the type that is computed in
  DType result;  // the type of the result
  Dims dims;     // the one dimension, none for a 0-d tensor
};

// Arguments (Tensor self, int dim, bool half_to_float).
Input SoftmaxInput(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  CheckDtype(call.name(), x.dtype(), Accept::kFloat);
  const int64_t dim = call.Dim(1, x.rank());
  const bool half_to_float = call.Bool(2);
  const DType wide = AccumulateType(x.dtype());
  TORCH_CHECK(!half_to_float || x.dtype() == DType::Half, call.name(),
              ": conversion is supported for Half type only, got ", DTypeName(x.dtype()));
  return {b.Convert(x, wide), half_to_float ? wide : x.dtype(),
          x.rank() == 0 ? Dims() : Dims({dim})};
}

// aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
Value Softmax(Builder& b, const OpCall& call) {
  const Input in = SoftmaxInput(b, call);
  const Shifted s = Shift(b, in.x, in.dims);
  return b.Convert(b.Exp(s.x) / b.Broadcast(s.sum, in.x.dims()), in.result);
}

// aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
Value LogSoftmax(Builder& b, const OpCall& call) {
  const Input in = SoftmaxInput(b, call);
  const Shifted s = Shift(b, in.x, in.dims);
  return b.Convert(s.x - b.Broadcast(b.Log(s.sum), in.x.dims()), in.result);
}

// Rows that are -inf everywhere give 0.
// aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
Value SafeSoftmax(Builder& b, const OpCall& call) {
  const DType type = call.DtypeOr(2, call.Tensor(0).dtype());
  CheckDtype(call.name(), type, Accept::kFloat);
  const Value x = b.Convert(b.Convert(call.Tensor(0), type), AccumulateType(type));
  const Dims dims = x.rank() == 0 ? Dims() : Dims({call.Dim(1, x.rank())});
  const Shifted s = Shift(b, x, dims);
  const Value softmax = b.Exp(s.x) / b.Broadcast(s.sum, x.dims());
  const Value max = MaxOver(b, x, dims, /*keep_dims=*/true);
  const Value masked = b.Eq(max, b.Infinity(max.dtype(), true, max.dims()));
  return b.Convert(b.Select(b.Broadcast(masked, x.dims()), b.ConstantLike(x, 0), softmax), type);
}

// Arguments (Tensor grad_output, Tensor output, int dim, ScalarType input_dtype).
template <bool log>
Value SoftmaxBackward(Builder& b, const OpCall& call) {
  const DType type = call.Tensor(1).dtype(), wide = AccumulateType(type);
  CheckDtype(call.name(), type, Accept::kFloat);
  const Value grad = b.Convert(call.Tensor(0), wide), output = b.Convert(call.Tensor(1), wide);
  TORCH_CHECK(grad.dims() == output.dims(), call.name(), ": expected grad_output of shape ",
              ToString(output.dims()), ", got ", ToString(grad.dims()));
  const int64_t dim = call.Dim(2, output.rank());
  const Dims dims = output.rank() == 0 ? Dims() : Dims({dim});
  const auto total = [&](Value x) {
    return b.Broadcast(Sum(b, x, dims, /*keep_dims=*/true), x.dims());
  };
  const Value result =
      log ? grad - b.Exp(output) * total(grad) : (grad - total(grad * output)) * output;
  return b.Convert(result, call.Dtype(3));
}

// aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
Value LogSumExp(Builder& b, const OpCall& call) {
  const DType type = call.FloatResultType({0}), wide = AccumulateType(type);
  const Value x = b.Convert(call.Tensor(0), wide);
  const Dims dims = call.ReduceDims(1, x.rank());
  const Value parts = b.Real(x);
  Value max = MaxOver(b, parts, dims, /*keep_dims=*/true);
  // An infinite maximum would give inf - inf.
  const Value infinite = b.Eq(b.Abs(max), b.Infinity(max.dtype(), false, max.dims()));
  max = b.Convert(b.Select(infinite, b.ConstantLike(max, 0), max), wide);
  const Value sum = Sum(b, b.Exp(x - b.Broadcast(max, x.dims())), dims, /*keep_dims=*/true);
  const Value result = b.Convert(b.Log(sum) + max, type);
  return call.Bool(2) ? result : DropDims(b, result, dims);
}

}  // namespace

OpRows SoftmaxRows() {
  return {
      {"aten::_softmax", Softmax},
      {"aten::_log_softmax", LogSoftmax},
      {"aten::_safe_softmax", SafeSoftmax},
      {"aten::_softmax_backward_data", SoftmaxBackward<false>},
      {"aten::_log_softmax_backward_data", SoftmaxBackward<true>},
      {"aten::logsumexp", LogSumExp},
  };
}

}  // namespace torch_tpu::lowering
