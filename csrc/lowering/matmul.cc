// Dense matrix products. Low-precision floats accumulate in float32 and are rounded once.
#include <c10/util/Exception.h>

#include <numeric>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/indexing.h"

namespace torch_tpu::lowering {
namespace {

// Numbers that are 0 or 1 as a rule; the common values become part of the program.
constexpr uint32_t NumberArgs(int first) { return 3u << first; }

void CheckOperands(const OpCall& call, Value x, int64_t x_rank, Value y, int64_t y_rank) {
  TORCH_CHECK(x.rank() == x_rank && y.rank() == y_rank, call.name(), ": expected operands of ",
              x_rank, " and ", y_rank, " dimensions, got shapes ", ToString(x.dims()), " and ",
              ToString(y.dims()));
  TORCH_CHECK(x.dtype() == y.dtype(), call.name(), ": expected operands of the same dtype, got ",
              DTypeName(x.dtype()), " and ", DTypeName(y.dtype()));
  TORCH_CHECK_NOT_IMPLEMENTED(!IsBool(x.dtype()), call.name(),
                              ": expected a number type, got bool");
  const int64_t x_size = x.dim(-1), y_size = y.dim(y_rank == 1 ? -1 : -2);
  TORCH_CHECK(x_size == y_size && (x_rank < 3 || x.dim(0) == y.dim(0)), call.name(),
              ": expected shapes that can be multiplied, got ", ToString(x.dims()), " and ",
              ToString(y.dims()));
}

void CheckAdded(const OpCall& call, Value self, Value x) {
  TORCH_CHECK(self.dtype() == x.dtype(), call.name(),
              ": expected all operands of the same dtype, got ", DTypeName(self.dtype()), " and ",
              DTypeName(x.dtype()));
}

// beta * self + alpha * product, where a beta of zero ignores self whatever it holds.
Value AddProduct(Builder& b, const OpCall& call, Value self, Value product, int beta,
                 DType result) {
  const DType compute = product.dtype();
  const auto is = [&](int i, int64_t value) {
    const NumberArg& number = call.RawNumber(i);
    return number.constant && number.constant->equal(value);
  };
  const int alpha = beta + 1;
  if (!is(alpha, 1)) product = Scaled(b, product, call.Number(b, alpha, compute));
  self = b.Convert(ExpandTo(b, call, self, product.dims(), "the added operand"), compute);
  if (is(beta, 0)) return b.Convert(product, result);
  if (!is(beta, 1)) {
    const Value factor = call.Number(b, beta, compute);
    self = Scaled(b, self, factor);
    if (!call.RawNumber(beta).constant) {
      self = b.Select(b.Eq(factor, b.ConstantLike(factor, 0)), b.ConstantLike(self, 0), self);
    }
  }
  return b.Convert(self + product, result);
}

// aten::mm(Tensor self, Tensor mat2) -> Tensor
// aten::bmm(Tensor self, Tensor mat2) -> Tensor
// aten::mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor
// aten::bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor
template <int rank>
Value Product(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), y = call.Tensor(1);
  CheckOperands(call, x, rank, y, rank);
  const DType result = call.size() > 2 ? call.Dtype(2) : x.dtype();
  return b.Convert(MatrixProduct(b, x, y), result);
}

// aten::mv(Tensor self, Tensor vec) -> Tensor
Value Mv(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), y = call.Tensor(1);
  CheckOperands(call, x, 2, y, 1);
  return b.Convert(b.DotGeneral(x, y, {{}, {}, {1}, {0}}, AccumulateType(x.dtype())), x.dtype());
}

// aten::dot(Tensor self, Tensor tensor) -> Tensor
// aten::vdot(Tensor self, Tensor other) -> Tensor
template <bool conjugate>
Value VectorDot(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), y = call.Tensor(1);
  CheckOperands(call, x, 1, y, 1);
  return b.Convert(b.DotGeneral(conjugate ? Conjugate(b, x) : x, y, {{}, {}, {0}, {0}},
                                AccumulateType(x.dtype())),
                   x.dtype());
}

// aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
// aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)
template <int rank>
Value AddMatrixProduct(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), x = call.Tensor(1), y = call.Tensor(2);
  CheckOperands(call, x, rank, y, rank);
  CheckAdded(call, self, x);
  return AddProduct(b, call, self, MatrixProduct(b, x, y), 3, x.dtype());
}

// aten::addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1,
//     Scalar alpha=1) -> Tensor
// aten::baddbmm.dtype(...)
template <int rank>
Value AddMatrixProductAs(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(1), y = call.Tensor(2);
  CheckOperands(call, x, rank, y, rank);
  return AddProduct(b, call, call.Tensor(0), MatrixProduct(b, x, y), 4, call.Dtype(3));
}

// aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)
Value AddBatchSum(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), x = call.Tensor(1), y = call.Tensor(2);
  CheckOperands(call, x, 3, y, 3);
  CheckAdded(call, self, x);
  const Value product = b.DotGeneral(x, y, {{}, {}, {0, 2}, {0, 1}}, AccumulateType(x.dtype()));
  return AddProduct(b, call, self, product, 3, x.dtype());
}

// aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
Value AddMv(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), x = call.Tensor(1), y = call.Tensor(2);
  CheckOperands(call, x, 2, y, 1);
  CheckAdded(call, self, x);
  const Value product = b.DotGeneral(x, y, {{}, {}, {1}, {0}}, AccumulateType(x.dtype()));
  return AddProduct(b, call, self, product, 3, x.dtype());
}

// aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
Value AddOuter(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0), x = call.Tensor(1), y = call.Tensor(2);
  TORCH_CHECK(x.rank() == 1 && y.rank() == 1, call.name(), ": expected two vectors, got shapes ",
              ToString(x.dims()), " and ", ToString(y.dims()));
  const DType result = call.ResultType({0, 1, 2}), compute = AccumulateType(result);
  for (int i : {3, 4}) {
    const DType kind = call.RawNumber(i).kind;
    TORCH_CHECK(IsFloat(result) || IsComplex(result) || !IsFloat(kind), call.name(),
                ": expected integral beta and alpha for integral operands, got a floating point "
                "number");
    TORCH_CHECK(!IsBool(kind) || IsBool(result), call.name(),
                ": expected boolean beta and alpha only for a boolean result, got a result of ",
                DTypeName(result));
  }
  const Dims dims = {x.dim(0), y.dim(0)};
  const Value column = b.BroadcastInDim(b.Convert(x, compute), dims, {0});
  const Value row = b.BroadcastInDim(b.Convert(y, compute), dims, {1});
  if (!IsBool(result)) return AddProduct(b, call, self, column * row, 3, result);
  const Value beta = b.Broadcast(call.Number(b, 3, result), dims);
  const Value alpha = b.Broadcast(call.Number(b, 4, result), dims);
  const Value added = b.Convert(ExpandTo(b, call, self, dims, "the added operand"), result);
  return b.Or(b.And(beta, added), b.And(alpha, b.And(column, row)));
}

// aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1,
//     bool use_gelu=False) -> Tensor
Value AddMmActivation(Builder& b, const OpCall& call) {
  const Value sum = AddMatrixProduct<2>(b, call);
  const Value x = b.Convert(sum, AccumulateType(sum.dtype()));
  if (!call.Bool(5)) return b.Max(sum, b.ConstantLike(sum, 0));
  const Value erf = b.Unary("chlo.erf", x * 0.70710678118654752440);
  return b.Convert(x * 0.5 * (erf + 1.0), sum.dtype());
}

// aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
Value Linear(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), weight = call.Tensor(1), bias = call.TensorOrUndefined(2);
  TORCH_CHECK(
      x.rank() >= 1 && (weight.rank() == 1 || weight.rank() == 2) && x.dim(-1) == weight.dim(-1),
      call.name(), ": expected shapes that can be multiplied, got input ", ToString(x.dims()),
      " and weight ", ToString(weight.dims()));
  TORCH_CHECK(x.dtype() == weight.dtype() && (!bias.defined() || bias.dtype() == x.dtype()),
              call.name(), ": expected operands of the same dtype, got input ",
              DTypeName(x.dtype()), ", weight ", DTypeName(weight.dtype()),
              bias.defined() ? ", bias " + DTypeName(bias.dtype()) : "");
  TORCH_CHECK_NOT_IMPLEMENTED(!IsBool(x.dtype()), call.name(),
                              ": expected a number type, got bool");
  Value out = b.DotGeneral(x, weight, {{}, {}, {x.rank() - 1}, {weight.rank() - 1}},
                           AccumulateType(x.dtype()));
  if (bias.defined()) {
    out = out + b.Convert(ExpandTo(b, call, bias, out.dims(), "bias"), out.dtype());
  }
  return b.Convert(out, x.dtype());
}

// aten::linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask)
//     -> (Tensor, Tensor, Tensor)
Values LinearBackward(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), weight = call.Tensor(2);
  Value grad = call.Tensor(1);
  const std::vector<bool> wanted = call.Bools(3);
  const DType compute = AccumulateType(x.dtype());
  const int64_t features = x.dim(-1), outputs = weight.rank() == 2 ? weight.dim(0) : 1;
  const int64_t rows = NumElements(x.dims()) / std::max<int64_t>(features, 1);
  grad = b.Reshape(grad,
                   {features == 0 ? grad.numel() / std::max<int64_t>(outputs, 1) : rows, outputs});
  const Value flat_x = b.Reshape(x, {grad.dim(0), features});
  Values out(3);
  if (wanted[0]) {
    const Value grad_x =
        MatrixProduct(b, grad, Conjugate(b, b.Reshape(weight, {outputs, features})));
    out[0] = b.Convert(b.Reshape(grad_x, x.dims()), x.dtype());
  }
  if (wanted[1]) {
    const Value grad_weight = MatrixProduct(b, grad, Conjugate(b, flat_x), Side::kTransposed);
    out[1] = b.Convert(b.Reshape(grad_weight, weight.dims()), weight.dtype());
  }
  if (wanted[2]) {
    const Value sum = Sum(b, b.Convert(grad, compute), {0});
    out[2] = b.Convert(weight.rank() == 2 ? sum : b.Reshape(sum, {}), grad.dtype());
  }
  return out;
}

