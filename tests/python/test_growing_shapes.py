"""Programs that serve many sizes: values against the CPU, what is compiled, and for what not."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

SIZES = (9, 10, 11, 12, 16, 15, 17, 13, 31, 32, 20, 14)
AFTER = 3  # sizes before programs serve many; the setting's default


def poisoned(x: Tensor) -> Tensor:
    """The same values where they are not zero; NaN (for integers: anything) in what is padded."""
    if x.dtype is torch.bool:
        return (x.to(torch.int32) + 1).div(x.to(torch.int32) + 1).to(torch.bool) & x
    return x * (x / x).to(x.dtype)


def values(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(sum(sizes))
    if dtype.is_floating_point:
        return (torch.rand(sizes, generator=generator) + 0.25).to(dtype)
    return torch.randint(1, 9, sizes, generator=generator).to(dtype)


def check(function: Callable[..., object], make: Callable[[int], tuple], *, padded: bool) -> None:
    """At all sizes equal to the CPU's; ``padded``: in programs for many sizes, or in exact ones."""
    torch.tpu.reset_stats()
    for size in SIZES:
        inputs = make(size)
        want = function(*inputs)
        got = function(*(poisoned(x.to("tpu")) for x in inputs))
        want = want if isinstance(want, (tuple, list)) else (want,)
        got = got if isinstance(got, (tuple, list)) else (got,)
        for w, g in zip(want, got, strict=True):
            assert g.shape == w.shape, size
            torch.testing.assert_close(
                g.cpu(), w, equal_nan=True, msg=lambda m, size=size: f"{size}: {m}"
            )
    around = ("tpu::resize", "aten::div.Tensor", "aten::mul.Tensor", "tpu::cast")
    exact = [
        r["op"]
        for r in torch.tpu.compiles()
        if "many sizes" not in r["program"] and r["op"] not in around
    ]
    most = max(map(exact.count, exact), default=0)
    assert most <= AFTER if padded else most > AFTER, exact


def one(*others: int, dtype: torch.dtype = torch.float32, at: int = 0):
    def make(size: int) -> tuple:
        dims = list(others)
        dims.insert(at, size)
        return (values(*dims, dtype=dtype),)

    return make


PADDED = {
    "exp": (torch.exp, one(3)),
    "softmax_over": (lambda x: x.softmax(-1), one(3, at=1)),
    "softmax_beside": (lambda x: x.softmax(-1), one(3)),
    "sum_over": (lambda x: x.sum(0), one(3)),
    "sum_all": (lambda x: x.sum(), one(3)),
    "sum_inner": (lambda x: x.sum(1), one(3, at=1)),
    "mean": (lambda x: x.mean(0), one(3)),
    "mean_all": (lambda x: x.mean(), one(3, at=1)),
    "var": (lambda x: x.var(0), one(3)),
    "std_inner": (lambda x: x.std(-1), one(3, at=1)),
    "amax": (lambda x: (-x).amax(0), one(3)),
    "amin": (lambda x: x.amin(0), one(3)),
    "prod": (lambda x: x.prod(0), one(3)),
    "argmax": (lambda x: x.argmax(0), one(3)),
    "argmin_all": (lambda x: x.argmin(), one(3)),
    "max_dim": (lambda x: x.max(0), one(3)),
    "any": (lambda x: (x > 1.2).any(0), one(3)),
    "all": (lambda x: (x > 0).all(), one(3)),
    "logsumexp": (lambda x: x.logsumexp(0), one(3)),
    "norm": (lambda x: x.norm(dim=0), one(3)),
    "cumsum": (lambda x: x.cumsum(0), one(3)),
    "cumprod": (lambda x: x.cumprod(0), one(3)),
    "cummax": (lambda x: x.cummax(0), one(3)),
    "logcumsumexp": (lambda x: x.logcumsumexp(0), one(3)),
    "matmul_over": (lambda x: x.t() @ x, one(4)),
    "matmul_beside": (lambda x: x @ x.t(), one(4)),
    "linear": (lambda x: x @ torch.ones(4, 5, device=x.device), one(4)),
    "bmm": (lambda x: torch.bmm(x, x.transpose(1, 2)), one(2, 3, at=1)),
    "layer_norm_beside": (lambda x: torch.nn.functional.layer_norm(x, [4]), one(4)),
    "layer_norm_over": (lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]), one(4, at=1)),
    "cat_after": (lambda x: torch.cat([x, torch.ones(2, 3, device=x.device)]), one(3)),
    "cat_before": (lambda x: torch.cat([torch.ones(2, 3, device=x.device), x]), one(3)),
    "cat_between": (lambda x: torch.cat([x, torch.ones(1, 3, device=x.device), x]), one(3)),
    "cat_beside": (lambda x: torch.cat([x, x], 1), one(3)),
    "stack": (lambda x: torch.stack([x, x]), one(3)),
    "slice_after": (lambda x: x[2:].clone(), one(3)),
    "slice_before": (lambda x: x[:-2].clone(), one(3)),
    "slice_fixed": (lambda x: x[1:5].clone(), one(3)),
    "last": (lambda x: x[-1].clone(), one(3)),
    "last_column": (lambda x: x[:, -1].clone(), one(3, at=1)),
    "flip": (lambda x: x.flip(0), one(3)),
    "transposed": (lambda x: x.t().contiguous(), one(3)),
    "permuted": (lambda x: x.permute(2, 0, 1).reshape(4, -1), one(2, 4)),
    "flatten_outer": (lambda x: x.flatten(), one(3)),
    "flatten_inner": (lambda x: x.flatten(), one(3, at=1)),
    "flatten_middle": (lambda x: x.reshape(2, -1), one(2, 3, at=1)),
    "expand": (lambda x: x[:, None].expand(-1, 2, -1).clone(), one(3)),
    "where": (lambda x: torch.where(x > 1, x, 0.5), one(3)),
    "comparison": (lambda x: x > 0.7, one(3)),
    "clamp": (lambda x: x.clamp(0.5, 1.0), one(3)),
    "pad": (lambda x: torch.nn.functional.pad(x, (0, 0, 1, 2), value=3.0), one(3)),
    "sort": (lambda x: x.sort(0), one(3)),
    "sort_descending": (lambda x: x.sort(0, descending=True), one(3)),
    "argsort_int": (lambda x: x.argsort(dim=0, stable=True), one(3, dtype=torch.int64)),
    "gather_rows": (lambda x: x.index_select(0, torch.tensor([0, 3, 2], device=x.device)), one(3)),
    "embedding": (
        lambda x: torch.nn.functional.embedding(x, torch.arange(30.0, device=x.device).view(10, 3)),
        one(dtype=torch.int64),
    ),
    "take_along": (lambda x: x.take_along_dim(x.argsort(0), 0), one(3)),
    "tril": (lambda x: x.tril(), one(16)),
    "masked_fill": (lambda x: x.masked_fill(x > 0.9, -1.0), one(3)),
    "conv1d": (
        lambda x: torch.nn.functional.conv1d(x, torch.ones(2, 3, 3, device=x.device), padding=1),
        one(1, 3, at=2),
    ),
    "conv_batch": (
        lambda x: torch.nn.functional.conv2d(x, torch.ones(2, 3, 3, 3, device=x.device)),
        one(3, 5, 5),
    ),
    "attention": (
        lambda x: torch.nn.functional.scaled_dot_product_attention(x[:, :, -1:], x, x),
        one(1, 2, 8, at=2),
    ),
    "attention_causal": (
        lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True),
        one(1, 2, 8, at=2),
    ),
    "bfloat16_mean": (lambda x: x.mean(0), one(3, dtype=torch.bfloat16)),
    "int_sum": (lambda x: x.sum(0), one(3, dtype=torch.int32)),
    "index_add": (
        lambda x: torch.zeros(9, device=x.device).index_add(0, x[:, 0].long(), x[:, 1]),
        one(3),
    ),
    "cross_entropy": (
        lambda x: torch.nn.functional.cross_entropy(x, torch.ones_like(x[:, 0]).long()),
        one(3),
    ),
    "in_place": (lambda x: x.clone().add_(1).mul_(2), one(3)),
    "index_fill": (
        lambda x: x.clone().index_fill_(0, torch.tensor([1], device=x.device), 0.0),
        one(3),
    ),
    "in_place_slice": (lambda x: x.exp()[2:].add_(1), one(3)),
}


