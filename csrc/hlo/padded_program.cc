#include "hlo/padded_program.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_map>

namespace torch_tpu::hlo {
namespace {

bool Contains(const Dims& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// In every method "padded" dimensions are those that vary with the size: they have the extent of
// the pattern's bound, and only their first elements are real.
class Padder {
 public:
  Padder(const SizePattern& pattern, Builder& out) : pattern_(pattern), b_(out) {}

  void Run(c10::ArrayRef<Dims> parameter_dims, c10::ArrayRef<Dims> result_dims) {
    const Builder& bound = pattern_.bound();
    b_.ReserveValues(bound);
    Values parameters;
    for (size_t i = 0; i < bound.parameters().size(); ++i) {
      parameters.push_back(b_.Parameter({bound.parameters()[i].dtype(), parameter_dims[i]}));
      b_.SetParameterAttributes(static_cast<int>(i), bound.parameter_attributes(i));
    }
    size_ = b_.Reshape(b_.Parameter({DType::Long, {1}}), {});
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Value& given = bound.parameters()[i];
      values_[given.id()] = Resized(parameters[i], given.dims());
    }
    for (at_ = 0; at_ < bound.kept_operations().size(); ++at_) {
      op_ = &bound.kept_operations()[at_];
      const Values results = Emit();
      TORCH_INTERNAL_ASSERT(results.size() == op_->results.size());
      for (size_t i = 0; i < results.size(); ++i) values_[op_->results[i]] = results[i];
    }
    Values results;
    for (size_t i = 0; i < bound.results().size(); ++i) {
      results.push_back(Resized(values_.at(bound.results()[i].id()), result_dims[i]));
    }
    b_.SetResults(results);
  }

 private:
  using Rule = Values (Padder::*)();

  static const std::map<std::string_view, Rule>& Rules() {
    static const auto& rules = *new std::map<std::string_view, Rule>{
        {"bitcast_convert", &Padder::Same},
        {"broadcast_in_dim", &Padder::Same},
        {"cholesky", &Padder::OnMatrices},
        {"concatenate", &Padder::Concatenate},
        {"constant", &Padder::Constant},
        {"convolution", &Padder::Convolution},
        {"dot_general", &Padder::DotGeneral},
        {"dynamic_slice", &Padder::DynamicSlice},
        {"dynamic_update_slice", &Padder::DynamicUpdateSlice},
        {"gather", &Padder::Gather},
        {"iota", &Padder::Same},
        {"optimization_barrier", &Padder::Same},
        {"pad", &Padder::Pad},
        {"reduce", &Padder::Reduce},
        {"reduce_window", &Padder::ReduceWindow},
        {"reshape", &Padder::Reshape},
        {"reverse", &Padder::Reverse},
        {"scatter", &Padder::Scatter},
        {"slice", &Padder::Slice},
        {"sort", &Padder::Sort},
        {"transpose", &Padder::Same},
        {"triangular_solve", &Padder::OnMatrices},
    };
    return rules;
  }

  // One element of the result needs the operands' elements of the same place (or single numbers).
  static bool IsElementwise(std::string_view name) {
    static const auto& names =
        *new std::set<std::string_view>{"abs",         "add",
                                        "and",         "atan2",
                                        "cbrt",        "ceil",
                                        "clamp",       "compare",
                                        "complex",     "convert",
                                        "cosine",      "count_leading_zeros",
                                        "divide",      "exponential",
                                        "floor",       "exponential_minus_one",
                                        "imag",        "is_finite",
                                        "log",         "log_plus_one",
                                        "logistic",    "maximum",
                                        "minimum",     "multiply",
                                        "negate",      "not",
                                        "or",          "popcnt",
                                        "power",       "real",
                                        "remainder",   "reduce_precision",
                                        "rsqrt",       "round_nearest_afz",
                                        "select",      "round_nearest_even",
                                        "shift_left",  "shift_right_arithmetic",
                                        "sign",        "shift_right_logical",
                                        "sine",        "sqrt",
                                        "subtract",    "tan",
                                        "tanh",        "xor",
                                        "chlo.erf",    "chlo.erf_inv",
                                        "chlo.erfc",   "chlo.lgamma",
                                        "chlo.tan",    "chlo.digamma",
                                        "chlo.acos",   "chlo.acosh",
                                        "chlo.asin",   "chlo.asinh",
                                        "chlo.atan",   "chlo.atanh",
                                        "chlo.cosh",   "chlo.sinh",
                                        "chlo.zeta",   "chlo.polygamma",
                                        "chlo.conj",   "chlo.bessel_i1e",
                                        "chlo.square", "chlo.next_after"};
    return names.contains(name);
  }

  [[noreturn]] void Refuse(std::string_view why) const {
    throw std::runtime_error(fmt::format("{} {}", op_->name, why));
  }

  Values Emit() {
    const auto varies = [&](int id) { return pattern_.Varies(id); };
    const bool plain = std::none_of(op_->operands.begin(), op_->operands.end(), varies) &&
                       std::none_of(op_->results.begin(), op_->results.end(), varies) &&
                       !pattern_.AttributesVary(at_);
    if (plain || IsElementwise(op_->name)) return Same();
    const auto rule = Rules().find(op_->name);
    if (rule == Rules().end()) Refuse("of a varying size is not understood");
    return (this->*rule->second)();
  }

  Value Operand(size_t i) const { return values_.at(op_->operands[i]); }
  Values Operands() const {
    Values operands;
    for (size_t i = 0; i < op_->operands.size(); ++i) operands.push_back(Operand(i));
    return operands;
  }
  Forms OperandForms(size_t i) const { return pattern_.DimForms(op_->operands[i]); }
  Forms ResultForms(size_t i = 0) const { return pattern_.DimForms(op_->results[i]); }
  Dims ResultDims(size_t i = 0) const { return pattern_.bound().TypeOf(op_->results[i]).dims; }
  Forms Integers(std::string_view name) const { return pattern_.Integers(at_, name); }
  int64_t Integer(std::string_view name) const {
    const Forms forms = Integers(name);
    if (forms[0].varies()) Refuse("has a number that depends on the size");
    return forms[0].base;
  }
  int64_t bound(const Form& form) const { return form.At(pattern_.bound_size()); }
  bool Flag(std::string_view text) const { return op_->attributes.find(text) != std::string::npos; }

  // ---- pieces

  // The operation itself on what its operands became, with the attributes that it has at the bound.
  Values Again(ValueRef operands) {
    Operation renamed = *op_;
    for (std::string& region : renamed.regions) region = WithNewNames(region);
    return b_.Repeat(renamed, operands);
  }
  Values Same() {
    RefuseVaryingAttributes();
    return Again(Operands());
  }
  void RefuseVaryingAttributes() const {
    if (pattern_.AttributesVary(at_)) Refuse("has a number that depends on the size");
  }
  Dims Constants(const Forms& forms) const {
    Dims values;
    for (const Form& form : forms) {
      if (form.varies()) Refuse("has a number that depends on the size");
      values.push_back(form.base);
    }
    return values;
  }

  // A region may read values from around it, which may be others here.
  std::string WithNewNames(const std::string& region) const {
    std::string text;
    for (size_t i = 0; i < region.size();) {
      text += region[i];
      if (region[i++] != '%') continue;
      const int id = std::atoi(region.c_str() + i);
      while (std::isdigit(static_cast<unsigned char>(region[i])) != 0) ++i;
      const auto found = values_.find(id);
      text += std::to_string(found == values_.end() ? id : found->second.id());
    }
    return text;
  }

  // The form's value as a 0-d int64.
  Value Number(const Form& form) {
    if (!form.varies()) return b_.Constant(DType::Long, form.base);
    Value value = size_;
    if (form.slope != 1) value = b_.Mul(value, b_.Constant(DType::Long, form.slope));
    if (form.base != 0) value = b_.Add(value, b_.Constant(DType::Long, form.base));
    return value;
  }

  static DType IndexType(int64_t extent) {
    return extent < std::numeric_limits<int32_t>::max() ? DType::Int : DType::Long;
  }

  // Whether an element's index along `axis` is below the form's value.
  Value Below(IntArrayRef dims, int64_t axis, const Form& form) {
    const DType type = IndexType(dims[axis]);
    const Value index = b_.Iota(type, {dims[axis]}, 0);
    const Value limit = b_.Broadcast(b_.Convert(Number(form), type), {dims[axis]});
    return b_.BroadcastInDim(b_.Lt(index, limit), dims, {axis});
  }

  // `x` with `fill` (0-d) in the padding of those of `axes` that are padded.
  Value Filled(Value x, const Forms& forms, IntArrayRef axes, Value fill) {
    Value real;
    for (int64_t axis : axes) {
      if (!forms[axis].varies()) continue;
      const Value here = Below(x.dims(), axis, forms[axis]);
      real = real.defined() ? b_.And(real, here) : here;
    }
    return real.defined() ? b_.Select(real, x, b_.Broadcast(fill, x.dims())) : x;
  }
  Value Filled(Value x, const Forms& forms, IntArrayRef axes) {
    return Filled(x, forms, axes, b_.Constant(x.dtype(), 0));
  }

  // The first elements, or more of them, along each dimension.
  Value Resized(Value x, IntArrayRef dims) {
    Dims kept, high;
    for (int64_t i = 0; i < x.rank(); ++i) {
      kept.push_back(std::min(x.dim(i), dims[i]));
      high.push_back(dims[i] - kept[i]);
    }
    x = b_.Slice(x, Dims(kept.size(), 0), kept);
    return b_.Pad(x, b_.Constant(x.dtype(), 0), Dims(kept.size(), 0), high);
  }

  Value Minimum(Value x, Value y) { return b_.Min(x, b_.Convert(y, x.dtype())); }

  // ---- rules

  Values Constant() {
    const Type& type = pattern_.bound().TypeOf(op_->results[0]);
    const bool list = op_->attributes.compare(op_->attributes.find("dense<") + 6, 1, "[") == 0;
    if (list) RefuseVaryingAttributes();
    const std::optional<Form> form = list ? std::nullopt : pattern_.VaryingSplat(at_);
    if (!form) return b_.Repeat(*op_, {});
    return {b_.Broadcast(b_.Convert(Number(*form), type.dtype), type.dims)};
  }

  Values OnMatrices() {
    for (int id : op_->operands) {
      const Forms forms = pattern_.DimForms(id);
      for (size_t i = forms.size() - 2; i < forms.size(); ++i) {
        if (forms[i].varies()) Refuse("has matrices of a varying size");
      }
    }
    return Same();
  }

  Values Reshape() {
    const Forms from = OperandForms(0), to = ResultForms();
    const Value x = Operand(0);
    return {KeepsPrefix(from, to) ? b_.Reshape(x, ResultDims()) : Repacked(x, from, to)};
  }

  // Whether real elements keep their padded places: in every group of dimensions of equal product,
  // at most the outermost one that is not 1 is padded.
  bool KeepsPrefix(const Forms& from, const Forms& to) const {
    size_t i = 0, j = 0;
    const auto one = [](const Form& f) { return !f.varies() && f.base == 1; };
    // `outermost` turns false behind the first dimension that is not 1.
    struct Side {
      int64_t at_bound = 1, at_one = 1;
      bool padded = false, outermost = true;
    };
    const int64_t other = pattern_.bound_size() + 1;
    const auto take = [&](Side& side, const Form& f) {
      side.at_bound *= bound(f);
      side.at_one *= f.At(other);
      if (f.varies() && !side.outermost) return false;
      side.padded = side.padded || f.varies();
      side.outermost = side.outermost && one(f);
      return true;
    };
    while (i < from.size() || j < to.size()) {
      Side a, b;
      bool fits = true;
      if (i < from.size()) {
        fits = take(a, from[i++]);
      } else {
        fits = take(b, to[j++]);
      }
      while (fits && (a.at_bound != b.at_bound || a.at_one != b.at_one)) {
        if (a.at_bound < b.at_bound || (a.at_bound == b.at_bound && a.at_one < b.at_one)) {
          fits = i < from.size() && take(a, from[i++]);
        } else {
          fits = j < to.size() && take(b, to[j++]);
        }
      }
      if (!fits || a.padded != b.padded) return false;
    }
    return true;
  }

  // A reshape whose real elements lie elsewhere when padded: by linear positions.
  Value Repacked(Value x, const Forms& from, const Forms& to) {
    const Dims dims = ResultDims();
    const DType type = IndexType(std::max(x.numel(), NumElements(dims)));
    const auto number = [&](const Form& form) {
      return b_.Broadcast(b_.Convert(Number(form), type), dims);
    };
    Value place = b_.Constant(type, 0, dims);  // among the real elements
    for (size_t i = 0; i < dims.size(); ++i) {
      place = place * number(to[i]) + b_.Iota(type, dims, static_cast<int64_t>(i));
    }
    const Dims strides = RowMajorStrides(x.dims());
    Value padded = b_.Constant(type, 0, dims);
    for (size_t i = from.size(); i-- > 0;) {
      const Value extent = number(from[i]);
      const Value coordinate = i == 0 ? place : b_.Rem(place, extent);
      padded = padded + coordinate * b_.Constant(type, strides[i], dims);
      place = b_.Div(place, extent);
    }
    GatherDims d;
    d.collapsed_dims = {0};
    d.start_index_map = {0};
    d.index_vector_dim = static_cast<int64_t>(dims.size());
    d.slice_sizes = {1};
    Dims with_vector = dims;
    with_vector.push_back(1);
    return b_.Gather(b_.Reshape(x, {x.numel()}), b_.Reshape(padded, with_vector), d);
  }

  Values Slice() {
    const Forms from = OperandForms(0), to = ResultForms();
    const Forms start = Integers("start_indices"), limit = Integers("limit_indices"),
                step = Integers("strides");
    const Value x = Operand(0);
    Dims starts, limits, steps;
    Value moved = x;
    for (size_t i = 0; i < from.size(); ++i) {
      if (step[i].varies()) Refuse("has a step that depends on the size");
      if (!start[i].varies()) {
        starts.push_back(start[i].base);
        limits.push_back(std::max(bound(limit[i]), start[i].base));
      } else {
        // From a place that depends on the size: as many elements as at the bound.
        if (to[i].varies() || start[i].slope != limit[i].slope) {
          Refuse("has a start and an extent that depend on the size");
        }
        const int64_t span = bound(limit[i]) - bound(start[i]);
        moved = b_.DynamicSlice(moved, StartsAt(i, Number(start[i]), from.size()),
                                WithDim(moved.dims(), i, span));
        starts.push_back(0);
        limits.push_back(span);
      }
      steps.push_back(step[i].base);
    }
    return {b_.Slice(moved, starts, limits, steps)};
  }
  Values StartsAt(size_t axis, Value start, size_t rank) {
    Values starts(rank, b_.Constant(DType::Long, 0));
    starts[axis] = start;
    return starts;
  }
  static Dims WithDim(IntArrayRef dims, size_t axis, int64_t extent) {
    Dims changed(dims);
    changed[axis] = extent;
    return changed;
  }

  Values Pad() {
    const Forms from = OperandForms(0), low = Integers("edge_padding_low"),
                high = Integers("edge_padding_high"), inner = Integers("interior_padding");
    const Dims dims = ResultDims();
    const Value fill = Operand(1);
    Dims lows, highs, inners;
    for (size_t i = 0; i < from.size(); ++i) {
      if (low[i].varies() || inner[i].varies()) Refuse("in front depends on the size");
      lows.push_back(low[i].base);
      highs.push_back(bound(high[i]));
      inners.push_back(inner[i].base);
    }
    Value x = b_.Pad(Operand(0), fill, lows, highs, inners);
    for (size_t i = 0; i < from.size(); ++i) {
      if (!from[i].varies() || (!high[i].varies() && high[i].base <= 0)) continue;
      // Behind the real elements begins what was padded with here.
      const int64_t step = inner[i].base + 1;
      const Form end{from[i].slope * step, (from[i].base - 1) * step + 1 + low[i].base};
      x = b_.Select(Below(dims, static_cast<int64_t>(i), end), x, b_.Broadcast(fill, dims));
    }
    return {x};
  }

  Values Concatenate() {
    const int64_t axis = Integer("dimension");
    Form offset{0, 0};
    Value joined;
    const Dims dims = ResultDims();
    const Values pieces = Operands();
    bool shifted = false;
    for (size_t i = 0; i + 1 < pieces.size(); ++i) shifted |= OperandForms(i)[axis].varies();
    if (!shifted) return {b_.Concatenate(pieces, axis)};
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Form extent = OperandForms(i)[axis];
      if (i == 0) {
        joined = Resized(pieces[0], dims);
      } else {
        // Each piece begins where the real elements before it end, over their padding.
        joined =
            b_.DynamicUpdateSlice(joined, pieces[i], StartsAt(axis, Number(offset), dims.size()));
      }
      offset = {offset.slope + extent.slope, offset.base + extent.base};
    }
    return {joined};
  }

