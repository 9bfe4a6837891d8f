"""torch.compile on the device: values, aliases, and what each call costs."""

import warnings

import pytest
import torch
from torch import nn

TPU = "tpu"


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


def counts(f, *args):
    """The result of a call, and what it compiled and launched."""
    before = torch.tpu.stats()
    result = f(*args)
    after = torch.tpu.stats()
    return result, after["compiles"] - before["compiles"], after["launches"] - before["launches"]


def close(actual, expected, **kwargs):
    torch.testing.assert_close(actual.cpu(), expected, **kwargs)


@pytest.mark.parametrize("backend", [None, TPU])
def test_a_second_call_is_one_launch(backend):
    def f(x, y):
        return torch.softmax(x @ y, -1).relu() + 1

    compiled = torch.compile(f, fullgraph=True, **({"backend": backend} if backend else {}))
    x, y = torch.randn(4, 5), torch.randn(5, 6)
    on_tpu = x.to(TPU), y.to(TPU)
    close(compiled(*on_tpu), f(x, y))
    _, compiles, launches = counts(compiled, *on_tpu)
    assert (compiles, launches) == (0, 1)


def test_cpu_graphs_stay_with_inductor():
    compiled = torch.compile(lambda x: x * 2)
    _, compiles, launches = counts(compiled, torch.ones(2))
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert (compiles, launches) == (0, 0)


def test_training_step_agrees_with_eager():
    def build():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3)
        ).to(TPU)

    x, target = torch.randn(32, 8, device=TPU), torch.randint(0, 3, (32,), device=TPU)
    losses = {}
    for mode in ("eager", "compiled"):
        model = build()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        run = torch.compile(model) if mode == "compiled" else model
        torch.manual_seed(1)
        losses[mode] = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(run(x), target)
            loss.backward()
            optimizer.step()
            losses[mode].append(loss.item())
        losses[mode] += model[1].running_mean.tolist()
    assert losses["compiled"] == pytest.approx(losses["eager"], rel=1e-5)


def test_random_numbers_are_those_of_eager():
    def f(x):
        return nn.functional.dropout(x, 0.5) + torch.rand_like(x)

    x = torch.ones(64, device=TPU)
    compiled = torch.compile(f)
    compiled(x)
    torch.manual_seed(3)
    expected = [f(x).tolist(), f(x).tolist()]
    torch.manual_seed(3)
    assert [compiled(x).tolist(), compiled(x).tolist()] == expected


def test_written_inputs_are_donated():
    @torch.compile(fullgraph=True)
    def update(cache, value):
        cache[:, 1].copy_(value)
        cache.add_(1)
        return cache.sum()

    cache, value = torch.zeros(256, 256, device=TPU), torch.ones(256, device=TPU)
    update(cache, value)
    torch.tpu.synchronize()
    torch.tpu.reset_peak_memory_stats()
    held = torch.tpu.memory_allocated()
    total, compiles, launches = counts(update, cache, value)
    assert total.item() == 256 * 256 * 2
    assert (compiles, launches) == (0, 1)
    assert torch.tpu.max_memory_allocated() - held < cache.nbytes


def test_results_alias_what_they_aliased():
    @torch.compile(fullgraph=True)
    def f(x):
        y = x * 2
        return y, y[0], x.t()

    x = torch.arange(4.0, device=TPU).view(2, 2)
    y, row, transposed = f(x)
    row.zero_()
    transposed[1].fill_(7)
    assert y.tolist() == [[0, 0], [4, 6]]
    assert x.tolist() == [[0, 7], [2, 7]]


def test_numbers_and_offsets_do_not_compile():
    @torch.compile
    def scaled(x, factor):
        return x * factor + 1

    @torch.compile
    def doubled(row):
        return row * 2

    x = torch.arange(12.0, device=TPU).view(4, 3)
    scaled(x, 0.5)
    doubled(x[0])
    for factor in (0.25, 3.0, -1.0):
        result, compiles, _ = counts(scaled, x, factor)
        close(result, x.cpu() * factor + 1)
        assert compiles == 0
    for i in range(4):
        result, compiles, launches = counts(doubled, x[i])
        close(result, x.cpu()[i] * 2)
        assert compiles == 0 or i == 1  # the first row lies at the storage's start
        assert launches == 1


def test_an_optimizer_step_is_one_program():
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    on_tpu = nn.Linear(4, 3).to(TPU)
    on_tpu.load_state_dict(model.state_dict())
    reference, optimizer = (torch.optim.AdamW(m.parameters(), lr=0.01) for m in (model, on_tpu))
    step = torch.compile(optimizer.step)
    for i in range(4):
        for m, run in ((model, reference.step), (on_tpu, step)):
            x = torch.ones(2, 4, device=m.weight.device)
            m(x).square().sum().backward()
            if i < 3:
                run()
            else:
                _, compiles, launches = counts(run)
                assert m is model or (compiles, launches) == (0, 1)
            m.zero_grad()
    close(on_tpu.weight.detach(), model.weight.detach())


def test_an_element_of_a_tensor_as_input_and_result():
    x = torch.arange(5, device=TPU)
    assert torch.compile(lambda e: e * 2)(x[3]).item() == 6
    last = torch.compile(lambda x: x.select(0, -1))(x)
    assert last.item() == 4
    last.zero_()
    assert x.tolist() == [0, 1, 2, 3, 0]


