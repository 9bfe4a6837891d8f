// Builds one StableHLO module as text. Every method appends an operation, infers its result type
// and returns its value. Nothing here does I/O, and nothing checks user input: a misuse is a bug in
// a lowering and fails an internal assertion that names the operation.
#pragma once

#include <c10/core/Scalar.h>
#include <c10/util/ArrayRef.h>

#include <deque>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hlo/type.h"

namespace torch_tpu::hlo {

class Builder;

// A handle on an SSA value; cheap to copy, valid as long as its builder.
class Value {
 public:
  Value() = default;
  bool defined() const { return builder_ != nullptr; }
  int id() const { return id_; }
  Builder& builder() const { return *builder_; }
  const Type& type() const;
  DType dtype() const { return type().dtype; }
  const Dims& dims() const { return type().dims; }
  int64_t rank() const { return static_cast<int64_t>(dims().size()); }
  int64_t dim(int64_t i) const { return dims()[i < 0 ? i + rank() : i]; }
  int64_t numel() const { return NumElements(dims()); }

 private:
  friend class Builder;
  Value(Builder* builder, int id) : builder_(builder), id_(id) {}
  Builder* builder_ = nullptr;
  int id_ = -1;
};

using Values = std::vector<Value>;
using ValueRef = c10::ArrayRef<Value>;
// Body of a region: block arguments in, returned values out.
using Region = std::function<Values(Builder&, ValueRef)>;

struct DotDims {
  Dims lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};

struct ConvDims {  // all lists have one entry per spatial dimension
  Dims strides, padding_low, padding_high, lhs_dilation, rhs_dilation;
  std::vector<bool> reversal;  // empty: none
  int64_t feature_groups = 1, batch_groups = 1;
  // Dimension numbers: positions of batch/feature (input, output), output/input feature (kernel).
  int64_t input_batch = 0, input_feature = 1;
  int64_t kernel_input = 1, kernel_output = 0;
  int64_t output_batch = 0, output_feature = 1;
  Dims input_spatial, kernel_spatial, output_spatial;  // empty: 2, 3, ...
};

struct GatherDims {
  Dims offset_dims, collapsed_dims, operand_batching, indices_batching, start_index_map;
  int64_t index_vector_dim = 0;
  Dims slice_sizes;
  bool sorted = false;
};

struct ScatterDims {
  Dims update_window_dims, inserted_dims, operand_batching, indices_batching, scatter_to_operand;
  int64_t index_vector_dim = 0;
  bool sorted = false, unique = false;
};

struct WindowDims {  // one entry per operand dimension; empty lists mean 1 (0 for padding)
  Dims sizes, strides, base_dilations, window_dilations, padding_low, padding_high;
};

// Passes over the operands of a float32 product or convolution: kHighest is exact float32.
enum class Precision : uint8_t { kDefault = 0, kHigh = 1, kHighest = 2 };

// The compiler a program is for. It chooses among forms of equal value, never the value.
enum class Target { kTpu, kCpu };

// One operation as it was emitted, values by id.
struct Operation {
  std::string name;
  std::vector<int> operands, results;
  std::string attributes;            // as printed
  std::vector<std::string> regions;  // as printed
  std::string location;
};

class Builder {
 public:
  explicit Builder(std::string module_name = "main", Target target = Target::kTpu);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Target target() const { return target_; }

  // Values that compilers change together with the operation that reads them, by the operation that
  // made them (moves of data apart): the simplifier folds inverse pairs and turns divisions over,
  // the code generator contracts a product and a sum into one rounding.
  bool MayFold(Value x) const { return traits_[x.id_] & kFolds; }
  bool MayContract(Value x) const { return traits_[x.id_] & kContracts; }

  // ---- the function itself
  // `attributes` is raw text such as `tf.aliasing_output = 0 : i32`.
  Value Parameter(const Type& type);
  void SetParameterAttributes(int parameter, std::string attributes);
  void SetResults(ValueRef results);
  // Declares every parameter without attributes as one dimension of all its elements and reshapes
  // it at once. A runtime that takes buffers by size sees no difference.
  void FlattenParameters() { flat_parameters_ = true; }
  const Values& results() const { return results_; }
  std::string Text() const;