  Values Reverse() {
    const Forms from = OperandForms(0);
    const Dims reversed = Constants(Integers("dimensions"));
    Value x = Same()[0];
    for (size_t i = 0; i < from.size(); ++i) {
      if (!from[i].varies() || !Contains(reversed, static_cast<int64_t>(i))) continue;
      // The padding came first: what is real moves to the front.
      const int64_t extent = bound(from[i]);
      Dims high(from.size(), 0);
      high[i] = extent;
      const Value longer = b_.Pad(x, b_.Constant(x.dtype(), 0), Dims(from.size(), 0), high);
      const Value start = b_.Sub(b_.Constant(DType::Long, extent), Number(from[i]));
      x = b_.DynamicSlice(longer, StartsAt(i, start, from.size()), x.dims());
    }
    return {x};
  }

  // Start indices are clamped so that the slice fits: into the real elements.
  Values DynamicSlice() {
    const Forms from = OperandForms(0), to = ResultForms();
    Values operands = Operands();
    Dims high(from.size(), 0);
    for (size_t i = 0; i < from.size(); ++i) {
      Value& start = operands[i + 1];
      const Form room{from[i].slope - to[i].slope, from[i].base - to[i].base};
      if (from[i] == to[i]) {
        start = b_.Constant(start.dtype(), 0);
        continue;
      }
      if (!from[i].varies() && !to[i].varies()) continue;
      start = b_.Max(Minimum(start, Number(room)), b_.Constant(start.dtype(), 0));
      if (to[i].varies()) high[i] = bound(to[i]);
    }
    const Value x = operands[0];
    operands[0] = b_.Pad(x, b_.Constant(x.dtype(), 0), Dims(from.size(), 0), high);
    return {b_.DynamicSlice(operands[0], ValueRef(operands).slice(1), ResultDims())};
  }

