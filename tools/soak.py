"""A long run of mixed shapes: memory of host and device must be flat after warm-up.

Each round draws one of a fixed set of shapes and programs (chains, training steps, in-place writes
through views, reads, sorts) in one of the eager modes, and drops everything it made. Reported are
the resident set of the process, the device's bytes and its live buffers over time; the run fails
where the last quarter needs more than the second one, or where anything is left on the device.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import random
import time
from collections.abc import Callable

import psutil
import torch
from rich.console import Console
from rich.table import Table

F = torch.nn.functional
Mode = torch.tpu.EagerMode
SIZES = [(8, 16), (32, 24), (5, 129), (64, 64), (1, 1), (3, 1000), (128, 40)]
MIB = 1 << 20


def chain(rows: int, columns: int) -> None:
    x = torch.randn(rows, columns, device="tpu")
    h = torch.softmax(x @ x.t(), -1)
    F.layer_norm(h, (rows,)).sum().item()


def train(rows: int, columns: int) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(columns, 32), torch.nn.GELU()).to("tpu")
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(rows, columns, device="tpu")).square().mean().backward()
        optimizer.step()


def views(rows: int, columns: int) -> None:
    x = torch.zeros(rows, columns, device="tpu")
    x.t()[columns // 2] += 1
    x[: rows // 2 + 1].mul_(3)
    x.cpu()


def ordering(rows: int, columns: int) -> None:
    x = torch.rand(rows, columns, device="tpu")
    values, places = x.sort(-1)
    torch.searchsorted(values, x.gather(-1, places)).cpu()


def copies(rows: int, columns: int) -> None:
    host = torch.ones(rows, columns)
    device = host.to("tpu", non_blocking=True)
    del host
    (device.to(torch.bfloat16) + 1).to("cpu")


PROGRAMS: list[Callable[[int, int], None]] = [chain, train, views, ordering, copies]


class Sample:
    """Memory now, with nothing of the rounds alive."""

    def __init__(self, start: float, rounds: int) -> None:
        gc.collect()
        torch.tpu.synchronize()
        self.minutes = (time.monotonic() - start) / 60
        self.rounds = rounds
        self.host = psutil.Process().memory_info().rss / MIB
        stats = torch.tpu.memory_stats()
        self.device = stats["allocated_bytes.all.current"]
        self.buffers = stats["allocation.all.current"]


def soak(minutes: float, seed: int) -> list[Sample]:
    choices = random.Random(seed)
    kinds = list(itertools.product(PROGRAMS, SIZES, (Mode.DEFER_NEVER, Mode.DEFER_AND_FUSE)))
    for program, size, mode in kinds:  # every program is compiled before the clock starts
        with torch.tpu.set_eager_mode(mode):
            program(*size)
    start = time.monotonic()
    samples = [Sample(start, 0)]
    rounds = 0
    while samples[-1].minutes < minutes:
        until = time.monotonic() + minutes * 60 / 40
        while time.monotonic() < until:
            program, size, mode = choices.choice(kinds)
            with torch.tpu.set_eager_mode(mode):
                program(*size)
            rounds += 1
        samples.append(Sample(start, rounds))
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    samples = soak(arguments.minutes, arguments.seed)
    table = Table("minutes", "rounds", "host MiB", "device bytes", "buffers")
    for s in samples[:: max(1, len(samples) // 10)] + samples[-1:]:
        row = (f"{s.minutes:.1f}", s.rounds, f"{s.host:.1f}", s.device, s.buffers)
        table.add_row(*map(str, row))
    console = Console()
    console.print(table)
    quarter = len(samples) // 4
    second = max(s.host for s in samples[quarter : 2 * quarter])
    last = max(s.host for s in samples[-quarter:])
    console.print(f"host: {second:.1f} MiB in the second quarter, {last:.1f} MiB in the last")
    if last > second * 1.01 + 4:
        raise SystemExit("host memory grows")
    # What stays: cached operands (a bounded number of a few bytes) and random state.
    if max(s.device for s in samples[quarter:]) > samples[quarter].device + 64 * 1024:
        raise SystemExit("device memory grows")


if __name__ == "__main__":
    main()