  // ---- the function as a list, for who makes another one of it
  // Forms that are chosen by sizes are left out then, so that other sizes give the same list.
  void KeepOperations() { keeps_operations_ = true; }
  bool keeps_operations() const { return keeps_operations_; }
  const std::vector<Operation>& kept_operations() const { return kept_; }  // regions apart
  const Values& parameters() const { return parameters_; }
  const std::string& parameter_attributes(size_t i) const { return parameter_attributes_[i]; }
  const Type& TypeOf(int id) const { return types_[id]; }
  size_t num_values() const { return types_.size(); }
  // To be called first: the values of `other` keep their ids and types here.
  void ReserveValues(const Builder& other);
  // Emits an operation of the reserved values again: same results, attributes and regions.
  Values Repeat(const Operation& operation, ValueRef operands);
  // Emits what a kept region does with its arguments; gives back what it returns.
  Values Inline(const std::string& region, ValueRef arguments);
  // Names of the operations emitted so far, regions included.
  const std::set<std::string, std::less<>>& operations() const { return operations_; }
  // Fewest rows of the left side of any dot_general so far, batches apart.
  int64_t least_product_rows() const { return least_product_rows_; }
  // Multiplications in all products.
  int64_t product_work() const { return product_work_; }
  // Operations emitted from here on carry loc("name").
  void SetLocation(std::string name) { location_ = std::move(name); }
  // Products and convolutions emitted from here on are as exact as this.
  void SetPrecision(Precision precision) { precision_ = precision; }

  // ---- numbers
  Value Constant(DType dtype, const c10::Scalar& value, IntArrayRef dims = {});
  Value ConstantLike(Value like, const c10::Scalar& value);
  Value ConstantInts(DType dtype, IntArrayRef values, IntArrayRef dims);  // row-major elements
  Value ConstantDoubles(DType dtype, c10::ArrayRef<double> values, IntArrayRef dims);
  Value Iota(DType dtype, IntArrayRef dims, int64_t dim);
  Value Infinity(DType dtype, bool negative, IntArrayRef dims = {});  // float types only
  Value NaN(DType dtype, IntArrayRef dims = {});
  // Smallest / largest finite-or-infinite value: the identity of max / min.
  Value LowestOf(DType dtype, IntArrayRef dims = {});
  Value HighestOf(DType dtype, IntArrayRef dims = {});

  // ---- elementwise. Operands must have equal types. `op` is the StableHLO (or chlo.*) name.
  Value Unary(std::string_view op, Value x);
  Value Binary(std::string_view op, Value x, Value y);
  Value Compare(std::string_view direction, Value x, Value y);  // EQ NE GE GT LE LT; NaN-aware
  Value CompareTotalOrder(std::string_view direction, Value x, Value y);  // floats, -0 < +0 < NaN
  Value Select(Value predicate, Value on_true, Value on_false);  // predicate: same dims or 0-d
  Value Clamp(Value low, Value x, Value high);                   // bounds: same dims or 0-d
  Value Convert(Value x, DType dtype);                           // as a C cast; no-op when equal
  Value BitcastConvert(Value x, DType dtype);                    // StableHLO's dims rule
  Value Complex(Value real, Value imag);
  Value Real(Value x);
  Value Imag(Value x);
  Value IsFinite(Value x);
  Value ReducePrecision(Value x, int exponent_bits, int mantissa_bits);

