#include "eager/boxed_kernel.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>

#include "eager/copy.h"
#include "eager/generator.h"
#include "eager/guard.h"
#include "eager/overlap.h"
#include "eager/precision.h"
#include "eager/row_call.h"
#include "eager/storage.h"
#include "eager/stream.h"
#include "exec/recording.h"

namespace torch_tpu::eager {
namespace {

using c10::IValue;
using Kind = ArgPlan::Kind;

Kind KindOf(c10::TypePtr type) {
  if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return Kind::kTensor;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return Kind::kInt;
    case c10::TypeKind::BoolType:
      return Kind::kBool;
    case c10::TypeKind::FloatType:
    case c10::TypeKind::NumberType:
      return Kind::kNumber;
    case c10::TypeKind::ScalarTypeType:
      return Kind::kDtype;
    case c10::TypeKind::StringType:
      return Kind::kString;
    case c10::TypeKind::GeneratorType:
      return Kind::kGenerator;
    case c10::TypeKind::DeviceObjType:
      return Kind::kDevice;
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
      return Kind::kIgnored;
    case c10::TypeKind::ListType: {
      c10::TypePtr element = type->castRaw<c10::ListType>()->getElementType();
      if (auto optional = element->cast<c10::OptionalType>()) element = optional->getElementType();
      switch (element->kind()) {
        case c10::TypeKind::TensorType:
          return Kind::kTensors;
        case c10::TypeKind::IntType:
        case c10::TypeKind::SymIntType:
          return Kind::kInts;
        case c10::TypeKind::BoolType:
          return Kind::kBools;
        case c10::TypeKind::FloatType:
          return Kind::kDoubles;
        case c10::TypeKind::NumberType:
          return Kind::kNumbers;
        default:
          break;
      }
      break;
    }
    default:
      break;
  }
  TORCH_INTERNAL_ASSERT(false, "argument type ", type->str(), " has no place in a program");
}

bool IsSpecialNumber(const c10::Scalar& value) {
  if (value.isIntegral(/*includeBool=*/true)) return true;
  if (value.isComplex()) return false;
  const double v = value.toDouble();
  return v == -2 || v == -1 || v == -0.5 || v == 0 || v == 0.5 || v == 1 || v == 2 || v == 3;
}

// The device a call runs on: that of its first device tensor.
class DeviceFinder {
 public:
  void See(const IValue& value) {
    if (device_ >= 0) return;
    if (value.isTensor()) {
      See(value.toTensor());
    } else if (value.isList()) {
      for (const IValue& element : value.toListRef()) See(element);
    } else if (value.isDevice()) {
      const c10::Device device = value.toDevice();
      device_ = device.has_index() ? device.index() : CurrentDevice();
    }
  }
  int device() const { return device_ < 0 ? CurrentDevice() : device_; }

