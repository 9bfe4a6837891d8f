// Products, windows, reductions, sorting and control flow.
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <numeric>

#include "hlo/builder.h"
#include "hlo/printer.h"

namespace torch_tpu::hlo {
namespace {

Region BinaryRegion(std::string_view op) {
  return [op = std::string(op)](Builder& b, ValueRef args) -> Values {
    return {b.Binary(op, args[0], args[1])};
  };
}

std::vector<Type> ScalarPairs(ValueRef xs) {
  std::vector<Type> types;
  for (int half = 0; half < 2; ++half) {
    for (const Value& x : xs) types.push_back({x.dtype(), {}});
  }
  return types;
}

std::string PaddingAttr(IntArrayRef low, IntArrayRef high) {
  std::string text;
  for (size_t i = 0; i < low.size(); ++i) {
    text += fmt::format("{}[{}, {}]", i == 0 ? "" : ", ", low[i], high[i]);
  }
  if (low.empty()) return "dense<> : tensor<0x2xi64>";
  return fmt::format("dense<[{}]> : tensor<{}x2xi64>", text, low.size());
}

std::string PrecisionAttr(Precision precision) {
  constexpr std::string_view kNames[] = {"DEFAULT", "HIGH", "HIGHEST"};
  return fmt::format("precision_config = [#stablehlo<precision {0}>, #stablehlo<precision {0}>]",
                     kNames[static_cast<size_t>(precision)]);
}

WindowDims Filled(const WindowDims& w) {
  WindowDims f = w;
  const size_t rank = w.sizes.size();
  if (f.strides.empty()) f.strides.assign(rank, 1);
  if (f.base_dilations.empty()) f.base_dilations.assign(rank, 1);
  if (f.window_dilations.empty()) f.window_dilations.assign(rank, 1);
  if (f.padding_low.empty()) f.padding_low.assign(rank, 0);
  if (f.padding_high.empty()) f.padding_high.assign(rank, 0);
  return f;
}

}  // namespace

Value Builder::DotGeneral(Value x, Value y, const DotDims& d, DType result) {
  Dims dims;
  int64_t rows = 1;
  auto contains = [](const Dims& list, int64_t v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  };
  for (int64_t i : d.lhs_batch) dims.push_back(x.dim(i));
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (contains(d.lhs_batch, i) || contains(d.lhs_contract, i)) continue;
    dims.push_back(x.dim(i));
    rows *= x.dim(i);
  }
  least_product_rows_ = std::min(least_product_rows_, rows);
  for (int64_t i = 0; i < y.rank(); ++i) {
    if (!contains(d.rhs_batch, i) && !contains(d.rhs_contract, i)) dims.push_back(y.dim(i));
  }
  int64_t depth = 1;
  for (int64_t i : d.lhs_contract) depth *= x.dim(i);
  product_work_ += NumElements(dims) * depth;
  return Emit1("dot_general", {x, y}, {result, dims},
               fmt::format("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {}, "
                           "rhs_batching_dimensions = {}, lhs_contracting_dimensions = {}, "
                           "rhs_contracting_dimensions = {}>, {}",
                           ListText(d.lhs_batch), ListText(d.rhs_batch), ListText(d.lhs_contract),
                           ListText(d.rhs_contract), PrecisionAttr(precision_)));
}

