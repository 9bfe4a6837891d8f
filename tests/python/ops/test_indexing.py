"""Index, gather and scatter ops: CPU's values for all dtypes, for bad indices and for nothing."""

import pytest
import torch
from torch.utils._pytree import tree_map

DTYPES = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
]
I3 = torch.tensor([0, -1, 2])
I21 = torch.tensor([[1], [2]])


def make(shape, dtype=torch.float32):
    return (torch.arange(1, 1 + torch.Size(shape).numel()) % 7).reshape(shape).to(dtype)


def to_tpu(tree):
    return tree_map(lambda t: t.to("tpu") if isinstance(t, torch.Tensor) else t, tree)


def check(op, *args, **kwargs):
    expected = op(*args, **kwargs)
    actual = op(*to_tpu(args), **to_tpu(kwargs))
    torch.testing.assert_close(tree_map(lambda t: t.cpu(), actual), expected, equal_nan=True)


KEYS = [
    (I3,),
    (slice(None), I3 % 3),
    (I3, I21),
    (I3, slice(None), I21),
    (slice(None), I21, I3),
    (I3, 1),
    (None, I3),
    (Ellipsis, I3),
    (I21[:0],),
    (I3.int(),),
    (slice(None, None, 2), I3 % 3, slice(1, 4)),
]


@pytest.mark.parametrize("dtype", DTYPES[2:6])
@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_read_at(key, dtype):
    check(lambda x, k: x[k], make((4, 3, 5), dtype), key)


@pytest.mark.parametrize("dtype", DTYPES[2:6])
@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_write_at(key, dtype):
    def write(x, k, v):
        x = x.clone()
        x[k] = v
        return x

    x = make((4, 3, 5), dtype)
    check(write, x, key, make(x[key].shape, dtype))
    check(write, x, key, 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_accumulate_repeated(dtype):
    x, i = make((4, 3), dtype), torch.tensor([1, 1, -3, 0])
    check(lambda x, i, v: x.index_put((i,), v, accumulate=True), x, i, make((4, 3), dtype))
    check(lambda x, i, v: x.index_add(0, i, v), x, i % 4, make((4, 3), dtype))
    check(lambda x, i, v: x.put(i, v, accumulate=True), x, i, make((4,), dtype))


def test_gradients_of_reads_add_up():
    for device in ("cpu", "tpu"):
        x = torch.zeros(4, 3, device=device, requires_grad=True)
        y = x[torch.tensor([0, 0, -1], device=device)]
        y = y.gather(1, torch.tensor([[0, 0], [1, 2], [2, 2]], device=device))
        y.sum().backward()
        assert x.grad.tolist() == [[2, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 2]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks(dtype):
    x, mask = make((4, 3), dtype), make((4, 3)) > 3
    check(lambda x, m: x[m], x, mask)
    check(lambda x, m: x.masked_select(m[:, :1]), x, mask)
    check(lambda x, m, s: x.t().masked_scatter(m.t(), s), x, mask, make((12,), dtype))
    check(lambda m: m.nonzero(), mask)
    check(lambda m: torch.nonzero_static(m, size=3), mask)
    check(lambda m: torch.nonzero_static(m, size=20, fill_value=-2), mask)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_scatter_reduce(dtype, reduce, include_self):
    x, source = make((4, 5), dtype) - 3, make((3, 4), dtype) - 2
    index = torch.tensor([[0, 1, 1, 2], [0, 1, 3, 2], [0, 0, 0, 0]])
    options = {"reduce": reduce, "include_self": include_self}
    check(lambda *a: a[0].scatter_reduce(0, *a[1:], **options), x, index, source)
    if reduce != "sum":
        check(
            lambda *a: a[0].index_reduce(1, *a[1:], **options),
            x,
            torch.tensor([4, 0, 4]),
            make((4, 3), dtype) - 2,
        )


def test_amax_keeps_nan():
    nan = float("nan")
    check(
        lambda x, i, s: x.scatter_reduce(0, i, s, "amax"),
        torch.zeros(3),
        torch.tensor([0, 0, 1]),
        torch.tensor([nan, 1.0, -1.0]),
    )


def test_scatter_leaves_the_rest():
    index = torch.tensor([[0, 1, 2]])
    check(lambda x, i, s: x.scatter(0, i, s), torch.zeros(3, 5), index, make((2, 5)))
    check(lambda x, i: x.scatter(1, i, 7), torch.zeros(3, 5), index)
    check(lambda x, i: x.scatter(0, i[:, :0], 7), torch.zeros(3, 5), index)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)])