// aten::_int_mm(Tensor self, Tensor mat2) -> Tensor
Value IntMm(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), y = call.Tensor(1);
  TORCH_CHECK((x.dtype() == DType::Char || x.dtype() == DType::Byte) && y.dtype() == DType::Char,
              call.name(), ": expected an int8 or uint8 and an int8 matrix, got ",
              DTypeName(x.dtype()), " and ", DTypeName(y.dtype()));
  const Value wide_x = x.dtype() == DType::Byte ? b.Convert(x, DType::Int) : x;
  const Value wide_y = x.dtype() == DType::Byte ? b.Convert(y, DType::Int) : y;
  CheckOperands(call, wide_x, 2, wide_y, 2);
  return b.DotGeneral(wide_x, wide_y, {{}, {}, {1}, {0}}, DType::Int);
}

// aten::_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None,
//     Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor
Value ScaledMm(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0), y = call.Tensor(1);
  TORCH_CHECK(x.rank() == 2 && y.rank() == 2 && x.dim(1) == y.dim(0), call.name(),
              ": expected matrices that can be multiplied, got shapes ", ToString(x.dims()),
              " and ", ToString(y.dims()));
  const int64_t rows = x.dim(0), columns = y.dim(1);
  // One scale, one per row of self (or column of mat2), as [], [1], [1, 1], [rows] or [rows, 1].
  const auto scale = [&](int i, int64_t count, Dims dims) {
    const Value s = b.Convert(call.Tensor(i), DType::Float);
    TORCH_CHECK(s.numel() == 1 || s.numel() == count, call.name(), ": expected 1 or ", count,
                " scales, got shape ", ToString(s.dims()));
    return b.Broadcast(s.numel() == 1 ? b.Reshape(s, {}) : b.Reshape(s, dims), {rows, columns});
  };
  // Every float8 value is a bfloat16 value, and a product of two of those is exact in float32.
  const auto widen = [&](Value v) {
    return c10::elementSize(v.dtype()) == 1 ? b.Convert(v, DType::BFloat16) : v;
  };
  Value out = MatrixProduct(b, widen(x), widen(y));
  out = out * scale(2, rows, {rows, 1}) * scale(3, columns, {1, columns});
  if (!call.IsNone(4)) {
    out = out + b.Convert(ExpandTo(b, call, call.Tensor(4), out.dims(), "bias"), out.dtype());
  }
  const DType result = call.DtypeOr(6, x.dtype());
  if (c10::elementSize(result) != 1) return b.Convert(out, result);
  if (!call.IsNone(5)) {
    out = Scaled(b, out, b.Reshape(b.Convert(call.Tensor(5), DType::Float), {}));
  }
  const double largest = result == DType::Float8_e4m3fn ? 448 : 57344;  // saturates
  return b.Convert(
      b.Clamp(b.Constant(DType::Float, -largest), out, b.Constant(DType::Float, largest)), result);
}

}  // namespace

OpRows MatmulRows() {
  const OpRow::Flags exact = {.exact_out = true};
  const OpRow::Flags numbers = {.special_numbers = NumberArgs(3), .exact_out = true};
  const OpRow::Flags numbers_as = {.special_numbers = NumberArgs(4), .exact_out = true};
  return {
      {"aten::mm", Product<2>, exact},
      {"aten::mm.dtype", Product<2>, exact},
      {"aten::bmm", Product<3>, exact},
      {"aten::bmm.dtype", Product<3>, exact},
      {"aten::mv", Mv, exact},
      {"aten::dot", VectorDot<false>, exact},
      {"aten::vdot", VectorDot<true>, exact},
      {"aten::addmm", AddMatrixProduct<2>, numbers},
      {"aten::addmm.dtype", AddMatrixProductAs<2>, numbers_as},
      {"aten::baddbmm", AddMatrixProduct<3>, numbers},
      {"aten::baddbmm.dtype", AddMatrixProductAs<3>, numbers_as},
      {"aten::addbmm", AddBatchSum, numbers},
      {"aten::addmv", AddMv, numbers},
      {"aten::addr", AddOuter, {.special_numbers = NumberArgs(3)}},
      {"aten::_addmm_activation", AddMmActivation, numbers},
      {"aten::linear", Linear, exact},
      {"aten::linear_backward", LinearBackward},
      {"aten::_int_mm", IntMm},
      {"aten::_scaled_mm", ScaledMm},
  };
}

}  // namespace torch_tpu::lowering
