// Which implementation scaled_dot_product_attention takes on tpu.
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>

namespace torch_tpu::eager {
namespace {

// The fused row takes dense [batch, heads, length, dim] inputs; a mask that needs a gradient, and every
// other rank, go through PyTorch's composed form.
int64_t ChooseAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const std::optional<at::Tensor>& mask, double, bool,
                        std::optional<double>, bool) {
  const bool fused = query.dim() == 4 && key.dim() == 4 && value.dim() == 4 &&
                     !query.is_nested() && !key.is_nested() && !value.is_nested() &&
                     c10::isFloatingType(query.scalar_type()) &&
                     !(mask && mask->defined() && mask->requires_grad() &&
                       at::GradMode::is_enabled()) &&
                     at::globalContext().userEnabledOverrideableSDP();
  return static_cast<int64_t>(fused ? at::SDPBackend::overrideable : at::SDPBackend::math);
}

}  // namespace
}  // namespace torch_tpu::eager

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &torch_tpu::eager::ChooseAttention)
}
