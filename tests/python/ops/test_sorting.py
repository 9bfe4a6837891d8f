"""Sorting, searching and counting: PyTorch's order (NaN last, ties stable), edges, no elements."""

import pytest
import torch
from torch.utils._pytree import tree_map

NAN, INF = float("nan"), float("inf")


def check(op, *args):
    expected = op(*args)
    moved = [a.to("tpu") if isinstance(a, torch.Tensor) else a for a in args]
    actual = tree_map(lambda t: t.cpu(), op(*moved))
    if isinstance(expected, tuple):
        actual, expected = tuple(actual), tuple(expected)
    torch.testing.assert_close(actual, expected, equal_nan=True)


ROWS = [
    torch.tensor([[3.0, NAN, -INF, 1.0], [NAN, NAN, 0.0, -0.0], [INF, 2.0, 2.0, -1.0]]),
    torch.tensor([[3, 1, 2, 1], [0, -5, 7, 7], [2**62, -(2**62), 2**62 - 1, 0]]),
    torch.tensor([[3, 1, 2, 1], [0, 255, 7, 7]], dtype=torch.uint8),
    torch.tensor([[True, False, True, False]]),
    torch.tensor([[1.5, NAN, -2.0, 0.25]], dtype=torch.bfloat16),
    torch.zeros(2, 0),
    torch.tensor(3.0),
]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("x", ROWS, ids=range(len(ROWS)))
def test_sort(x, descending):
    for dim in range(-1, x.dim() - 1):
        check(lambda x, dim=dim: torch.sort(x, dim=dim, descending=descending, stable=True), x)


@pytest.mark.parametrize("x", [*ROWS[:3], ROWS[4]], ids=range(4))
def test_order_statistics(x):
    for largest in (True, False):
        for dim in range(x.dim()):
            k = min(3, x.size(dim) - 1)
            check(lambda x, *a: x.topk(*a).values, x, k, dim, largest)
            values, indices = x.to("tpu").topk(k, dim, largest)
            torch.testing.assert_close(x.to("tpu").gather(dim, indices), values, equal_nan=True)
    check(lambda x: x.kthvalue(2).values, x)
    check(lambda x: x.median(-1).values, x)
    check(lambda x: x.nanmedian(-1).values, x)
    check(lambda x: x.median(), x)
    check(lambda x: x.mode(-1).values, x)
    with pytest.raises(RuntimeError):
        (x > 0).to("tpu").topk(1)


def test_median_of_nan_points_at_the_first():
    values, indices = ROWS[0].to("tpu").median(1)
    assert values[:2].isnan().all().item() and indices[:2].tolist() == [1, 0]


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
def test_searchsorted(n, right):
    edges = torch.arange(n).float().repeat_interleave(2)[:n]
    values = torch.tensor([[-1.0, 0.0, 0.5, 1.0], [3.0, 99.0, INF, NAN]])
    check(lambda e, v: torch.searchsorted(e, v, right=right), edges, values)
    check(lambda e, v: torch.bucketize(v, e, right=right, out_int32=True), edges, values)
    if n > 1:
        order = torch.arange(n - 1, -1, -1)
        check(lambda e, v, s: torch.searchsorted(e.flip(0), v, sorter=s), edges, values, order)
        both = torch.stack([edges, edges + 1])
        check(lambda e, v: torch.searchsorted(e, v, right=right), both, values)


@pytest.mark.parametrize("tests", [0, 3, 500])
def test_isin(tests):
    check(torch.isin, torch.arange(-3, 40).view(1, -1), torch.arange(tests) * 3)


def test_histc_and_bincount():
    x = torch.tensor([0.0, 0.5, 1.0, 1.0, 2.5, 9.0, NAN, -1.0])
    check(lambda x: torch.histc(x, 4, 0, 1), x)
    check(lambda x: torch.histc(x[:6], 3), x)
    check(lambda x: torch.histc(x[:1], 3), x)
    with pytest.raises(RuntimeError):
        torch.histc(x.to("tpu"), 4, 2, 1).cpu()
    i = torch.tensor([1, 4, 1, 0])
    check(torch.bincount, i)
    check(lambda i, w: torch.bincount(i, w, minlength=9), i, x[:4])


@pytest.mark.parametrize("consecutive", [False, True])
def test_unique(consecutive):
    unique = torch.unique_consecutive if consecutive else torch.unique
    for x in (torch.tensor([[3, 1, 1], [2, 3, 3]]), torch.tensor([1.0, 1.0, NAN, NAN]), ROWS[3]):
        check(lambda x: unique(x, return_inverse=True, return_counts=True), x)
    rows = torch.tensor([[1, 2], [1, 2], [0, 9], [1, 2]])
    for dim in (0, 1):
        check(lambda x, d: unique(x, return_inverse=True, return_counts=True, dim=d), rows, dim)


def test_repeat_interleave():
    check(torch.repeat_interleave, torch.tensor([2, 0, 3]))
    repeats = torch.tensor([2, 0, 1])
    check(lambda x, r: x.repeat_interleave(r, dim=1), torch.arange(6).view(2, 3), repeats)
    with pytest.raises(RuntimeError):
        torch.repeat_interleave(torch.tensor([1, -1], device="tpu"))