def test_empty(shape):
    x, none = torch.zeros(shape), torch.zeros(0, dtype=torch.int64)
    check(lambda x, i: x[i], x, none)
    check(lambda x, i: x.index_select(0, i), x, none)
    check(lambda x, i: x.index_add(0, i, x[:0]), x, none)
    check(lambda x: x.nonzero(), x)
    check(lambda x: torch.unique(x), x)


BAD = {
    "read": lambda x, i: x[i(0, 4)],
    "read below": lambda x, i: x[i(-5)],
    "read of nothing": lambda x, i: x[:0][i(0)],
    "index_select": lambda x, i: x.index_select(0, i(1, 9)),
    "index_select below": lambda x, i: x.index_select(0, i(-1)),
    "gather": lambda x, i: x.gather(1, i(3).view(1, 1)),
    "take": lambda x, i: x.take(i(12)),
    "put": lambda x, i: x.put(i(12), x[0, :1]),
    "scatter": lambda x, i: x.scatter(0, i(4).view(1, 1), 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i(-1).view(1, 1), x),
    "write": lambda x, i: x.index_put((i(7),), x[0]),
    "index_add": lambda x, i: x.index_add(0, i(4), x[:1]),
    "index_copy": lambda x, i: x.index_copy(0, i(-5), x[:1]),
    "index_fill": lambda x, i: x.index_fill(0, i(-5), 1),
    "index_reduce": lambda x, i: x.index_reduce(0, i(4), x[:1], "amax"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_index(name):
    x = make((4, 3)).to("tpu")
    with pytest.raises(IndexError):
        BAD[name](x, lambda *v: torch.tensor(v, device="tpu")).cpu()
    assert (x + 1).sum().item() == x.cpu().sum().item() + 12  # the device goes on


def test_too_few_source_elements():
    mask = torch.ones(3, dtype=torch.bool, device="tpu")
    with pytest.raises(RuntimeError, match="source"):
        torch.zeros(3, device="tpu").masked_scatter(mask, torch.ones(2, device="tpu")).cpu()


def test_new_index_values_compile_nothing():
    x = make((8, 4)).to("tpu")

    def run(k):
        index = torch.tensor([k, k + 1], device="tpu")
        x.index_add(0, index, x[:2]).cpu(), x[index].cpu(), x.index_fill(0, index, float(k)).cpu()

    run(0)
    before = torch.tpu.stats()["programs"]
    for k in range(1, 5):
        run(k)
    assert torch.tpu.stats()["programs"] == before


def test_view_writes_and_their_gradients():
    x, s = make((3, 4)), torch.tensor([9.0, 8.0, 7.0])
    check(lambda x, s: x.select_scatter(s, 1, -2), x, s)
    check(lambda x, s: x.slice_scatter(s[:, None].expand(3, 2), 1, 0, 4, 2), x, s)
    check(lambda x, s: x.diagonal_scatter(s, 1), x, s)
    check(lambda x, s: x.diagonal_scatter(s, 0, 1, 0), x, s)
    for view in (
        lambda x: x[1],
        lambda x: x[:, 1:4:2],
        lambda x: x.diagonal(-1),
        lambda x: x.unfold(1, 3, 1),
        lambda x: x.unfold(0, 1, 2),
    ):

        def grad(x, view=view):
            x = x.detach().requires_grad_()
            (view(x) ** 2).sum().backward()
            return x.grad

        check(grad, x)
