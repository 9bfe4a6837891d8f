// Linear algebra whose results depend on strides or on data.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "eager/boxed_kernel.h"
#include "eager/row_call.h"

namespace torch_tpu::eager {
namespace {

// What PyTorch's formulas of the gradients take the factors for.
bool FactorsOfTranspose(const at::Tensor& a) { return a.is_contiguous() && !a.is_complex(); }

std::tuple<at::Tensor, at::Tensor, at::Tensor> Det(const at::Tensor& a) {
  RowCall call("tpu::_linalg_det", a.device().index());
  const auto r = call.Tensor(a).Bool(FactorsOfTranspose(a)).Run();
  return {r[0], r[1], r[2]};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> Slogdet(const at::Tensor& a) {
  RowCall call("tpu::_linalg_slogdet", a.device().index());
  const auto r = call.Tensor(a).Bool(FactorsOfTranspose(a)).Run();
  return {r[0], r[1], r[2], r[3]};
}

struct Lstsq {
  at::Tensor solution, residuals, rank, singular_values;
};

Lstsq LeastSquares(const at::Tensor& a, const at::Tensor& b, std::optional<double> rcond,
                   std::string_view driver) {
  const bool full_rank = driver == "gels";
  const double epsilon = c10::toRealValueType(a.scalar_type()) == at::kDouble
                             ? std::numeric_limits<double>::epsilon()
                             : std::numeric_limits<float>::epsilon();
  const int64_t m = a.size(-2), n = a.size(-1);
  RowCall call("tpu::lstsq", a.device().index());
  call.Tensor(a).Tensor(b).Bool(full_rank);
  call.Number(rcond.value_or(epsilon * static_cast<double>(std::max(m, n))));
  const auto r = call.Run();
  const at::Tensor none = at::empty({0}, r[1].options());
  Lstsq result = {r[0], none, at::empty({0}, a.options().dtype(at::kLong)), none};
  if (!full_rank) result.rank = r[2];
  const bool by_values = driver == "gelsd" || driver == "gelss";
  if (by_values) result.singular_values = r[3];
  // As LAPACK's drivers: of overdetermined systems, and where all matrices have full rank.
  if (m > n && driver != "gelsy" && (!by_values || r[2].eq(n).all().item<bool>())) {
    result.residuals = r[1];
  }
  return result;
}

using FourRefs = std::tuple<at::Tensor&, at::Tensor&, at::Tensor&, at::Tensor&>;

FourRefs LstsqOut(const at::Tensor& a, const at::Tensor& b, std::optional<double> rcond,
                  std::optional<std::string_view> driver, at::Tensor& solution,
                  at::Tensor& residuals, at::Tensor& rank, at::Tensor& singular_values) {
  const std::string_view name = driver.value_or("gelsy");
  TORCH_CHECK(
      name == "gels" || name == "gelsy" || name == "gelsd" || name == "gelss",
      "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  TORCH_CHECK(a.dim() >= 2, "torch.linalg.lstsq: input must have at least 2 dimensions.");
  TORCH_CHECK(b.dim() >= 1, "torch.linalg.lstsq: other must have at least 1 dimension.");
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "torch.linalg.lstsq: Expected input and other to have the same dtype, but got "
              "input's dtype ",
              a.scalar_type(), " and other's dtype ", b.scalar_type());
  const Lstsq result = LeastSquares(a, b, rcond, name);
  WriteOut(solution, result.solution);
  WriteOut(residuals, result.residuals);
  WriteOut(rank, result.rank);
  WriteOut(singular_values, result.singular_values);
  return {solution, residuals, rank, singular_values};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_linalg_det", Det);
  m.impl("_linalg_slogdet", Slogdet);
  m.impl("linalg_lstsq.out", LstsqOut);
}

}  // namespace torch_tpu::eager