  Value Abs(Value x) { return Unary("abs", x); }  // complex in, real out
  Value Not(Value x) { return Unary("not", x); }
  Value Neg(Value x) { return Unary("negate", x); }
  Value Exp(Value x) { return Unary("exponential", x); }
  Value Expm1(Value x) { return Unary("exponential_minus_one", x); }
  Value Log(Value x) { return Unary("log", x); }
  Value Log1p(Value x) { return Unary("log_plus_one", x); }
  Value Sqrt(Value x) { return Unary("sqrt", x); }
  Value Rsqrt(Value x) { return Unary("rsqrt", x); }
  Value Tanh(Value x) { return Unary("tanh", x); }
  Value Sigmoid(Value x) { return Unary("logistic", x); }
  Value Sin(Value x) { return Unary("sine", x); }
  Value Cos(Value x) { return Unary("cosine", x); }
  Value Floor(Value x) { return Unary("floor", x); }
  Value Ceil(Value x) { return Unary("ceil", x); }
  Value Sign(Value x) { return Unary("sign", x); }
  Value Add(Value x, Value y) { return Binary("add", x, y); }
  Value Sub(Value x, Value y) { return Binary("subtract", x, y); }
  Value Mul(Value x, Value y) { return Binary("multiply", x, y); }
  Value Div(Value x, Value y) { return Binary("divide", x, y); }  // integers truncate
  Value Rem(Value x, Value y) { return Binary("remainder", x, y); }
  Value Pow(Value x, Value y) { return Binary("power", x, y); }
  Value Max(Value x, Value y) { return Binary("maximum", x, y); }
  Value Min(Value x, Value y) { return Binary("minimum", x, y); }
  Value And(Value x, Value y) { return Binary("and", x, y); }
  Value Or(Value x, Value y) { return Binary("or", x, y); }
  Value Xor(Value x, Value y) { return Binary("xor", x, y); }
  Value Eq(Value x, Value y) { return Compare("EQ", x, y); }
  Value Ne(Value x, Value y) { return Compare("NE", x, y); }
  Value Lt(Value x, Value y) { return Compare("LT", x, y); }
  Value Le(Value x, Value y) { return Compare("LE", x, y); }
  Value Gt(Value x, Value y) { return Compare("GT", x, y); }
  Value Ge(Value x, Value y) { return Compare("GE", x, y); }

  // ---- data movement
  Value Reshape(Value x, IntArrayRef dims);
  Value Transpose(Value x, IntArrayRef permutation);
  // Operand dimension i becomes result dimension `mapping[i]`.
  Value BroadcastInDim(Value x, IntArrayRef dims, IntArrayRef mapping);
  Value Broadcast(Value x, IntArrayRef dims);  // NumPy rule: trailing dimensions line up
  Value Slice(Value x, IntArrayRef start, IntArrayRef limit, IntArrayRef strides = {});
  Value SliceDim(Value x, int64_t dim, int64_t start, int64_t limit, int64_t stride = 1);
  Value DynamicSlice(Value x, ValueRef starts, IntArrayRef sizes);  // starts: 0-d integers
  Value DynamicUpdateSlice(Value x, Value update, ValueRef starts);
  Value Concatenate(ValueRef xs, int64_t dim);
  Value Pad(Value x, Value value, IntArrayRef low, IntArrayRef high, IntArrayRef interior = {});
  Value Reverse(Value x, IntArrayRef dims);
  Value Gather(Value x, Value indices, const GatherDims& dims);
  // `combine(old, update)` for one element; several inputs are scattered together.
  Values Scatter(ValueRef xs, Value indices, ValueRef updates, const ScatterDims& dims,
                 const Region& combine);

