// Sums, products, means, variances, norms and truth over dimensions.
#include <c10/util/Exception.h>

#include <cmath>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// ---- sums and products

// The type of a sum or product: the asked one, else int64 for ints and bools.
DType SumType(const OpCall& call, DType input, int dtype) {
  const DType natural = c10::isIntegralType(input, true) ? DType::Long : input;
  return dtype < 0 ? natural : call.DtypeOr(dtype, natural);
}

// Positions of the arguments of a reduction in its schema; -1: it has none.
struct Layout {
  int dim = -1, keep_dim = -1, dtype = -1;
};

Dims DimsOf(const OpCall& call, int dim, int64_t rank) {
  if (dim >= 0) return call.ReduceDims(dim, rank);
  Dims every(rank);
  for (int64_t i = 0; i < rank; ++i) every[i] = i;
  return every;
}

// Reduces with the binary op `op`, starting from `identity`.
Value ReduceOver(Builder& b, const OpCall& call, Layout at, const char* op, int identity,
                 bool skip_nan = false) {
  const Value self = call.Tensor(0);
  const DType type = SumType(call, self.dtype(), at.dtype), wide = AccumulateType(type);
  const Dims dims = DimsOf(call, at.dim, self.rank());
  Value x = b.Convert(self, wide);
  if (skip_nan) x = b.Select(IsNaN(b, x), b.ConstantLike(x, 0), x);
  const Value reduced = b.Convert(ReduceWith(b, op, x, b.Constant(wide, identity), dims), type);
  const bool keep = at.keep_dim >= 0 && call.Bool(at.keep_dim);
  return keep ? KeepDims(b, reduced, self.dims(), dims) : reduced;
}

// aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
Value SumAll(Builder& b, const OpCall& call) { return ReduceOver(b, call, {.dtype = 1}, "add", 0); }

// aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)
Value SumDims(Builder& b, const OpCall& call) {
  return ReduceOver(b, call, {.dim = 1, .keep_dim = 2, .dtype = 3}, "add", 0);
}

// aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)
Value NanSum(Builder& b, const OpCall& call) {
  TORCH_CHECK(!IsComplex(call.Tensor(0).dtype()), call.name(), ": expected a real dtype, got ",
              DTypeName(call.Tensor(0).dtype()));
  return ReduceOver(b, call, {.dim = 1, .keep_dim = 2, .dtype = 3}, "add", 0, /*skip_nan=*/true);
}

// aten::hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor
Value HashTensor(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  CheckDtype(call.name(), self.dtype(), Accept::kReal);
  TORCH_CHECK(call.Int(3) == 0, call.name(), ": expected mode 0, got ", call.Int(3));
  const Value wide = b.Convert(self, IsFloat(self.dtype())           ? DType::Double
                                     : self.dtype() == DType::UInt64 ? DType::UInt64
                                                                     : DType::Long);
  const Dims dims = call.ReduceDims(1, self.rank());
  const Value bits = b.BitcastConvert(wide, DType::UInt64);
  const Value hash = ReduceWith(b, "xor", bits, b.Constant(DType::UInt64, 0), dims);
  return call.Bool(2) ? KeepDims(b, hash, self.dims(), dims) : hash;
}

// aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor
Value ProductAll(Builder& b, const OpCall& call) {
  return ReduceOver(b, call, {.dtype = 1}, "multiply", 1);
}

// aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)
Value ProductDim(Builder& b, const OpCall& call) {
  return ReduceOver(b, call, {.dim = 1, .keep_dim = 2, .dtype = 3}, "multiply", 1);
}

// aten::trace(Tensor self) -> Tensor
Value Trace(Builder& b, const OpCall& call) {
  const Value self = call.Tensor(0);
  TORCH_CHECK(self.rank() == 2, call.name(), ": expected a matrix, got shape ",
              ToString(self.dims()));
  const DType type = SumType(call, self.dtype(), -1);
  const Value x = b.Convert(self, AccumulateType(type));
  const Value on_diagonal = b.Eq(b.Iota(DType::Int, x.dims(), 0), b.Iota(DType::Int, x.dims(), 1));
  return b.Convert(Sum(b, b.Select(on_diagonal, x, b.ConstantLike(x, 0)), {0, 1}), type);
}

// ---- means and variances

Value MeanOver(Builder& b, Value wide, IntArrayRef dims, bool keep_dims) {
  const Value sum = Sum(b, wide, dims, keep_dims);
  return sum / OpaqueLike(b, sum, CountOver(wide.dims(), dims));
}

Value Mean(Builder& b, const OpCall& call, Layout at) {
  const Value self = call.Tensor(0);
  const DType type = call.DtypeOr(at.dtype, self.dtype());
  TORCH_CHECK(IsFloat(type) || IsComplex(type), call.name(),
              ": expected a floating point or complex dtype, got ", DTypeName(type),
              ". Give dtype= or convert the input");
  const Value x = b.Convert(self, AccumulateType(type));
  const bool keep = at.keep_dim >= 0 && call.Bool(at.keep_dim);
  return b.Convert(MeanOver(b, x, DimsOf(call, at.dim, x.rank()), keep), type);
}

// aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
Value MeanAll(Builder& b, const OpCall& call) { return Mean(b, call, {.dtype = 1}); }

// aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
Value MeanDims(Builder& b, const OpCall& call) {
  return Mean(b, call, {.dim = 1, .keep_dim = 2, .dtype = 3});
}

struct Moments {
  Value variance, mean;  // in the type of the result
};

// Arguments (Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False).
Moments MomentsOf(Builder& b, const OpCall& call, bool root) {
  const DType type = call.Tensor(0).dtype();
  TORCH_CHECK(IsFloat(type) || IsComplex(type), call.name(),
              ": std and var only support floating point and complex dtypes, got ",
              DTypeName(type));
  const Value x = b.Convert(call.Tensor(0), AccumulateType(type));
  const Dims dims = call.ReduceDims(1, x.rank());
  const Value mean = MeanOver(b, x, dims, /*keep_dims=*/true);
  const Value gap = x - b.Broadcast(mean, x.dims());
  const auto square = [&](Value v) { return Sum(b, v * v, dims, /*keep_dims=*/true); };
  const Value squares = IsComplex(type) ? square(b.Real(gap)) + square(b.Imag(gap)) : square(gap);
  const DType real = squares.dtype();
  const Value count = b.Constant(real, CountOver(x.dims(), dims));
  const Value freedom = b.Max(count - call.NumberOr(b, 2, 1, real), b.Constant(real, 0));
  Value variance = squares / b.Broadcast(b.OptimizationBarrier({freedom})[0], squares.dims());
  if (root) variance = b.Sqrt(variance);
  const auto finish = [&](Value v, DType result) {
    return b.Convert(call.Bool(3) ? v : DropDims(b, v, dims), result);
  };
  return {finish(variance, RealType(type)), finish(mean, type)};
}

template <bool root>
Value Variance(Builder& b, const OpCall& call) {
  return MomentsOf(b, call, root).variance;
}

template <bool root>
Values VarianceAndMean(Builder& b, const OpCall& call) {
  const Moments moments = MomentsOf(b, call, root);
  return {moments.variance, moments.mean};
}

// ---- truth

Value TruthOver(Builder& b, const OpCall& call, Layout at, bool all) {
  const Value self = call.Tensor(0);
  const Dims dims = DimsOf(call, at.dim, self.rank());
  const Value truth = ReduceWith(b, all ? "and" : "or", b.Convert(self, DType::Bool),
                                 b.Constant(DType::Bool, all), dims);
  // uint8 stands for bool in old code and stays uint8.
  const Value result = b.Convert(truth, self.dtype() == DType::Byte ? DType::Byte : DType::Bool);
  const bool keep = at.keep_dim >= 0 && call.Bool(at.keep_dim);
  return keep ? KeepDims(b, result, self.dims(), dims) : result;
}

// aten::all(Tensor self) -> Tensor
template <bool all>
Value Truth(Builder& b, const OpCall& call) {
  return TruthOver(b, call, {}, all);
}

// aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
// aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
template <bool all>
Value TruthDims(Builder& b, const OpCall& call) {
  // An empty list of dimensions reduces nothing here, unlike in sums.
  const bool none = call.arg(1).kind == Arg::Kind::kInts && call.Ints(1).empty();
  if (none) {
    const bool byte = call.Tensor(0).dtype() == DType::Byte;
    return b.Convert(b.Convert(call.Tensor(0), DType::Bool), byte ? DType::Byte : DType::Bool);
  }
  return TruthOver(b, call, {.dim = 1, .keep_dim = 2}, all);
}

// aten::_is_all_true(Tensor self) -> Tensor
// aten::_is_any_true(Tensor self) -> Tensor
template <bool all>
Value IsTrue(Builder& b, const OpCall& call) {
  const DType type = call.Tensor(0).dtype();
  TORCH_CHECK(IsBool(type), call.name(), ": expected a bool tensor, got ", DTypeName(type));
  return TruthOver(b, call, {}, all);
}

// aten::count_nonzero(Tensor self, int? dim=None) -> Tensor
// aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor
Value CountNonzero(Builder& b, const OpCall& call) {
  const Value truth = b.Convert(call.Tensor(0), DType::Bool);
  return Sum(b, b.Convert(truth, DType::Long), call.ReduceDims(1, truth.rank()));
}

// ---- norms