 private:
  void See(const at::Tensor& tensor) {
    if (tensor.defined() && OnDevice(tensor)) {
      device_ = tensor.device().index();
    }
  }
  int device_ = -1;
};

void PutTensor(exec::ProgramWriter& writer, const at::Tensor& tensor) {
  if (!tensor.defined()) return writer.None();
  const bool wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  if (OnDevice(tensor)) {
    TORCH_CHECK(
        tensor.device().index() == writer.device(),
        "Expected all tensors to be on the same device, but found at least two devices, tpu:",
        writer.device(), " and tpu:", static_cast<int>(tensor.device().index()), "!");
    return writer.Tensor(ViewOf(tensor), wrapped);
  }
  TORCH_CHECK(tensor.dim() == 0 && tensor.device().is_cpu(),
              "Expected all tensors to be on the same device, but found at least two devices, tpu:",
              writer.device(), " and ", tensor.device(), "!");
  writer.Operand(tensor.scalar_type(), tensor.item(), wrapped,
                 exec::Recording::HostInput(tensor.const_data_ptr()));
}

bool SameNumber(const c10::Scalar& a, const c10::Scalar& b) {
  if (a.isBoolean() || b.isBoolean())
    return a.isBoolean() && b.isBoolean() && a.toBool() == b.toBool();
  return a.toComplexDouble() == b.toComplexDouble() && a.isFloatingPoint() == b.isFloatingPoint() &&
         a.isComplex() == b.isComplex();
}

void PutNumber(exec::ProgramWriter& writer, const ArgPlan& plan, const c10::Scalar& value) {
  const bool is_static = plan.always_static ||
                         (plan.default_number && SameNumber(*plan.default_number, value)) ||
                         (plan.static_if_special && IsSpecialNumber(value));
  writer.Number(value, is_static);
}

int64_t Int(const IValue& value) {
  return value.isInt() ? value.toInt() : value.toSymInt().guard_int(__FILE__, __LINE__);
}

Dims IntList(const IValue& value) {
  if (!value.isList()) return {Int(value)};
  Dims list;
  if (value.isIntList()) {
    for (int64_t v : value.toIntList()) list.push_back(v);
  } else {
    for (const IValue& v : value.toListRef()) list.push_back(Int(v));
  }
  return list;
}

void PutArg(exec::ProgramWriter& writer, const ArgPlan& plan, const IValue& value) {
  if (value.isNone()) return writer.None();
  switch (plan.kind) {
    case Kind::kTensor:
      return PutTensor(writer, value.toTensor());
    case Kind::kTensors: {
      const auto list = value.toListRef();
      writer.Tensors(list.size());
      for (const IValue& element : list) {
        element.isNone() ? writer.None() : PutTensor(writer, element.toTensor());
      }
      return;
    }
    case Kind::kInt: {
      const int64_t number = Int(value);
      return plan.is_offset ? writer.Number(number, /*is_static=*/false) : writer.Int(number);
    }
    case Kind::kInts:
      return writer.Ints(IntList(value));
    case Kind::kBool:
      return writer.Bool(value.toBool());
    case Kind::kBools: {
      c10::SmallVector<bool, 4> list;
      for (bool v : value.toBoolList()) list.push_back(v);
      return writer.Bools(list);
    }
    case Kind::kDoubles:
      return writer.Doubles(value.toDoubleVector());
    case Kind::kNumber:
      return PutNumber(writer, plan, value.toScalar());
    case Kind::kNumbers: {
      const auto list = value.toListRef();
      writer.Numbers(list.size());
      for (const IValue& v : list) PutNumber(writer, plan, v.toScalar());
      return;
    }
    case Kind::kDtype:
      return writer.Dtype(value.toScalarType());
    case Kind::kString:
      return writer.String(value.toStringRef());
    case Kind::kGenerator:
    case Kind::kIgnored:
    case Kind::kDevice:
      return writer.None();
  }
}

// PyTorch's stride order for elementwise results (TensorIterator's reorder_dimensions): physical
// order of the result's dimensions, outermost first. Empty when it is row-major.
Dims ElementwiseLayout(c10::ArrayRef<IValue> args) {
  c10::SmallVector<const at::TensorBase*, 4> tensors;
  bool row_major = true;
  int64_t rank = 0;
  for (const IValue& arg : args) {
    if (!arg.isTensor()) continue;
    const at::TensorBase& tensor = arg.toTensor();
    if (!tensor.defined() || tensor.dim() < 2) continue;
    tensors.push_back(&tensor);
    row_major = row_major && tensor.is_contiguous();
    rank = std::max(rank, tensor.dim());
  }
  if (row_major || rank < 2) return {};
  Dims shape(rank, 1);
  std::vector<Dims> strides;
  for (const at::TensorBase* tensor : tensors) {
    Dims padded(rank, 0);
    const int64_t shift = rank - tensor->dim();
    for (int64_t i = 0; i < tensor->dim(); ++i) {
      shape[shift + i] = std::max(shape[shift + i], tensor->size(i));
      padded[shift + i] = tensor->size(i) == 1 ? 0 : tensor->stride(i);
    }
    strides.push_back(std::move(padded));
  }
  auto compare = [&](int64_t a, int64_t b) {  // > 0: `a` should be outside of `b`
    for (const Dims& s : strides) {
      if (s[a] == 0 || s[b] == 0) continue;
      if (s[a] != s[b]) return s[a] < s[b] ? -1 : 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  Dims order(rank);  // innermost first
  for (int64_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  for (int64_t i = 1; i < rank; ++i) {
    int64_t inner = i;
    for (int64_t outer = i - 1; outer >= 0; --outer) {
      const int comparison = compare(order[outer], order[inner]);
      if (comparison > 0) {
        std::swap(order[outer], order[inner]);
        inner = outer;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  std::reverse(order.begin(), order.end());
  for (int64_t i = 0; i < rank; ++i) {
    if (order[i] != i) return order;
  }
  return {};
}

// A bound on the 32-bit numbers that a random call draws: four for each element of its largest
// tensor, of the product of its first two over their last dimensions (attention scores), or of its
// sizes.
uint64_t RandomCount(c10::ArrayRef<IValue> args) {
  int64_t most = 1;
  const at::TensorBase* first = nullptr;
  for (const IValue& arg : args) {
    if (arg.isTensor() && arg.toTensor().defined()) {
      const at::TensorBase& tensor = arg.toTensor();
      most = std::max(most, tensor.numel());
      if (first == nullptr) {
        first = &tensor;
      } else if (first->dim() > 1 && tensor.dim() > 1 && first->numel() > 0) {
        most = std::max(most, first->numel() / first->size(-1) * tensor.size(-2));
      }
    } else if (arg.isIntList()) {
      most = std::max(most, NumElements(arg.toDimVector()));
    } else if (arg.isInt() && first == nullptr) {
      most = std::max(most, arg.toInt());
    }
  }
  return 4 * static_cast<uint64_t>(most);
}

// Stride order of results that follow the memory format of the arguments in `mask`.
Dims ChannelsLastLayout(c10::ArrayRef<IValue> args, uint32_t mask) {
  for (size_t i = 0; i < args.size() && mask >> i != 0; ++i) {
    if ((mask >> i & 1) == 0 || !args[i].isTensor() || !args[i].toTensor().defined()) continue;
    const auto format = args[i].toTensor().suggest_memory_format();
    if (format == at::MemoryFormat::ChannelsLast) return {0, 2, 3, 1};
    if (format == at::MemoryFormat::ChannelsLast3d) return {0, 2, 3, 4, 1};
  }
  return {};
}

template <typename F>
void ForEachWritten(const OpEntry& entry, c10::ArrayRef<IValue> args, const F& f) {
  for (int position : entry.written_args) {
    const IValue& value = args[position];
    if (value.isNone()) {
      f(at::Tensor());
    } else if (value.isTensor()) {
      f(value.toTensor());
    } else {
      for (const at::Tensor& tensor : value.toTensorVector()) f(tensor);
    }
  }
}

}  // namespace

OpEntry::OpEntry(const lowering::OpRow* row, Variant variant, const c10::FunctionSchema& schema)
    : row(row), variant(variant) {
  num_args = schema.arguments().size();
  if (variant == Variant::kOut) {
    for (const auto& arg : schema.arguments()) num_outs += arg.is_out();
  }
  for (size_t i = 0; i < num_args - num_outs; ++i) {
    const c10::Argument& arg = schema.arguments()[i];
    ArgPlan plan;
    plan.kind = KindOf(arg.real_type());
    if (arg.name() == "pin_memory") plan.kind = Kind::kIgnored;
    plan.is_offset = i < 32 && (row->flags.offsets >> i & 1);
    plan.always_static = i < 32 && (row->flags.static_numbers >> i & 1);
    plan.static_if_special = i < 32 && (row->flags.special_numbers >> i & 1);
    if (plan.kind == Kind::kNumber && arg.default_value() && arg.default_value()->isScalar()) {
      plan.default_number = arg.default_value()->toScalar();
    }
    args.push_back(std::move(plan));
    if (variant == Variant::kInPlace && arg.alias_info() && arg.alias_info()->isWrite()) {
      written_args.push_back(static_cast<int>(i));
    }
  }
  for (const auto& result : schema.returns()) {
    const c10::TypeKind kind = result.real_type()->kind();
    list_returns.push_back(kind == c10::TypeKind::ListType);
    int_returns.push_back(kind == c10::TypeKind::IntType || kind == c10::TypeKind::SymIntType);
  }
  if (variant != Variant::kInPlace) {
    for (int position : row->flags.mutates) written_args.push_back(position);
  }
}

namespace {

bool HasMathBits(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() &&
         (value.toTensor().is_conj() || value.toTensor().is_neg());
}

// PyTorch leaves products (mm, bmm, addmm, dot, ...) out of its conjugate fallback, so lazily
// conjugated tensors arrive here. Programs read storages, which know nothing of such bits.
bool ResolveMathBits(const OpEntry& entry, torch::jit::Stack& stack) {
  const size_t first = stack.size() - entry.num_args;
  const size_t inputs = entry.num_args - entry.num_outs;  // outs are written through copies
  bool any = false;
  for (size_t i = 0; i < inputs && !any; ++i) any = HasMathBits(stack[first + i]);
  if (!any) return false;
  std::vector<std::pair<at::Tensor, at::Tensor>> written;  // the argument, its stand-in
  for (size_t i = 0; i < inputs; ++i) {
    IValue& value = stack[first + i];
    if (!HasMathBits(value)) continue;
    const at::Tensor original = value.toTensor();
    const at::Tensor resolved = original.resolve_conj().resolve_neg();
    for (int position : entry.written_args) {
      if (position == static_cast<int>(i)) written.emplace_back(original, resolved);
    }
    value = resolved;
  }
  RunBoxed(entry, stack);
  for (const auto& [original, stand_in] : written) {
    original.copy_(stand_in);
    for (size_t i = first; i < stack.size(); ++i) {
      if (stack[i].isTensor() && stack[i].toTensor().is_same(stand_in)) stack[i] = original;
    }
  }
  return true;
}

// One value may be written through an expanded tensor: what it repeats is written once.
bool WriteOnce(const OpEntry& entry, torch::jit::Stack& stack) {
  if (!entry.row->flags.one_value || entry.variant != Variant::kInPlace) return false;
  IValue& self = stack[stack.size() - entry.num_args];
  const at::Tensor original = self.toTensor();
  if (at::has_internal_overlap(original) != at::MemOverlap::Yes) return false;
  self = WithoutRepeats(original);
  RunBoxed(entry, stack);
  stack.back() = original;
  return true;
}

}  // namespace

void RunBoxed(const OpEntry& entry, torch::jit::Stack& stack) {
  if (ResolveMathBits(entry, stack) || WriteOnce(entry, stack)) return;
  const size_t first = stack.size() - entry.num_args;
  const c10::ArrayRef<IValue> args(stack.data() + first, entry.num_args);
  DeviceFinder finder;
  for (const IValue& arg : args) finder.See(arg);
  const int device = finder.device();

  exec::ProgramWriter writer(device);
  writer.Call(*entry.row);
  PutPrecision(writer, *entry.row);
  std::optional<at::Generator> generator;
  for (size_t i = 0; i < entry.args.size(); ++i) {
    PutArg(writer, entry.args[i], args[i]);
    if (entry.args[i].kind == Kind::kGenerator && args[i].isGenerator()) {
      generator = args[i].toGenerator();
    }
  }
  if (const int i = entry.row->flags.fitting_number; i >= 0) {
    CheckFits(args[i].toScalar(), args[0].toTensor().scalar_type());
  }
  if (entry.dtype_from_out) {
    writer.Dtype(args.back().toTensor().scalar_type());
    for (int i = 0; i < 3; ++i) writer.None();
  }
  const DType default_dtype = c10::typeMetaToScalarType(c10::get_default_dtype());
  if (default_dtype != DType::Float) writer.DefaultDtype(default_dtype);
  const int dropout = entry.row->flags.random_unless_zero;
  if (entry.row->flags.random && (dropout < 0 || args[dropout].toDouble() != 0)) {
    const uint64_t count = RandomCount(args);
    const RandomState state = NextRandomState(generator, device, count);
    writer.Random(state.seed, state.offset, count);
  }
  writer.EndCall();

  if (entry.variant == Variant::kInPlace) {
    int result = 0;
    ForEachWritten(entry, args, [&](const at::Tensor& target) {
      if (target.defined()) {
        CheckOverlap(target, args.slice(1), entry.row->flags.disjoint);
        writer.Write(result, ViewOf(target));
      }
      ++result;
    });
  } else {
    if (entry.row->flags.elementwise) {
      const Dims layout = ElementwiseLayout(args);
      if (!layout.empty()) writer.Layout(0, layout);
    }
    if (entry.row->flags.channels_last != 0) {
      const Dims layout = ChannelsLastLayout(args, entry.row->flags.channels_last);
      for (size_t i = 0; !layout.empty() && i < entry.list_returns.size(); ++i) {
        writer.Layout(static_cast<int>(i), layout);
      }
    }
    int result = static_cast<int>(entry.list_returns.size());
    ForEachWritten(entry, args, [&](const at::Tensor& target) {
      if (target.defined()) writer.Write(result, ViewOf(target));
      ++result;
    });
  }

  const exec::Launched launched = exec::Submit(writer, CurrentStream(device));

  if (entry.variant == Variant::kInPlace) {
    std::vector<IValue> returned;
    for (size_t i = 0; i < entry.list_returns.size(); ++i) {
      returned.push_back(args[entry.written_args[i]]);
    }
    torch::jit::drop(stack, entry.num_args);
    for (IValue& value : returned) stack.push_back(std::move(value));
    return;
  }
  const size_t total = launched.program->results.size();
  if (entry.variant == Variant::kOut) {
    std::vector<IValue> outs(args.end() - entry.num_outs, args.end());
    const c10::ArrayRef<IValue> operands = args.slice(0, entry.args.size());
    size_t next = 0;
    for (const IValue& out : outs) {
      if (out.isTensor()) {
        const at::Tensor result = WrapResult(launched, next++);
        if (result.defined()) CheckOut(*entry.row, out.toTensor(), result, operands);
        WriteOut(out.toTensor(), result);
      } else {
        for (const at::Tensor& tensor : out.toTensorVector()) {
          WriteOut(tensor, WrapResult(launched, next++));
        }
      }
    }
    torch::jit::drop(stack, entry.num_args);
    if (!entry.list_returns.empty()) {
      for (IValue& value : outs) stack.push_back(std::move(value));
    }
    return;
  }
  torch::jit::drop(stack, entry.num_args);
  const size_t num_lists = std::count(entry.list_returns.begin(), entry.list_returns.end(), true);
  const size_t per_list =
      num_lists == 0 ? 0 : (total - (entry.list_returns.size() - num_lists)) / num_lists;
  size_t next = 0;
  for (size_t r = 0; r < entry.list_returns.size(); ++r) {
    if (entry.int_returns[r]) {  // sizes that only travel on to the op's own backward
      ++next;
      stack.emplace_back(int64_t{0});
      continue;
    }
    if (!entry.list_returns[r]) {
      stack.emplace_back(WrapResult(launched, next++));
      continue;
    }
    std::vector<at::Tensor> list;
    for (size_t i = 0; i < per_list; ++i) list.push_back(WrapResult(launched, next++));
    stack.emplace_back(std::move(list));
  }
}

void WriteOut(const at::Tensor& out, const at::Tensor& result) {
  if (!result.defined()) return;
  TORCH_CHECK(c10::canCast(result.scalar_type(), out.scalar_type()), "result type ",
              result.scalar_type(), " can't be cast to the desired output type ",
              out.scalar_type());
  if (out.sizes() != result.sizes()) at::native::resize_output(out, result.sizes());
  at::assert_no_internal_overlap(out);
  CopyInto(out, result, /*non_blocking=*/true);
}

}  // namespace torch_tpu::eager