Value Builder::Convolution(Value x, Value kernel, const ConvDims& d, DType result) {
  const size_t spatial = d.strides.size();
  auto or_default = [&](const Dims& dims) {
    if (!dims.empty() || spatial == 0) return dims;
    Dims standard(spatial);
    std::iota(standard.begin(), standard.end(), 2);
    return standard;
  };
  const Dims in = or_default(d.input_spatial), k = or_default(d.kernel_spatial),
             out = or_default(d.output_spatial);
  Dims dims(spatial + 2);
  dims[d.output_batch] = x.dim(d.input_batch) / d.batch_groups;
  dims[d.output_feature] = kernel.dim(d.kernel_output);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t size = x.dim(in[i]), window = (kernel.dim(k[i]) - 1) * d.rhs_dilation[i] + 1;
    const int64_t dilated = size == 0 ? 0 : (size - 1) * d.lhs_dilation[i] + 1;
    const int64_t padded = dilated + d.padding_low[i] + d.padding_high[i];
    dims[out[i]] = padded < window ? 0 : (padded - window) / d.strides[i] + 1;
  }
  std::vector<bool> reversal = d.reversal;
  reversal.resize(spatial, false);
  c10::SmallVector<bool, 4> reversed(reversal.begin(), reversal.end());
  return Emit1(
      "convolution", {x, kernel}, {result, dims},
      fmt::format(
          "window_strides = {}, padding = {}, lhs_dilation = {}, rhs_dilation = {}, "
          "window_reversal = {}, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = "
          "{}, input_feature_dimension = {}, input_spatial_dimensions = {}, "
          "kernel_input_feature_dimension = {}, kernel_output_feature_dimension = {}, "
          "kernel_spatial_dimensions = {}, output_batch_dimension = {}, "
          "output_feature_dimension = {}, output_spatial_dimensions = {}>, "
          "feature_group_count = {} : i64, batch_group_count = {} : i64, {}",
          ArrayAttr(d.strides), PaddingAttr(d.padding_low, d.padding_high),
          ArrayAttr(d.lhs_dilation), ArrayAttr(d.rhs_dilation), BoolArrayAttr(reversed),
          d.input_batch, d.input_feature, ListText(in), d.kernel_input, d.kernel_output,
          ListText(k), d.output_batch, d.output_feature, ListText(out), d.feature_groups,
          d.batch_groups, PrecisionAttr(precision_)));
}

Values Builder::Reduce(ValueRef xs, ValueRef inits, IntArrayRef dims, const Region& body) {
  Dims kept;
  for (int64_t i = 0; i < xs[0].rank(); ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) kept.push_back(xs[0].dim(i));
  }
  std::vector<Type> results;
  for (const Value& x : xs) results.push_back({x.dtype(), kept});
  Values operands = xs.vec();
  operands.insert(operands.end(), inits.begin(), inits.end());
  return Emit("reduce", operands, results, "dimensions = " + ArrayAttr(dims),
              {RegionText(ScalarPairs(xs), body)});
}

Value Builder::Reduce(std::string_view op, Value x, Value init, IntArrayRef dims) {
  return Reduce(ValueRef(x), ValueRef(init), dims, BinaryRegion(op))[0];
}

Values Builder::ReduceWindow(ValueRef xs, ValueRef inits, const WindowDims& window,
                             const Region& body) {
  const WindowDims w = Filled(window);
  Dims dims;
  for (int64_t i = 0; i < xs[0].rank(); ++i) {
    const int64_t n = xs[0].dim(i);
    const int64_t padded =
        (n == 0 ? 0 : (n - 1) * w.base_dilations[i] + 1) + w.padding_low[i] + w.padding_high[i];
    const int64_t span = (w.sizes[i] - 1) * w.window_dilations[i] + 1;
    dims.push_back(padded < span ? 0 : (padded - span) / w.strides[i] + 1);
  }
  std::vector<Type> results;
  for (const Value& x : xs) results.push_back({x.dtype(), dims});
  Values operands = xs.vec();
  operands.insert(operands.end(), inits.begin(), inits.end());
  return Emit(
      "reduce_window", operands, results,
      fmt::format("window_dimensions = {}, window_strides = {}, base_dilations = {}, "
                  "window_dilations = {}, padding = {}",
                  ArrayAttr(w.sizes), ArrayAttr(w.strides), ArrayAttr(w.base_dilations),
                  ArrayAttr(w.window_dilations), PaddingAttr(w.padding_low, w.padding_high)),
      {RegionText(ScalarPairs(xs), body)});
}