  Values DynamicUpdateSlice() {
    const Forms into = OperandForms(0), update = OperandForms(1);
    Values operands = Operands();
    Value& piece = operands[1];
    Dims high(into.size(), 0), axes;
    for (size_t i = 0; i < into.size(); ++i) {
      Value& start = operands[i + 2];
      if (into[i] == update[i]) {
        start = b_.Constant(start.dtype(), 0);
        continue;
      }
      if (!into[i].varies() && !update[i].varies()) continue;
      const Form room{into[i].slope - update[i].slope, into[i].base - update[i].base};
      start = b_.Max(Minimum(start, Number(room)), b_.Constant(start.dtype(), 0));
      if (!update[i].varies()) continue;
      axes.push_back(static_cast<int64_t>(i));
      high[i] = bound(update[i]);
    }
    const ValueRef starts = ValueRef(operands).slice(2);
    const Value x = operands[0];
    if (axes.empty()) return {b_.DynamicUpdateSlice(x, piece, starts)};
    // The padding of the piece must not cover what lies behind it.
    const Value longer = b_.Pad(x, b_.Constant(x.dtype(), 0), Dims(into.size(), 0), high);
    const Value old = b_.DynamicSlice(longer, starts, piece.dims());
    Value real;
    for (int64_t axis : axes) {
      const Value here = Below(piece.dims(), axis, update[axis]);
      real = real.defined() ? b_.And(real, here) : here;
    }
    const Value written = b_.DynamicUpdateSlice(longer, b_.Select(real, piece, old), starts);
    return {b_.Slice(written, Dims(into.size(), 0), x.dims())};
  }