// The p-norm over `dims`, in the type that is computed in.
Value Norm(Builder& b, const OpCall& call, Value x, double p, IntArrayRef dims, bool keep_dims) {
  const bool identity = p >= 0 && !std::isinf(p);
  if (!identity) {
    for (int64_t d : dims.empty() ? IntArrayRef() : dims) {
      TORCH_CHECK(x.dim(d) != 0, call.name(), ": cannot compute the norm of order ", p,
                  " over dimension ", d, " of an empty tensor of shape ", ToString(x.dims()),
                  ": the operation does not have an identity");
    }
  }
  const Value size = b.Abs(x), zero = b.ConstantLike(size, 0);
  if (std::isinf(p)) {
    return p > 0 ? MaxOver(b, size, dims, keep_dims) : MinOver(b, size, dims, keep_dims);
  }
  if (p == 0) return Sum(b, b.Convert(b.Ne(size, zero), size.dtype()), dims, keep_dims);
  if (p == 1) return Sum(b, size, dims, keep_dims);
  if (p == 2) {
    const Value squares =
        IsComplex(x.dtype()) ? b.Real(x) * b.Real(x) + b.Imag(x) * b.Imag(x) : x * x;
    return b.Sqrt(Sum(b, squares, dims, keep_dims));
  }
  const Value sum = Sum(b, b.Pow(size, b.ConstantLike(size, p)), dims, keep_dims);
  return b.Pow(sum, b.ConstantLike(sum, 1 / p));
}

struct NormArgs {
  int ord = 1, dim = -1, keep_dim = -1, dtype = -1;
};

Value VectorNorm(Builder& b, const OpCall& call, NormArgs at) {
  const Value self = call.Tensor(0);
  const DType input = self.dtype();
  TORCH_CHECK(IsFloat(input) || IsComplex(input), call.name(),
              ": expected a floating point or complex tensor, got ", DTypeName(input));
  const bool asked = at.dtype >= 0 && !call.IsNone(at.dtype);
  const DType type = asked ? call.Dtype(at.dtype) : input;
  TORCH_CHECK(IsFloat(type) || IsComplex(type), call.name(),
              ": expected dtype to be floating point or complex, got ", DTypeName(type));
  TORCH_CHECK(IsComplex(type) == IsComplex(input) || !IsComplex(input), call.name(),
              ": expected a complex dtype for a complex tensor, got ", DTypeName(type));
  TORCH_CHECK(c10::promoteTypes(input, type) == type, call.name(), ": expected a dtype that ",
              DTypeName(input), " converts to without loss, got ", DTypeName(type));
  const c10::Scalar order = call.IsNone(at.ord) ? c10::Scalar(2.0) : call.StaticNumber(at.ord);
  const Dims dims = DimsOf(call, at.dim, self.rank());
  const Value x = b.Convert(self, AccumulateType(type));
  const bool keep = at.keep_dim >= 0 && call.Bool(at.keep_dim);
  return b.Convert(Norm(b, call, x, order.toDouble(), dims, keep), RealType(type));
}

// aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *,
//                          ScalarType? dtype=None) -> Tensor
// aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
// aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *,
//                                ScalarType dtype) -> Tensor
template <bool with_dtype>
Value NormDims(Builder& b, const OpCall& call) {
  return VectorNorm(b, call, {.dim = 2, .keep_dim = 3, .dtype = with_dtype ? 4 : -1});
}

// aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor
// aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor
template <bool with_dtype>
Value NormAll(Builder& b, const OpCall& call) {
  return VectorNorm(b, call, {.dtype = with_dtype ? 2 : -1});
}

}  // namespace

OpRows ReductionRows() {
  const OpRow::Flags norm = {.static_numbers = 1u << 1, .exact_out = true};
  return {
      {"aten::sum", SumAll},
      {"aten::sum.dim_IntList", SumDims},
      {"aten::nansum", NanSum},
      {"aten::hash_tensor", HashTensor},
      {"aten::prod", ProductAll},
      {"aten::prod.dim_int", ProductDim},
      {"aten::trace", Trace},
      {"aten::mean", MeanAll},
      {"aten::mean.dim", MeanDims},
      {"aten::var.correction", Variance<false>},
      {"aten::std.correction", Variance<true>},
      {"aten::var_mean.correction", VarianceAndMean<false>},
      {"aten::std_mean.correction", VarianceAndMean<true>},
      {"aten::all", Truth<true>},
      {"aten::all.dim", TruthDims<true>},
      {"aten::all.dims", TruthDims<true>},
      {"aten::any", Truth<false>},
      {"aten::any.dim", TruthDims<false>},
      {"aten::any.dims", TruthDims<false>},
      {"aten::_is_all_true", IsTrue<true>},
      {"aten::_is_any_true", IsTrue<false>},
      {"aten::count_nonzero", CountNonzero},
      {"aten::count_nonzero.dim_IntList", CountNonzero},
      {"aten::linalg_vector_norm", NormDims<true>, norm},
      {"aten::norm.Scalar", NormAll<false>, norm},
      {"aten::norm.ScalarOpt_dtype", NormAll<true>, norm},
      {"aten::norm.ScalarOpt_dim", NormDims<false>, norm},
      {"aten::norm.ScalarOpt_dim_dtype", NormDims<true>, norm},
  };
}

}  // namespace torch_tpu::lowering