Value Builder::ReduceWindow(std::string_view op, Value x, Value init, const WindowDims& window) {
  return ReduceWindow(ValueRef(x), ValueRef(init), window, BinaryRegion(op))[0];
}

Value Builder::SelectAndScatter(Value x, Value source, Value init, const WindowDims& window,
                                const Region& select, const Region& scatter) {
  const WindowDims w = Filled(window);
  const std::vector<Type> pair(2, Type{x.dtype(), {}});
  return Emit1(
      "select_and_scatter", {x, source, init}, x.type(),
      fmt::format("window_dimensions = {}, window_strides = {}, padding = {}", ArrayAttr(w.sizes),
                  ArrayAttr(w.strides), PaddingAttr(w.padding_low, w.padding_high)),
      {RegionText(pair, select), RegionText(pair, scatter)});
}

Values Builder::Sort(ValueRef xs, int64_t dim, bool stable, const Region& less) {
  std::vector<Type> results, arguments;
  for (const Value& x : xs) {
    results.push_back(x.type());
    for (int side = 0; side < 2; ++side) arguments.push_back({x.dtype(), {}});
  }
  return Emit("sort", xs, results, fmt::format("dimension = {} : i64, is_stable = {}", dim, stable),
              {RegionText(arguments, less)});
}

std::pair<Value, Value> Builder::RngBitGenerator(Value state, DType bits, IntArrayRef dims) {
  const Values out = Emit("rng_bit_generator", {state}, {state.type(), {bits, Dims(dims)}},
                          "rng_algorithm = #stablehlo<rng_algorithm PHILOX>");
  return {out[0], out[1]};
}

Value Builder::Fft(Value x, std::string_view kind, IntArrayRef lengths) {
  Type type = x.type();
  if (kind == "RFFT") {
    type.dtype = ComplexType(type.dtype);
    type.dims.back() = lengths.back() / 2 + 1;
  } else if (kind == "IRFFT") {
    type.dtype = RealType(type.dtype);
    type.dims.back() = lengths.back();
  }
  return Emit1(
      "fft", {x}, type,
      fmt::format("fft_type = #stablehlo<fft_type {}>, fft_length = {}", kind, ArrayAttr(lengths)));
}

Value Builder::Cholesky(Value x, bool lower) {
  return Emit1("cholesky", {x}, x.type(), fmt::format("lower = {}", lower));
}

Value Builder::TriangularSolve(Value a, Value b, bool left_side, bool lower, bool unit_diagonal,
                               std::string_view transpose) {
  return Emit1("triangular_solve", {a, b}, b.type(),
               fmt::format("left_side = {}, lower = {}, unit_diagonal = {}, transpose_a = "
                           "#stablehlo<transpose {}>",
                           left_side, lower, unit_diagonal, transpose));
}

Values Builder::While(ValueRef inits, const Region& condition, const Region& body) {
  std::vector<Type> types;
  for (const Value& x : inits) types.push_back(x.type());
  const std::string condition_text = RegionText(types, condition);
  return Emit("while", inits, types, "", {condition_text, RegionText(types, body)});
}

Values Builder::If(Value predicate, const Region& on_true, const Region& on_false) {
  std::vector<Type> results;
  const std::string true_text = RegionText({}, [&](Builder& b, ValueRef args) {
    const Values values = on_true(b, args);
    for (const Value& v : values) results.push_back(v.type());
    return values;
  });
  return Emit("if", {predicate}, results, "", {true_text, RegionText({}, on_false)});
}

Values Builder::OptimizationBarrier(ValueRef xs) {
  std::vector<Type> types;
  for (const Value& x : xs) types.push_back(x.type());
  return Emit("optimization_barrier", xs, types);
}

Values Builder::CustomCall(std::string_view target, ValueRef operands, c10::ArrayRef<Type> results,
                           std::string_view backend_config) {
  return Emit(
      "custom_call", operands, results,
      fmt::format("call_target_name = \"{}\", backend_config = \"{}\"", target, backend_config));
}

}  // namespace torch_tpu::hlo