  Values Gather() {
    const Forms from = OperandForms(0), sizes = Integers("slice_sizes");
    const Dims map = Constants(Integers("start_index_map"));
    const int64_t vector = Integer("index_vector_dim");
    Value indices = Operand(1);
    Values limits;
    bool clamp = false;
    for (size_t i = 0; i < from.size(); ++i) {
      const bool indexed = Contains(map, static_cast<int64_t>(i));
      if (sizes[i].varies() && (sizes[i] != from[i] || indexed)) {
        Refuse("takes slices of a varying size");
      }
    }
    for (int64_t axis : map) {
      const Form& extent = from[axis];
      clamp = clamp || extent.varies();
      limits.push_back(
          b_.Convert(Number({extent.slope, extent.base - sizes[axis].base}), indices.dtype()));
    }
    if (clamp) {
      for (Value& limit : limits) limit = b_.Reshape(limit, {1});
      const Value limit = b_.Concatenate(limits, 0);
      const bool has_vector = vector < indices.rank();
      indices = b_.Min(indices, has_vector ? b_.BroadcastInDim(limit, indices.dims(), {vector})
                                           : b_.Broadcast(b_.Reshape(limit, {}), indices.dims()));
    }
    GatherDims d;
    d.offset_dims = Constants(Integers("offset_dims"));
    d.collapsed_dims = Constants(Integers("collapsed_slice_dims"));
    d.operand_batching = Constants(Integers("operand_batching_dims"));
    d.indices_batching = Constants(Integers("start_indices_batching_dims"));
    d.start_index_map = map;
    d.index_vector_dim = vector;
    for (const Form& size : sizes) d.slice_sizes.push_back(bound(size));
    // Clamped garbage breaks an order that the real indices have.
    const bool garbage = pattern_.Varies(op_->operands[1]);
    d.sorted = Flag("indices_are_sorted = true") && !garbage && !clamp;
    return {b_.Gather(Operand(0), indices, d)};
  }

