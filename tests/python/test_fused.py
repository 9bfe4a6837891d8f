"""The fused eager mode: strict mode's values and errors with fewer launches."""

import threading
from collections.abc import Callable, Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

F = torch.nn.functional
FUSED = torch.tpu.EagerMode.DEFER_AND_FUSE
STRICT = torch.tpu.EagerMode.DEFER_NEVER


@pytest.fixture(autouse=True)
def fused() -> Iterator[None]:
    with torch.tpu.set_eager_mode(FUSED):
        yield


class Counts:
    """What the counters of `names` gain in a block."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __enter__(self) -> "Counts":
        torch.tpu.synchronize()
        self.before = torch.tpu.stats()
        return self

    def __exit__(self, *_: object) -> None:
        after = torch.tpu.stats()
        self.gained = tuple(after[name] - self.before[name] for name in self.names)


def strictly(f: Callable[[], Tensor]) -> Tensor:
    with torch.tpu.set_eager_mode(STRICT):
        return f().cpu()


def chain(x: Tensor, w: Tensor) -> Tensor:
    h = torch.relu(x @ w)
    h = torch.softmax(h + h.t(), -1)
    return F.layer_norm(h, (64,)) * x


def test_nothing_runs_before_a_read_and_then_all_at_once():
    x, w = torch.randn(64, 64).to("tpu"), torch.randn(64, 64).to("tpu")
    with Counts("launches", "flushes", "fused_calls") as counts:
        y = chain(x, w)
    assert counts.gained == (0, 0, 0)
    with Counts("launches", "flushes", "fused_calls") as counts:
        pass  # entering waits for the device
    assert counts.gained == (0, 0, 0)
    with Counts("launches") as counts:
        got = y.cpu()
    assert counts.gained == (0,)  # what was queued went with the wait before
    assert torch.equal(got, strictly(lambda: chain(x, w)))


def test_a_repeated_sequence_is_one_launch_and_no_program():
    x, w = torch.randn(64, 64).to("tpu"), torch.randn(64, 64).to("tpu")
    chain(x, w).cpu()
    with Counts("launches", "programs", "flushes", "fused_calls") as counts:
        for i in range(5):
            (chain(x, w) * (i + 0.5)).sum().item()
    launches, programs, flushes, calls = counts.gained
    assert (launches, flushes, calls) == (5, 5, 5 * 8)
    assert programs <= 1


def test_results_that_nobody_holds_are_not_computed():
    x = torch.ones(8, device="tpu")
    torch.tpu.synchronize()
    with Counts("launches") as counts:
        for _ in range(3):
            x * 2 + 1
        torch.tpu.synchronize()
    assert counts.gained == (0,)


UNARY = {
    "exp": torch.exp,
    "log": torch.log,
    "neg": torch.neg,
    "reciprocal": torch.reciprocal,
    "sqrt": torch.sqrt,
    "div": lambda x: x / 3.0,
    "mul": lambda x: x * 3.0,
    "add": lambda x: x + 1e8,
    "sub": lambda x: x - 1e8,
    "bf16": lambda x: x.bfloat16().float(),
    "tanh": torch.tanh,
    "mul_add": lambda x: x * 1.1 + 0.3,
    "softmax": lambda x: torch.softmax(x.view(4, -1), -1).view(-1),
    "sum": lambda x: x + x.sum(),
}


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.lists(st.sampled_from(sorted(UNARY)), min_size=2, max_size=6))
def test_chains_give_strict_values_bit_for_bit(names: list[str]):
    x = torch.tensor([float("nan"), float("inf"), -0.0, 0.0, 1.5, -2.7, 1e-30, 3e38]).to("tpu")

    def run() -> Tensor:
        y = x
        for name in names:
            y = UNARY[name](y)
        return y

    got, want = run().cpu(), strictly(run)
    nan = torch.isnan(want)
    assert torch.equal(torch.isnan(got), nan)
    assert torch.equal(got.view(torch.int32)[~nan], want.view(torch.int32)[~nan])


def test_random_numbers_are_those_of_strict_mode():
    def draw() -> Tensor:
        torch.manual_seed(7)
        a = torch.randn(5, device="tpu")
        b = F.dropout(torch.ones(100, device="tpu"), 0.4)
        return torch.cat([a, b, torch.rand(3, device="tpu")])

    assert torch.equal(draw().cpu(), strictly(draw))


def test_views_and_in_place_writes_alias_as_ever():
    base = torch.zeros(4, 6, device="tpu")
    view = base.t()[1:3]
    view += 2
    base[0] *= 5
    assert view.sum().item() == 2 * 4 * 2 + 2 * 8
    before = base.clone()
    base.zero_()
    assert before.sum().item() == 32 and base.sum().item() == 0


def test_in_place_steps_donate():
    x = torch.zeros(1 << 20, device="tpu")
    x += 1
    torch.tpu.synchronize()
    torch.tpu.reset_peak_memory_stats()
    held = torch.tpu.memory_allocated()
    for _ in range(10):
        x += 1
        x *= 2
    torch.tpu.synchronize()
    assert torch.tpu.max_memory_allocated() - held < x.nbytes / 2


def test_shape_errors_come_at_the_call():
    x, y = torch.ones(3, device="tpu"), torch.ones(4, device="tpu")
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        x + y
    assert (x + 1).sum().item() == 6


def test_an_index_error_comes_at_the_read():
    x = torch.ones(3, device="tpu")[torch.tensor([5], device="tpu")] * 2
    with pytest.raises(IndexError, match="out of range"):
        x.cpu()


def test_a_failing_flush_names_op_and_line_and_spares_the_rest(run_python):
    done = run_python(
        """
        import torch
        small = torch.ones(8, device="tpu") + 1
        large = torch.ones(64 << 20, device="tpu").exp()  # the line
        dependent = large + 1
        try:
            dependent.sum().item()
        except torch.OutOfMemoryError as error:
            print(error)
        try:
            large.cpu()
        except torch.OutOfMemoryError as error:
            print("again")
        print(small.sum().item())
        """,
        TORCH_TPU_MEMORY_LIMIT=str(128 << 20),
        TORCH_TPU_EAGER_MODE="fused",
        TORCH_TPU_NUM_DEVICES="1",
    )
    assert "aten::" in done.stdout and "<string>:4" in done.stdout, done.stdout + done.stderr
    assert "again" in done.stdout and "16.0" in done.stdout


def test_limits_cut(run_python):
    run_python(
        """
        import torch
        x = torch.ones(4, device="tpu")
        torch.tpu.synchronize()
        torch.tpu.reset_stats()
        for _ in range(30):
            x = x + 1
        assert torch.tpu.stats()["flushes"] == 3, torch.tpu.stats()
        assert x.sum().item() == 124
        """,
        TORCH_TPU_EAGER_MODE="fused",
        TORCH_TPU_FUSED_CALLS="10",
    )


def test_a_loop_without_reads_settles_on_few_programs(run_python):
    run_python(
        """
        import torch
        x = torch.ones(4, device="tpu")
        ops = [torch.sin, torch.cos, torch.tanh, torch.neg, torch.abs, torch.exp, torch.sigmoid]
        def body(x):  # 101 calls without a pattern
            for i in range(101):
                x = ops[i * i * i % 7 if i % 11 else i % 5](x)
            return x
        for _ in range(5):
            x = body(x)
        assert torch.tpu.stats()["programs"] <= 6, torch.tpu.stats()
        torch.tpu.reset_stats()
        for _ in range(50):
            x = body(x)
        stats = torch.tpu.stats()
        assert stats["flushes"] > 50 and stats["programs"] == 0, stats
        """,
        TORCH_TPU_EAGER_MODE="fused",
        TORCH_TPU_FUSED_CALLS="64",
    )


def test_a_training_step_matches_strict_mode():
    def train() -> Tensor:
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(32, 4)
        ).to("tpu")
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        x, y = torch.randn(8, 16).to("tpu"), torch.randint(4, (8,)).to("tpu")
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses)

    torch.testing.assert_close(train().cpu(), strictly(train), rtol=1e-6, atol=1e-6)


def test_compiled_graphs_take_queued_results():
    @torch.compile
    def f(x: Tensor) -> Tensor:
        return x * 2 + 1

    x = torch.ones(4, device="tpu") + 1
    y = f(x) + x
    assert y.tolist() == [7] * 4


def test_threads_share_a_queue():
    results: dict[int, float] = {}

    def work(i: int) -> None:
        x = torch.full((8,), float(i), device="tpu")
        for _ in range(50):
            x = x * 1.0 + 1
        results[i] = x.sum().item()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: 8 * (i + 50.0) for i in range(4)}


def test_leaving_the_mode_launches_what_is_queued():
    x = torch.ones(4, device="tpu")
    y = x + 1
    with Counts("launches") as counts, torch.tpu.set_eager_mode(STRICT):
        pass
    del counts
    assert y.tolist() == [2] * 4
