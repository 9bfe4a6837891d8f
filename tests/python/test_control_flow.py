"""Branches and loops of a compiled graph: one program, with the values and gradients of the CPU."""

import warnings

import pytest
import torch
from torch import Tensor
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

TPU = "tpu"


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


def leaves(values) -> list[Tensor]:
    return torch.utils._pytree.tree_leaves(values)


def values_and_gradients(f, args, device, gradients):
    given = [a.detach().to(device, copy=True) for a in args]
    floats = [a for a in given if gradients and a.is_floating_point()]
    for a in floats:
        a.requires_grad_()
    results = leaves(f(*given))
    if floats:
        weighted = [r * torch.arange(r.numel(), device=device).view_as(r) for r in results]
        sum(w.sum() for w in weighted if w.is_floating_point()).backward()
    grads = [torch.zeros_like(a) if a.grad is None else a.grad for a in floats]
    return [value.detach().cpu() for value in results + grads]


def check(f, *args, gradients=True, cut=False):
    """Compares with the CPU; a call is one launch."""
    want = values_and_gradients(torch.compile(f, backend="aot_eager"), args, "cpu", gradients)
    compiled = torch.compile(f, fullgraph=True)
    for a, b in zip(values_and_gradients(compiled, args, TPU, gradients), want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    if cut:
        return
    given = [a.to(TPU) for a in args]
    compiled(*given)
    before = torch.tpu.stats()
    compiled(*given)
    after = torch.tpu.stats()
    assert after["programs"] == before["programs"]
    assert after["launches"] - before["launches"] == 1


def randn(*sizes: int) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


@pytest.mark.parametrize("sign", [1, -1])
def test_cond(sign):
    def f(x, w):
        return torch.cond(x.sum() > 0, lambda x: (x * w).sin(), lambda x: x * x * w, (x,))

    check(f, randn(3, 4).abs() * sign, randn(4))


def test_cond_in_cond_over_views():
    def f(x, w):
        def inner(y):
            return torch.cond(y.max() > 1, lambda y: y * w[1:], lambda y: y + w[:-1], (y,))

        return torch.cond(x.sum() > 0, inner, lambda y: y - y.mean(), (x.t()[:, 1:],))

    check(f, randn(3, 4), randn(3))
    check(f, randn(3, 4).abs() * 2, randn(3))


@pytest.mark.parametrize("count", [0, 1, 5])
def test_while_loop(count):
    def f(n, x, w):
        def body(i, x):
            return i + 1, torch.cond(x.sum() > 0, lambda x: x * w, lambda x: x - w, (x,))

        start = torch.zeros((), dtype=torch.long, device=x.device)
        return while_loop(lambda i, x: i < n, body, (start, x))

    check(f, torch.tensor(count), randn(3, 4), randn(4), gradients=False)


def test_another_count_of_turns_makes_no_program():
    @torch.compile
    def f(n, x):
        return while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2), (n * 0, x))[1]

    x = torch.ones(2, device=TPU)
    f(torch.tensor(1, device=TPU), x)
    before = torch.tpu.stats()["programs"]
    for n in (0, 3, 10):
        assert f(torch.tensor(n, device=TPU), x).tolist() == [2**n] * 2
    assert torch.tpu.stats()["programs"] == before


def test_while_loop_with_gradients_is_cut():
    """How many turns there are to go back over is known on the host only."""

    def f(i, x):
        return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x.sin() * 1.5), (i, x))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(f, torch.tensor(0), randn(3), cut=True)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse):
    def f(c, xs, w):
        def step(c, x):
            return (c @ w + x).tanh(), (c * x).clone()

        return scan(step, c, xs, reverse=reverse)

    check(f, randn(4), randn(6, 4), randn(4, 4))


def test_scan_along_another_dimension_with_two_carried():
    def f(h, k, xs):
        def step(c, x):
            h, k = c
            return (torch.sin(h) * x + 1, k * x + h * 2), ((h * k).clone(), h + x)

        return scan(step, (h, k), xs, dim=1)

    check(f, randn(3), randn(3) + 1, randn(3, 5))


def test_associative_scan():
    def f(a, b):
        def combine(p, q):
            return p[0] * q[0], q[0] * p[1] + q[1]

        return associative_scan(combine, (a, b), dim=0, combine_mode="generic")

    check(f, randn(7, 4), randn(7, 4) + 1)


def test_map():
    def f(xs, w):
        return map_rows(lambda x: (x @ w).cumsum(0), xs)

    check(f, randn(5, 3, 4), randn(4, 2))


def test_nested_compile_regions():
    @torch.compiler.nested_compile_region
    def layer(x, w):
        return torch.sin(x @ w) + 1

    def f(x, w):
        for _ in range(4):
            x = layer(x, w)
        return x

    check(f, randn(4, 4), randn(4, 4))


def test_random_numbers_inside_cut_the_graph():
    def f(c, xs):
        return scan(lambda c, x: (c + torch.rand_like(x) * 0, c.clone()), c, xs)

    with pytest.warns(UserWarning, match="graph is cut at scan"):
        torch.compile(f)(randn(4).to(TPU), randn(3, 4).to(TPU))


def test_a_bad_index_inside_raises():
    def rows(c, xs, table):
        return scan(lambda c, x: (c + table.index_select(0, x), c.clone()), c, xs)

    def until_one(i, x, table):
        def condition(i, x):
            return table.index_select(0, i).sum() < 1

        return while_loop(condition, lambda i, x: (i + 1, x + 1), (i, x))

    def branch(p, x, i):
        return torch.cond(p, lambda x: x.index_select(0, i), lambda x: x * 2, (x,))

    def index(*values):
        return torch.tensor(values, device=TPU)

    ones = torch.ones(3, 4, device=TPU)
    zero, table = torch.zeros(1, 4, device=TPU), ones.clone()
    cases = [
        (rows, (zero, index([0], [7], [1]), table), (zero, index([0], [2], [1]), table)),
        (until_one, (index(0), ones, zero[0]), (index(0), ones, ones[0])),
        (branch, (index(1) > 0, ones, index(0, 1, 9)), (index(0) > 0, ones, index(0, 1, 9))),
    ]
    for f, bad, good in cases:
        compiled = torch.compile(f)
        with pytest.raises(IndexError, match="index_select: index out of range"):
            compiled(*bad)
            torch.tpu.synchronize()
        compiled(*good)
        torch.tpu.synchronize()


def test_what_does_not_fit_is_refused():
    x = torch.ones(3, device=TPU)
    with pytest.raises(Exception, match="(?i)cond"):
        torch.compile(
            lambda x: torch.cond(x.sum() > 0, lambda x: x, lambda x: x[:2], (x,)), fullgraph=True
        )(x)
    with pytest.raises(Exception, match="(?i)while_loop|carr"):
        torch.compile(
            lambda x: while_loop(lambda x: x.sum() < 5, lambda x: (torch.cat([x, x]),), (x,)),
            fullgraph=True,
        )(x)
