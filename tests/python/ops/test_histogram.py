"""Histograms against the CPU's: edges, outliers, weights, densities, several dimensions."""

import pytest
import torch

GEN = torch.Generator().manual_seed(0)


def check(op, *args, **kwargs):
    before = dict(torch.tpu.stats()["fallbacks"])

    def move(x):
        if isinstance(x, torch.Tensor):
            return x.to("tpu")
        return [move(e) for e in x] if isinstance(x, list) else x

    expected = op(*args, **kwargs)
    actual = op(*map(move, args), **{k: move(v) for k, v in kwargs.items()})
    expected, actual = (tuple(r) for r in (expected, actual))
    for e, a in zip(expected, actual, strict=True):
        e, a = ([t] if isinstance(t, torch.Tensor) else list(t) for t in (e, a))
        torch.testing.assert_close([t.cpu() for t in a], e, equal_nan=True)
    assert dict(torch.tpu.stats()["fallbacks"]) == before


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_histogram(dtype):
    x = torch.cat([torch.randn(60, generator=GEN), torch.tensor([-1.0, 0, 1, 5])]).to(dtype)
    weight = torch.rand(64, generator=GEN).to(dtype)
    edges = torch.tensor([-1, 0, 0.5, 1], dtype=dtype)
    for density in (False, True):
        check(torch.histogram, x, 7, density=density)
        check(torch.histogram, x, 10, range=(-1.0, 1.0), weight=weight, density=density)
        check(torch.histogram, x, edges, weight=weight, density=density)
    check(torch.histogram, torch.full((4,), 2.0, dtype=dtype), 3)
    check(torch.histogram, torch.empty(0, dtype=dtype), 3)
    check(torch.histogram, torch.tensor([float("nan"), 0.5], dtype=dtype), edges)


def test_histogramdd():
    x, weight = torch.randn(50, 2, generator=GEN), torch.rand(50, generator=GEN)
    check(torch.histogramdd, x, [3, 4], density=True)
    check(torch.histogramdd, x, [3, 4], range=[-1.0, 1, -2, 2], weight=weight)
    check(torch.histogramdd, x, [torch.tensor([-1.0, 0, 1]), torch.tensor([-2.0, 0.3, 0.4, 2])])


def test_errors():
    x = torch.tensor([1.0, float("inf")], device="tpu")
    with pytest.raises(RuntimeError):
        torch.histogram(x, 3)
        torch.tpu.synchronize()
    with pytest.raises(RuntimeError):
        torch.histogram(x, 0)
    with pytest.raises(NotImplementedError):
        torch.histogram(torch.ones(3, dtype=torch.int32, device="tpu"), 3)
