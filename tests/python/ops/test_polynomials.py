"""Orthogonal polynomials and the Airy function against the CPU's."""

import pytest
import torch

NAMES = [
    *(f"{s}chebyshev_polynomial_{k}" for s in ("", "shifted_") for k in "tuvw"),
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
]
X = torch.tensor([-3.0, -1, -0.9, -0.3, -0.0, 0, 0.2, 0.5, 0.999, 1, 1.5])
N = torch.tensor([-2.0, 0, 1, 2, 3, 5, 7, 9, 10, 30, 2.7])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_polynomials(name, dtype):
    op = getattr(torch.special, name)
    x, n = X.to(dtype)[:, None], N.to(dtype)
    expected = op(x, n)
    tolerance = 2e-4 if dtype == torch.float32 else 1e-11
    actual = op(x.to("tpu"), n.to("tpu"))
    torch.testing.assert_close(actual.cpu(), expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(op(x.to("tpu"), 3).cpu(), op(x, 3))
    assert op(torch.tensor([float("nan")], device="tpu"), 5).isnan().item()
    torch.testing.assert_close(op(0.5, n.to("tpu")).cpu(), op(0.5, n), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_airy(dtype):
    edges = torch.tensor([float("inf"), -float("inf"), float("nan"), 0, -0.0, 104, 2.09, -2.09])
    x = torch.cat([torch.linspace(-9, 9, 73), edges]).to(dtype)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-12
    actual = torch.special.airy_ai(x.to("tpu")).cpu()
    expected = torch.special.airy_ai(x)
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    assert torch.special.airy_ai(torch.tensor([1, 2], device="tpu")).dtype == torch.float32
