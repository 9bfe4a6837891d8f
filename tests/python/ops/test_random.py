"""Random ops: ranges, moments, reproducibility, and what bad parameters get."""

import math

import pytest
import torch

N = 20000


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(20)


def empty(dtype=torch.float32, shape=(N,)):
    return torch.empty(shape, dtype=dtype, device="tpu")


def moments(x):
    x = x.cpu().double()
    return x.mean().item(), x.std().item()


FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_is_half_open(dtype):
    for low, high in ((0.0, 1.0), (2.0, 2.5), (-1e-3, 1.0)):
        x = empty(dtype).uniform_(low, high).cpu()
        assert x.min() >= low - 1e-3 and x.max() < high
        assert moments(x)[0] == pytest.approx((low + high) / 2, abs=0.01)
    assert (empty(dtype).uniform_(3, 3) == 3).all().item()


@pytest.mark.parametrize("dtype", FLOATS)
def test_moments(dtype):
    mean, std = moments(empty(dtype).normal_(1, 2))
    assert mean == pytest.approx(1, abs=0.07) and std == pytest.approx(2, abs=0.07)
    x = empty(dtype).exponential_(2)
    assert moments(x)[0] == pytest.approx(0.5, abs=0.02)
    assert (x > 0).all().item() and x.isfinite().all().item()
    assert moments(empty(dtype).log_normal_(0, 0.5))[0] == pytest.approx(math.exp(0.125), abs=0.03)
    assert moments(empty(dtype).geometric_(0.3))[0] == pytest.approx(1 / 0.3, abs=0.1)
    assert empty(dtype).cauchy_(1, 2).cpu().double().median() == pytest.approx(1, abs=0.1)
    for rate in (3.0, 40.0):
        mean, std = moments(torch.poisson(torch.full((N,), rate, device="tpu")))
        assert mean == pytest.approx(rate, abs=0.25) and std == pytest.approx(rate**0.5, abs=0.2)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 30.0])
def test_gamma(alpha):
    x = torch.distributions.Gamma(torch.full((N,), alpha, device="tpu"), 1.0).sample()
    mean, std = moments(x)
    assert mean == pytest.approx(alpha, rel=0.15) and std == pytest.approx(alpha**0.5, rel=0.15)


def test_binomial():
    for n, p in ((5.0, 0.3), (1000.0, 0.9)):
        count = torch.full((N,), n, device="tpu")
        x = torch.binomial(count, torch.full_like(count, p))
        assert moments(x)[0] == pytest.approx(n * p, rel=0.02)


def test_integers():
    x = torch.randint(-3, 4, (7000,), device="tpu").cpu()
    assert x.min() == -3 and x.max() == 3 and (x + 3).bincount().min() > 800
    x = torch.randint(2**40, 2**40 + 5, (50,), device="tpu").cpu()
    assert x.min() >= 2**40 and x.max() < 2**40 + 5
    for dtype in (torch.uint8, torch.int8, torch.int64):
        x = empty(dtype).random_().cpu().double()
        assert x.min() >= 0 and x.mean() / torch.iinfo(dtype).max == pytest.approx(0.5, abs=0.02)


def test_permutations_are_fair():
    for n in (0, 1, 2, 1000):
        assert torch.randperm(n, device="tpu").sort().values.tolist() == list(range(n))
    firsts = torch.stack([torch.randperm(4, device="tpu") for _ in range(400)]).cpu()
    for place in range(4):
        assert firsts[:, place].bincount(minlength=4).min() > 60


def test_multinomial():
    weights = torch.tensor([0.0, 1.0, 2.0, 0.0, 5.0], device="tpu")
    share = torch.tensor([0.0, 0.125, 0.25, 0.0, 0.625])
    for replacement in (True, False):
        x = torch.multinomial(weights.expand(4000, 5), 3, replacement=replacement).cpu()
        first = x[:, 0].bincount(minlength=5) / 4000
        torch.testing.assert_close(first, share, rtol=0, atol=0.03)
        if not replacement:
            assert x.sort(1).values.tolist() == [[1, 2, 4]] * 4000
    sparse = torch.rand(500, device="tpu") * (torch.rand(500, device="tpu") > 0.5)
    assert (sparse[torch.multinomial(sparse, N, replacement=True)] > 0).all().item()


def test_dropout_scales_what_it_keeps():
    x = torch.ones(N, device="tpu", requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    kept = (y != 0).cpu()
    assert kept.float().mean() == pytest.approx(0.75, abs=0.02)
    torch.testing.assert_close(y.detach().cpu(), kept / 0.75)
    torch.testing.assert_close(x.grad.cpu(), kept / 0.75)


def test_seeds_and_parameters_compile_nothing():
    def draw(k):
        torch.manual_seed(k)
        x = empty(shape=(64,))
        draws = (lambda: x.uniform_(0, k + 1.5), lambda: x.normal_(k, 2.5 + k))
        return [draw().cpu() for draw in (*draws, lambda: x.bernoulli_(0.1 * k))]

    first = draw(1)
    before = torch.tpu.stats()["programs"]
    second = draw(2)
    assert torch.tpu.stats()["programs"] == before
    assert not torch.equal(first[0], second[0])
    assert all(torch.equal(a, b) for a, b in zip(first, draw(1), strict=True))


@pytest.mark.parametrize(
    "call",
    [
        lambda: empty().uniform_(2, 1),
        lambda: empty().normal_(0, -1),
        lambda: empty().bernoulli_(1.5),
        lambda: empty().exponential_(0),
        lambda: empty(torch.uint8).random_(300),
        lambda: torch.bernoulli(torch.full((2,), 2.0, device="tpu")),
        lambda: torch.poisson(torch.full((2,), -2.0, device="tpu")),
        lambda: torch.normal(torch.zeros(2, device="tpu"), -torch.ones(2, device="tpu")),
        lambda: torch.multinomial(torch.tensor([-1.0, 2.0], device="tpu"), 1),
        lambda: torch.multinomial(torch.tensor([0.0, 0.0], device="tpu"), 1),
        lambda: torch.multinomial(torch.tensor([1.0, float("inf")], device="tpu"), 1),
        lambda: torch.multinomial(torch.tensor([1.0, 2.0], device="tpu"), 3),
    ],
)
def test_bad_parameters(call):
    with pytest.raises(RuntimeError):
        call().cpu()