@pytest.mark.parametrize("name", PADDED)
def test_values_in_programs_for_many_sizes(name: str):
    function, make = PADDED[name]
    check(function, make, padded=True)


# What is in the padding could reach results, or the lowering is another one at each size.
EXACT = {
    "topk": (lambda x: x.topk(3, 0), one(3)),
    "cholesky": (
        lambda x: torch.linalg.cholesky(x @ x.t() + 9 * torch.eye(len(x), device=x.device)),
        one(3),
    ),
    "fft": (lambda x: torch.fft.fft(x, dim=0), one(3)),
}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_not_understood_has_exact_programs(name: str):
    function, make = EXACT[name]
    check(function, make, padded=False)


def test_memory_of_padded_arrays_is_bounded():
    x = torch.zeros(100, 1000, device="tpu")
    for size in range(100, 140):
        x = torch.cat([x, torch.ones(1, 1000, device="tpu")])
        torch.tpu.synchronize()
        assert len(x) == size + 1
    del x
    torch.tpu.reset_peak_memory_stats()
    before = torch.tpu.memory_allocated()
    x = torch.zeros(100, 1000, device="tpu")
    for _ in range(40):
        x = torch.cat([x, torch.ones(1, 1000, device="tpu")])
    torch.tpu.synchronize()
    assert torch.tpu.memory_allocated() - before <= 2 * x.numel() * x.element_size()
    assert x.sum().item() == 40_000


COUNTED = {
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0],
    "masked_select": lambda x: x.masked_select(x > 0),
    "unique": lambda x: x.unique(),
}


@pytest.mark.parametrize("name", COUNTED)
def test_results_of_many_counts_need_few_programs(name: str):
    torch.tpu.reset_stats()
    for count in range(1, 51):
        x = torch.cat([torch.arange(1.0, count + 1), torch.zeros(64 - count)])
        assert COUNTED[name](x.to("tpu")).tolist() == COUNTED[name](x).tolist()
    assert torch.tpu.stats()["programs"] <= 3


def test_random_numbers_are_those_of_exact_programs(run_python):
    script = """
        import torch
        torch.manual_seed(3)
        for size in (9, 10, 11, 12, 16, 15, 17):
            x = torch.ones(size, 3, device="tpu")
            print(torch.rand_like(x).tolist(), torch.randperm(size, device="tpu").tolist())
            print(torch.nn.functional.dropout(x, 0.3).tolist())
        print(torch.tpu.stats()["padded_launches"] > 0)
    """
    *padded, used = run_python(script).stdout.splitlines()
    *exact, unused = run_python(script, TORCH_TPU_GROWING_SHAPES="0").stdout.splitlines()
    assert padded == exact
    assert (used, unused) == ("True", "False")