  // ---- structured
  // Products keep `result` as element type; float32 in, float32 accumulation.
  Value DotGeneral(Value x, Value y, const DotDims& dims, DType result);
  Value Convolution(Value x, Value kernel, const ConvDims& dims, DType result);
  Values Reduce(ValueRef xs, ValueRef inits, IntArrayRef dims, const Region& body);
  Value Reduce(std::string_view op, Value x, Value init, IntArrayRef dims);  // one binary op
  Values ReduceWindow(ValueRef xs, ValueRef inits, const WindowDims& window, const Region& body);
  Value ReduceWindow(std::string_view op, Value x, Value init, const WindowDims& window);
  Value SelectAndScatter(Value x, Value source, Value init, const WindowDims& window,
                         const Region& select, const Region& scatter);
  // less(a0, b0, a1, b1, ...) -> 0-d bool
  Values Sort(ValueRef xs, int64_t dim, bool stable, const Region& less);
  // Philox; state is ui64[2] (key, counter). Returns the new state and random bits.
  std::pair<Value, Value> RngBitGenerator(Value state, DType bits, IntArrayRef dims);
  Value Fft(Value x, std::string_view kind, IntArrayRef lengths);  // FFT IFFT RFFT IRFFT
  Value Cholesky(Value x, bool lower);
  Value TriangularSolve(Value a, Value b, bool left_side, bool lower, bool unit_diagonal,
                        std::string_view transpose);  // NO_TRANSPOSE TRANSPOSE ADJOINT
  Values While(ValueRef inits, const Region& condition, const Region& body);
  Values If(Value predicate, const Region& on_true, const Region& on_false);  // no arguments
  Values OptimizationBarrier(ValueRef xs);
  Values CustomCall(std::string_view target, ValueRef operands, c10::ArrayRef<Type> results,
                    std::string_view backend_config = "");
  // Any other operation by name, with raw attribute text ("" or "a = 1 : i64").
  Values Raw(std::string_view op, ValueRef operands, c10::ArrayRef<Type> results,
             std::string_view attributes);

 private:
  friend class Value;
  enum Trait : uint8_t { kFolds = 1, kContracts = 2 };
  Value NewValue(Type type);
  uint8_t TraitsOf(std::string_view op, ValueRef operands) const;
  std::string RegionText(c10::ArrayRef<Type> arguments, const Region& body);
  Values Emit(std::string_view op, ValueRef operands, c10::ArrayRef<Type> results,
              std::string_view attributes = "", c10::ArrayRef<std::string> regions = {});
  Value Emit1(std::string_view op, ValueRef operands, const Type& result,
              std::string_view attributes = "", c10::ArrayRef<std::string> regions = {});
  void Write(std::string_view op, ValueRef operands, ValueRef values, std::string_view attributes,
             c10::ArrayRef<std::string> regions);
  std::string Names(ValueRef values) const;
  std::string Types(ValueRef values) const;

  std::string module_name_;
  Target target_;
  std::string location_;
  std::set<std::string, std::less<>> operations_;
  int64_t least_product_rows_ = std::numeric_limits<int64_t>::max();
  int64_t product_work_ = 0;
  bool flat_parameters_ = false;
  Precision precision_ = Precision::kHighest;
  std::deque<Type> types_;       // by value id
  std::vector<uint8_t> traits_;  // by value id
  bool keeps_operations_ = false;
  std::vector<Operation> kept_;
  Values parameters_;
  std::vector<std::string> parameter_attributes_;
  Values results_;
  std::string body_;
  static constexpr int kFunctionDepth = 2;
  int depth_ = kFunctionDepth;
};

inline const Type& Value::type() const { return builder_->types_[id_]; }

// Arithmetic on values of equal type, or of a value and a number of the value's type.
inline Value operator+(Value x, Value y) { return x.builder().Add(x, y); }
inline Value operator-(Value x, Value y) { return x.builder().Sub(x, y); }
inline Value operator*(Value x, Value y) { return x.builder().Mul(x, y); }
inline Value operator/(Value x, Value y) { return x.builder().Div(x, y); }
inline Value operator-(Value x) { return x.builder().Neg(x); }
inline Value operator+(Value x, double y) { return x + x.builder().ConstantLike(x, y); }
inline Value operator-(Value x, double y) { return x - x.builder().ConstantLike(x, y); }
inline Value operator*(Value x, double y) { return x * x.builder().ConstantLike(x, y); }
inline Value operator/(Value x, double y) { return x / x.builder().ConstantLike(x, y); }
inline Value operator+(double x, Value y) { return y.builder().ConstantLike(y, x) + y; }
inline Value operator-(double x, Value y) { return y.builder().ConstantLike(y, x) - y; }
inline Value operator*(double x, Value y) { return y.builder().ConstantLike(y, x) * y; }
inline Value operator/(double x, Value y) { return y.builder().ConstantLike(y, x) / y; }

}  // namespace torch_tpu::hlo