  Values Scatter() {
    const size_t n = op_->results.size();
    RefuseVaryingAttributes();
    const Forms indices_forms = OperandForms(n);
    const Dims window = Constants(Integers("update_window_dims"));
    const int64_t vector = Integer("index_vector_dim");
    // Windows must be whole in their padded dimensions.
    const Forms into = OperandForms(0), update = OperandForms(n + 1);
    Forms whole;
    const Dims inserted = Constants(Integers("inserted_window_dims")),
               batching = Constants(Integers("input_batching_dims"));
    for (size_t i = 0; i < into.size(); ++i) {
      const int64_t axis = static_cast<int64_t>(i);
      if (!Contains(inserted, axis) && !Contains(batching, axis)) whole.push_back(into[i]);
    }
    for (size_t k = 0; k < window.size(); ++k) {
      if (update[window[k]].varies() && update[window[k]] != whole[k]) {
        Refuse("writes windows of a varying size");
      }
    }
    Values operands = Operands();
    Value& indices = operands[n];
    Dims axes;
    for (size_t i = 0; i < indices_forms.size(); ++i) {
      if (static_cast<int64_t>(i) != vector) axes.push_back(static_cast<int64_t>(i));
    }
    // What is to be written from the padding goes out of bounds, where it is dropped, behind all
    // that is real.
    indices = Filled(indices, indices_forms, axes, b_.HighestOf(indices.dtype()));
    return Again(operands);
  }

