"""Random programs of collectives on tpu, and the same with Gloo on the CPU."""

import random

import pytest
import torch
import torch.distributed as dist
from ranks import Ranks, mine
from torch.distributed import ReduceOp

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.int64,
    torch.uint8,
]
SIZES = [(1,), (7,), (64,), (3, 5), (2, 3, 4), (1000,)]


class Program:
    """Calls with fixed random choices; ``run(device)`` gives the results."""

    def __init__(self, seed, groups, rank):
        self.seed, self.groups, self.rank = seed, groups, rank

    def run(self, device):
        self.rng = random.Random(self.seed)  # the same on every rank
        self.device, self.works, self.results = device, [], []
        for step in range(self.rng.randint(1, 6)):
            self.step = step
            self.group, self.ranks = self.rng.choice(self.groups)
            self.dtype = self.rng.choice(DTYPES)
            self.sizes = self.rng.choice(SIZES)
            self.is_async = self.rng.random() < 0.5
            call = getattr(self, self.rng.choice(CALLS))
            op = self.rng.choice([ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN])
            root = self.rng.choice(self.ranks)
            if self.rank in self.ranks:
                call(op, root)
            if self.rng.random() < 0.3:
                self.finish()
        self.finish()
        return [t.cpu() for t in self.results]

    def finish(self):
        for work in self.works:
            work.wait()
        self.works = []

    def add(self, work, *results):
        if work is not None:
            self.works.append(work)
        self.results += results

    def tensor(self, *sizes):
        x = mine(*(sizes or self.sizes), dtype=self.dtype, seed=self.seed * 10 + self.step)
        return x.to(self.device)

    def all_reduce(self, op, root):
        x = self.tensor()
        self.add(dist.all_reduce(x, op, self.group, self.is_async), x)

    def broadcast(self, op, root):
        x = self.tensor()
        self.add(dist.broadcast(x, root, self.group, self.is_async), x)

    def reduce(self, op, root):
        x = self.tensor()
        work = dist.reduce(x, root, op, self.group, self.is_async)
        self.add(work, *([x] if self.rank == root else []))

    def all_gather(self, op, root):
        x = self.tensor()
        out = [torch.empty_like(x) for _ in self.ranks]
        self.add(dist.all_gather(out, x, self.group, self.is_async), *out)

    def all_gather_into_tensor(self, op, root):
        x = self.tensor()
        out = x.new_empty(len(self.ranks) * x.shape[0], *x.shape[1:])
        self.add(dist.all_gather_into_tensor(out, x, self.group, self.is_async), out)

    def reduce_scatter_tensor(self, op, root):
        out = self.tensor()
        x = self.tensor(len(self.ranks) * out.shape[0], *out.shape[1:])
        self.add(dist.reduce_scatter_tensor(out, x, op, self.group, self.is_async), out)

    def all_to_all_single(self, op, root):
        n = len(self.ranks)
        rng = random.Random(f"{self.seed} {self.step}")  # self.rng also serves those outside
        table = [[rng.randint(0, 3) for _ in range(n)] for _ in range(n)]
        me = self.ranks.index(self.rank)
        ins, outs = table[me], [row[me] for row in table]
        x = self.tensor(sum(ins), 2)
        out = x.new_empty(sum(outs), 2)
        self.add(dist.all_to_all_single(out, x, outs, ins, self.group, self.is_async), out)

    def scatter(self, op, root):
        out = self.tensor()
        parts = list(self.tensor(len(self.ranks), *self.sizes)) if self.rank == root else None
        self.add(dist.scatter(out, parts, root, self.group, self.is_async), out)

    def gather(self, op, root):
        x = self.tensor()
        out = [torch.empty_like(x) for _ in self.ranks] if self.rank == root else None
        self.add(dist.gather(x, out, root, self.group, self.is_async), *(out or []))

    def shift(self, op, root):
        if len(self.ranks) == 1:
            return
        me, n = self.ranks.index(self.rank), len(self.ranks)
        x = self.tensor()
        out = torch.empty_like(x)
        self.add(dist.isend(x, self.ranks[(me + 1) % n], self.group, tag=self.step))
        self.add(dist.irecv(out, self.ranks[(me - 1) % n], self.group, tag=self.step), out)


CALLS = [name for name in vars(Program) if name not in ("run", "finish", "add", "tensor")]
CALLS = [name for name in CALLS if not name.startswith("_")]


class TestRandomCollectives(Ranks):
    def compare(self, seeds):
        groups = [(dist.group.WORLD, [0, 1, 2, 3])]
        for ranks in ([0, 1], [2, 3], [0, 2, 3], [1]):
            groups.append((dist.new_group(ranks), ranks))
        for seed in seeds:
            program = Program(seed, groups, self.rank)
            want, got = program.run("cpu"), program.run("tpu")
            assert len(got) == len(want)
            for a, b in zip(got, want, strict=True):
                torch.testing.assert_close(a, b, rtol=2e-2, atol=1e-2, msg=f"program {seed}")

    def test_twenty_programs(self):
        self.compare(range(20))

    @pytest.mark.slow
    def test_two_hundred_programs(self):
        self.compare(range(100, 300))
