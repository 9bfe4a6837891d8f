// Which implementation scaled_dot_product_attention takes on tpu.
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>

namespace torch_tpu::eager {
namespace {

// The fused row takes dense floating point inputs of one rank. It cannot see enable_gqa, so unequal
// numbers of heads without it are left to PyTorch's composed form, which refuses them.
int64_t ChooseAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const std::optional<at::Tensor>&, double, bool, std::optional<double>,
                        bool enable_gqa) {
  const auto heads = [](const at::Tensor& x) { return x.dim() < 3 ? 1 : x.size(-3); };
  const bool same_heads = heads(key) == heads(value) &&
                          (heads(query) == heads(key) || heads(query) == 1 || heads(key) == 1);
  const bool fused = query.dim() >= 2 && key.dim() == query.dim() && value.dim() == query.dim() &&
                     !query.is_nested() && !key.is_nested() && !value.is_nested() &&
                     c10::isFloatingType(query.scalar_type()) && (enable_gqa || same_heads) &&
                     at::globalContext().userEnabledOverrideableSDP();
  return static_cast<int64_t>(fused ? at::SDPBackend::overrideable : at::SDPBackend::math);
}

}  // namespace
}  // namespace torch_tpu::eager

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &torch_tpu::eager::ChooseAttention)
}
