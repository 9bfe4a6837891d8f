#include "eager/registration.h"

#include <torch/library.h>

#include <map>

#include "eager/boxed_kernel.h"

namespace torch_tpu::eager {
namespace {

constexpr auto kKey = c10::DispatchKey::PrivateUse1;

class Kernel final : public c10::OperatorKernel {
 public:
  explicit Kernel(OpEntry entry) : entry_(std::move(entry)) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    RunBoxed(entry_, *stack);
  }

 private:
  OpEntry entry_;
};

using Overloads = std::map<std::string, std::vector<c10::OperatorHandle>>;  // by base name

Overloads AllOverloads() {
  Overloads overloads;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    if (auto handle = dispatcher.findSchema(name)) overloads[name.name].push_back(*handle);
  }
  return overloads;
}

// Do the first `count` arguments of both agree in name and type (alias marks aside)?
bool SameArguments(const c10::FunctionSchema& a, const c10::FunctionSchema& b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const c10::Argument &x = a.arguments()[i], &y = b.arguments()[i];
    if (x.name() != y.name() || *x.real_type() != *y.real_type()) return false;
  }
  return true;
}

// Do the arguments end in dtype, layout, device, pin_memory?
bool IsFactory(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  return arguments.size() >= 4 && arguments.back().name() == "pin_memory" &&
         arguments[arguments.size() - 4].name() == "dtype";
}

// An op that PyTorch composes of others keeps its composition: a kernel of ours would hide it from
// autograd.
bool IsComposite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

class Registrar {
 public:
  Registrar() : overloads_(AllOverloads()) {}

  void Register(const lowering::OpRow& row) {
    const std::string_view full = row.name;
    if (full.rfind("aten::", 0) != 0) return;  // internal rows have no op
    if (row.flags.graph_only) return;
    const size_t dot = full.find('.');
    const std::string base(full.substr(0, dot));
    const std::string overload(dot == std::string_view::npos ? "" : full.substr(dot + 1));
    const auto handle = c10::Dispatcher::singleton().findSchema({base, overload});
    TORCH_INTERNAL_ASSERT(handle, row.name, ": no such op in this PyTorch");
    Add(*handle, row, Variant::kFunctional);
    const c10::FunctionSchema& schema = handle->schema();
    const size_t n = schema.arguments().size();
    std::string stem = base;
    if (const size_t at = stem.rfind("_functional");
        at != std::string::npos && at + 11 == stem.size()) {
      stem.resize(at);
    }
    for (const auto& op : overloads_[stem + "_"]) {
      if (op.schema().arguments().size() == n && SameArguments(schema, op.schema(), n)) {
        Add(op, row, Variant::kInPlace);
      }
    }
    for (const auto& op : overloads_[base]) {
      const auto& arguments = op.schema().arguments();
      size_t outs = 0;
      for (const auto& argument : arguments) outs += argument.is_out();
      if (outs == 0) continue;
      const size_t ins = arguments.size() - outs;
      if (ins == n && SameArguments(schema, op.schema(), n)) {
        Add(op, row, Variant::kOut);
      } else if (IsFactory(schema) && ins + 4 == n && SameArguments(schema, op.schema(), ins)) {
        Add(op, row, Variant::kOut, /*dtype_from_out=*/true);
      }
    }
  }

 private:
  void Add(const c10::OperatorHandle& op, const lowering::OpRow& row, Variant variant,
           bool dtype_from_out = false) {
    // What this library wrote by hand stays.
    if (op.hasKernelForDispatchKey(kKey) || IsComposite(op)) return;
    OpEntry entry(&row, variant, op.schema());
    entry.dtype_from_out = dtype_from_out;
    library_.impl(c10::toString(op.operator_name()).substr(6).c_str(),
                  torch::CppFunction::makeFromBoxedKernel(c10::BoxedKernel::makeFromFunctor(
                      std::make_unique<Kernel>(std::move(entry)))));
    registered_.push_back({c10::toString(op.operator_name()), row.name});
  }

  Overloads overloads_;
  torch::Library library_{torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__};

 public:
  std::vector<RegisteredOp> registered_;
};

Registrar& TheRegistrar() {
  static Registrar& registrar = *new Registrar();  // registrations last as long as the process
  return registrar;
}

}  // namespace

void RegisterRows() {
  static const bool once = [] {
    for (const lowering::OpRow& row : lowering::Rows()) TheRegistrar().Register(row);
    return true;
  }();
  (void)once;
}

const std::vector<RegisteredOp>& RegisteredOps() { return TheRegistrar().registered_; }

}  // namespace torch_tpu::eager