  Values Reduce() {
    const size_t n = op_->results.size();
    const Dims axes = Constants(Integers("dimensions"));
    Values operands = Operands();
    for (size_t i = 0; i < n; ++i) {
      operands[i] = Filled(operands[i], OperandForms(i), axes, operands[n + i]);
    }
    return Again(operands);
  }

  Values DotGeneral() {
    RefuseVaryingAttributes();
    Values operands = Operands();
    operands[0] =
        Filled(operands[0], OperandForms(0), Constants(Integers("lhs_contracting_dimensions")));
    operands[1] =
        Filled(operands[1], OperandForms(1), Constants(Integers("rhs_contracting_dimensions")));
    return Again(operands);
  }

  Values Convolution() {
    for (std::string_view name : {"window_strides", "padding", "lhs_dilation", "rhs_dilation",
                                  "feature_group_count", "batch_group_count"}) {
      for (const Form& form : Integers(name)) {
        if (form.varies()) Refuse("has a window that depends on the size");
      }
    }
    if (pattern_.Varies(op_->operands[1])) Refuse("has a kernel of a varying size");
    if (Integer("batch_group_count") != 1) Refuse("has batch groups of a varying size");
    const int64_t batch = Integer("raw input_batch_dimension");
    Values operands = Operands();
    Dims axes;
    for (int64_t i = 0; i < operands[0].rank(); ++i) {
      if (i != batch) axes.push_back(i);
    }
    operands[0] = Filled(operands[0], OperandForms(0), axes);
    return Again(operands);
  }

