// Products, windows, reductions, sorting, control flow and what is given by name.
#include "programs.h"

namespace torch_tpu::hlo {
namespace {

Values Products(Builder& b) {
  const Value x = b.Parameter({DType::BFloat16, {7, 2, 3}}),
              y = b.Parameter({DType::BFloat16, {7, 3, 4}});
  const Value v = b.Parameter({DType::Float, {3}});
  DotDims batched;
  batched.lhs_batch = batched.rhs_batch = {0};
  batched.lhs_contract = {2};
  batched.rhs_contract = {1};
  DotDims inner;
  inner.lhs_contract = inner.rhs_contract = {0};
  return {b.DotGeneral(x, y, batched, DType::Float), b.DotGeneral(v, v, inner, DType::Float),
          b.DotGeneral(v, v, {}, DType::Float)};
}

Values Convolutions(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2, 4, 9}}),
              kernel = b.Parameter({DType::Float, {6, 2, 3}});
  ConvDims plain;
  plain.strides = {2};
  plain.padding_low = {1};
  plain.padding_high = {2};
  plain.lhs_dilation = {1};
  plain.rhs_dilation = {2};
  plain.feature_groups = 2;
  const Value image = b.Parameter({DType::Float, {5, 8, 8, 3}}),
              filter = b.Parameter({DType::Float, {3, 3, 3, 10}});
  ConvDims last;  // channels last, flipped, dilated input
  last.strides = {1, 1};
  last.padding_low = last.padding_high = {0, -1};
  last.lhs_dilation = {2, 1};
  last.rhs_dilation = {1, 1};
  last.reversal = {true, false};
  last.input_batch = last.output_batch = 0;
  last.input_feature = last.output_feature = 3;
  last.kernel_input = 2;
  last.kernel_output = 3;
  last.input_spatial = last.output_spatial = {1, 2};
  last.kernel_spatial = {0, 1};
  return {b.Convolution(x, kernel, plain, DType::Float),
          b.Convolution(image, filter, last, DType::Float)};
}

Values Reductions(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2, 3}}), zero = b.Constant(DType::Float, 0);
  const Value index = b.Iota(DType::Int, {2, 3}, 1), none = b.Constant(DType::Int, -1);
  // The larger value with its index: two arrays reduced together.
  const Values arg = b.Reduce({x, index}, {zero, none}, {1}, [](Builder& b, ValueRef v) -> Values {
    const Value left = b.Ge(v[0], v[2]);
    return {b.Select(left, v[0], v[2]), b.Select(left, v[1], v[3])};
  });
  return {b.Reduce("add", x, zero, {0, 1}), b.Reduce("maximum", x, zero, {0}), arg[0], arg[1]};
}

Values Windows(Builder& b) {
  const Value x = b.Parameter({DType::Float, {1, 6}}), zero = b.Constant(DType::Float, 0);
  WindowDims pool;
  pool.sizes = {1, 3};
  pool.strides = {1, 2};
  pool.padding_low = {0, 1};
  pool.padding_high = {0, 1};
  WindowDims dilated;
  dilated.sizes = {1, 2};
  dilated.base_dilations = {1, 2};
  dilated.window_dilations = {1, 3};
  const Value sums = b.ReduceWindow("add", x, zero, pool);
  const Values both =
      b.ReduceWindow({x, x}, {zero, zero}, dilated,
                     [](Builder&, ValueRef v) -> Values { return {v[0] + v[2], v[1] * v[3]}; });
  const Value back = b.SelectAndScatter(
      x, sums, zero, pool, [](Builder& b, ValueRef v) -> Values { return {b.Ge(v[0], v[1])}; },
      [](Builder&, ValueRef v) -> Values { return {v[0] + v[1]}; });
  return {sums, both[0], both[1], back};
}

Values Sorts(Builder& b) {
  const Value keys = b.Parameter({DType::Float, {2, 3}}), index = b.Iota(DType::Long, {2, 3}, 1);
  return b.Sort({keys, index}, 1, true, [](Builder& b, ValueRef v) -> Values {
    return {b.CompareTotalOrder("LT", v[0], v[1])};
  });
}

Values RandomBits(Builder& b) {
  const auto [state, bits] =
      b.RngBitGenerator(b.Parameter({DType::UInt64, {2}}), DType::UInt32, {4});
  return {state, bits};
}

Values Fourier(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2, 8}}),
              z = b.Parameter({DType::ComplexFloat, {2, 5}});
  return {b.Fft(x, "RFFT", {8}), b.Fft(z, "IRFFT", {8}), b.Fft(z, "FFT", {5}),
          b.Fft(z, "IFFT", {2, 5})};
}

Values Solvers(Builder& b) {
  const Value a = b.Parameter({DType::Float, {3, 3}}), x = b.Parameter({DType::Float, {3, 2}});
  const Value factor = b.Cholesky(a, true);
  return {factor, b.TriangularSolve(factor, x, true, true, false, "NO_TRANSPOSE"),
          b.TriangularSolve(a, b.Transpose(x, {1, 0}), false, false, true, "ADJOINT")};
}

// Regions in regions, with values of the function used inside them.
Values ControlFlow(Builder& b) {
  const Value n = b.Parameter({DType::Int, {}}), x = b.Parameter({DType::Float, {2}});
  b.SetLocation("aten::loop");
  const Values loop = b.While(
      {b.Constant(DType::Int, 0), x},
      [&](Builder& b, ValueRef v) -> Values { return {b.Lt(v[0], n)}; },
      [&](Builder& b, ValueRef v) -> Values {
        const Value one = b.Constant(DType::Int, 1), two = b.Constant(DType::Int, 2);
        const Values next = b.If(
            b.Eq(b.Rem(v[0], two), one), [&](Builder&, ValueRef) -> Values { return {v[1] + x}; },
            [&](Builder& b, ValueRef) -> Values {
              const Value sum = b.Reduce("add", v[1], b.Constant(DType::Float, 0), {0});
              return {b.Broadcast(sum, {2})};
            });
        return {b.Add(v[0], one), next[0]};
      });
  return {loop[0], loop[1]};
}

Values ByName(Builder& b) {
  const Value x = b.Parameter({DType::Float, {2}}), y = b.Parameter({DType::Int, {}});
  Values v = b.OptimizationBarrier({x, y});
  v.push_back(b.CustomCall("Sharding", {x}, {Type{DType::Float, {2}}}, "a=1")[0]);
  v.push_back(b.Raw("round_nearest_afz", {x}, {Type{DType::Float, {2}}}, "")[0]);
  v.push_back(b.Raw("get_dimension_size", {x}, {Type{DType::Int, {}}}, "dimension = 0 : i64")[0]);
  return v;
}

}  // namespace

std::vector<GoldenProgram> StructuredPrograms() {
  return {
      {"products", Products},
      {"convolution", Convolutions},
      {"reduce", Reductions},
      {"windows", Windows},
      {"sort", Sorts},
      {"random_bits", RandomBits},
      {"fft", Fourier},
      {"solvers", Solvers},
      {"control_flow", ControlFlow},
      {"by_name", ByName},
  };
}

}  // namespace torch_tpu::hlo