def test_host_values_are_operands():
    @torch.compile
    def f(x, scale):
        return x * scale

    x = torch.ones(3, device=TPU)
    f(x, torch.tensor(2.0))
    result, compiles, launches = counts(f, x, torch.tensor(5.0))
    assert result.tolist() == [5, 5, 5]
    assert (compiles, launches) == (0, 1)


def test_host_tensors_are_computed_on_the_host():
    @torch.compile
    def f(x, steps):
        steps.add_(1)
        return x + (steps * 2).to(x.device)

    x, steps = torch.zeros(3, device=TPU), torch.zeros(3)
    for i in (1, 2, 3):
        assert f(x, steps).tolist() == [2 * i] * 3
        assert steps.tolist() == [i] * 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_chains_give_bit_for_bit_what_eager_gives(dtype):
    def chain(x, y):
        a = torch.log(torch.exp(x))
        b = (x * 3.1) / 3.1 - (x + 1e8) + 1e8
        c = x * y + a
        d = torch.sqrt(x.abs()) * torch.sqrt(x.abs()) - y * x
        return a, b, c, d, (x / y) / y, torch.exp(x) * torch.exp(y), x / 3 / 7

    torch.manual_seed(0)
    special = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 100.0])
    x = torch.cat([torch.randn(500) * 3, special]).to(TPU, dtype)
    y = torch.cat([torch.randn(500), special.flip(0)]).to(TPU, dtype)
    for actual, expected in zip(torch.compile(chain)(x, y), chain(x, y), strict=True):
        same = (actual == expected) | (actual.isnan() & expected.isnan())
        assert same.all().item() and torch.equal(actual.signbit(), expected.signbit())


def test_a_call_without_a_lowering_cuts_the_graph():
    def f(x):
        return torch.linalg.eig(x + 1).eigenvalues.real.sum() * 2

    x = torch.eye(3) * 4
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        close(torch.compile(f)(x.to(TPU)), f(x))
    assert any("a graph is cut at aten" in str(w.message) for w in caught)


def test_the_last_graph_can_be_looked_at():
    x = torch.ones(64, 32, device=TPU)
    compiled = torch.compile(lambda x: torch.softmax(x @ x.t(), -1))
    compiled(x)
    graph = torch.tpu.compiler.last()
    assert graph == torch.tpu.compiler.graphs()[-1]
    assert graph.flops >= 2 * 64 * 64 * 32
    assert graph.bytes_accessed >= x.nbytes
    assert graph.peak_bytes >= graph.argument_bytes + graph.output_bytes
    assert graph.output_bytes == 64 * 64 * 4
    assert "stablehlo.dot_general" in graph.stablehlo
    name, code = graph.optimized
    assert name and code


def test_a_graph_keeps_so_many_traces():
    graph = torch.tpu.compiler.last
    compiled = torch.compile(lambda x, n: x.view(-1, n) * 2, dynamic=True)
    x = torch.ones(2520, device=TPU)
    for n in [n for n in range(1, 2521) if 2520 % n == 0] * 2:
        assert compiled(x, n).shape == (2520 // n, n)
    assert graph().traces <= 64


def test_exported_programs_run():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x, *, scale):
            self.calls += 1
            return self.linear(x).relu() * scale

    torch.manual_seed(0)
    model, x, scale = Model(), torch.randn(2, 4), torch.tensor(2.0)
    exported = torch.export.export(model, (x,), {"scale": scale})
    want = model(x, scale=scale)
    module = exported.module().to(TPU)
    calls = module.calls.item()
    close(module(x.to(TPU), scale=scale.to(TPU)).detach(), want.detach())
    compiled = torch.compile(module)
    close(compiled(x.to(TPU), scale=scale.to(TPU)).detach(), want.detach())
    assert module.calls.item() == calls + 2


def test_custom_ops_with_fake_kernels():
    @torch.library.custom_op("torch_tpu_tests::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_fake(torch.empty_like)
    x = torch.ones(3, device=TPU)
    assert torch.compile(lambda x: twice(x + 1) + 1, fullgraph=True)(x).tolist() == [5] * 3


def test_checkpoints_and_autocast():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8)).to(TPU)
    x = torch.randn(4, 8, device=TPU)

    def loss(x):
        with torch.autocast(TPU):
            y = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
        return y.float().square().sum()

    gradients = []
    for run in (loss, torch.compile(loss)):
        torch.manual_seed(1)
        model.zero_grad()
        run(x).backward()
        gradients.append([p.grad.cpu() for p in model.parameters()])
    for ours, eager in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, eager, rtol=2e-2, atol=2e-2)


def test_unknown_options_are_a_type_error():
    with pytest.raises(TypeError, match="expected options of .*, got 'no_such'"):
        torch.compile(lambda x: x, backend=TPU, options={"no_such": 1})


def test_a_shape_that_does_not_fit_says_so():
    x, y = torch.ones(2, 3, device=TPU), torch.ones(4, 5, device=TPU)
    with pytest.raises(RuntimeError, match="same reduction dim"):
        torch.compile(lambda x, y: x @ y)(x, y)