  Values ReduceWindow() {
    const size_t n = op_->results.size();
    const Forms sizes = Integers("window_dimensions"), strides = Integers("window_strides"),
                base = Integers("base_dilations"), dilations = Integers("window_dilations"),
                padding = Integers("padding"), from = OperandForms(0), to = ResultForms();
    Dims axes;
    for (size_t i = 0; i < from.size(); ++i) {
      const Form low = padding[2 * i];
      if (strides[i].varies() || base[i].varies() || dilations[i].varies()) {
        Refuse("has a window that depends on the size");
      }
      if (from[i].varies() || to[i].varies()) axes.push_back(static_cast<int64_t>(i));
      if (!low.varies() && !sizes[i].varies()) continue;
      // Where the window of result k begins and ends must not depend on the size, or lie outside of
      // the operand for every k.
      if (strides[i].base != 1 || base[i].base != 1 || dilations[i].base != 1) {
        Refuse("has a window that depends on the size");
      }
      const Form end{sizes[i].slope - low.slope, sizes[i].base - 1 - low.base};
      const auto at_least = [&](const Form& x, const Form& y) {
        return x.At(1) >= y.At(1) - 1 && bound(x) >= bound(y) - 1;
      };
      if ((low.varies() && !at_least(low, to[i])) || (end.varies() && !at_least(end, from[i]))) {
        Refuse("has a window that depends on the size");
      }
    }
    Values operands = Operands();
    for (size_t i = 0; i < n; ++i) {
      operands[i] = Filled(operands[i], OperandForms(i), axes, operands[n + i]);
    }
    return Again(operands);
  }

  Values Sort() {
    const int64_t axis = Integer("dimension");
    const Forms forms = OperandForms(0);
    Values operands = Operands();
    if (!forms[axis].varies()) return Same();
    // One more key, before all others: padding comes last, in any order.
    const Value padding =
        b_.Convert(b_.Not(Below(operands[0].dims(), axis, forms[axis])), DType::Int);
    operands.push_back(padding);
    const size_t n = operands.size() - 1;
    Values sorted =
        b_.Sort(operands, axis, Flag("is_stable = true"), [&](Builder& b, ValueRef args) -> Values {
          const Value less = b.Inline(WithNewNames(op_->regions[0]), args.slice(0, 2 * n))[0];
          const Value x = args[2 * n], y = args[2 * n + 1];
          const Value both_real = b.Eq(b.Or(x, y), b.Constant(DType::Int, 0));
          return {b.Or(b.Lt(x, y), b.And(both_real, less))};
        });
    sorted.pop_back();
    return sorted;
  }

  const SizePattern& pattern_;
  Builder& b_;
  Value size_;
  std::unordered_map<int, Value> values_;  // of the pattern's bound, by id
  size_t at_ = 0;
  const Operation* op_ = nullptr;
};

}  // namespace

void EmitPadded(const SizePattern& pattern, c10::ArrayRef<Dims> parameter_dims,
                c10::ArrayRef<Dims> result_dims, Builder& out) {
  Padder(pattern, out).Run(parameter_dims, result_dims);
}

}  // namespace torch_tpu::hlo
