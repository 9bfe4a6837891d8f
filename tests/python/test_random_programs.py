"""Random programs of views, in-place writes and reads give on the device what they give on the CPU.

A program is a list of steps over tensors that share one storage; after it, every read and every
tensor is compared bit for bit. Shapes, views and ops come from small sets so that programs meet
executables that are compiled already.

TORCH_TPU_RANDOM_PROGRAMS=100000 sets how many programs there are in all, new ones at each run.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from torch import Tensor

ASKED = os.environ.get("TORCH_TPU_RANDOM_PROGRAMS")
PROGRAMS = int(ASKED or 4200)
MAX_DEPTH = 2

View = Callable[[Tensor, int], Tensor]

VIEWS: dict[str, View] = {
    "every second row": lambda t, k: t[k % 2 :: 2],
    "all but one column": lambda t, k: t[..., k % 2 : t.shape[-1] - 1 + k % 2],
    "two rows": lambda t, k: t.narrow(0, k % (t.shape[0] - 1), 2),
    "transpose": lambda t, k: t.transpose(0, -1),
    "permute": lambda t, k: t.movedim(0, 1),
    "row": lambda t, k: t.select(0, k % t.shape[0]),
    "column": lambda t, k: t.select(-1, k % t.shape[-1]),
    "diagonal": lambda t, k: t.diagonal(k % 2),
    "flat": lambda t, k: t.view(-1),
    "one more dimension": lambda t, k: t.unsqueeze(1),
    "expanded": lambda t, k: t.unsqueeze(0).expand(2, *t.shape),
    "windows that overlap": lambda t, k: t.unfold(-1, 2, 1),
    "windows side by side": lambda t, k: t.unfold(-1, 2, 2),
    "as_strided": lambda t, k: t.as_strided((2, 3), (5, 2), t.storage_offset() + k % 3),
    "as_strided that overlaps": lambda t, k: t.as_strided((3, 2), (1, 2), t.storage_offset()),
    "other dtype": lambda t, k: t.view(OTHER_DTYPES[t.dtype]),
    "real and imaginary": lambda t, k: torch.view_as_real(t),
    "imaginary": lambda t, k: t.imag,
    "conjugate": lambda t, k: t.conj(),
}
OTHER_DTYPES = {
    torch.int32: torch.int16,
    torch.int16: torch.int32,
    torch.float32: torch.int32,
    torch.complex64: torch.float32,
}


def a_number(t: Tensor, k: int) -> complex | float | int:
    number = [-1, 2, 3, 5][k % 4]
    if t.is_complex():
        return complex(number, 1 - k % 3)
    return number / 2 if t.is_floating_point() else number


def a_mask(t: Tensor, k: int) -> Tensor:
    """A mask made on the CPU, at the place of `t`."""
    flat = torch.arange(t.numel()).mul(7).add(k).remainder(3).eq(0)
    return flat.view(t.shape).to(t.device)


def an_index(t: Tensor, k: int) -> Tensor:
    """Two different rows, one of them counted from the end where `k` is odd."""
    first = k % t.shape[0]
    second = (first + 1) % t.shape[0]
    return torch.tensor([first - (k % 2) * t.shape[0], second], device=t.device)


def masked_assign(t: Tensor, k: int) -> None:
    t[a_mask(t, k)] = a_number(t, k)


def indexed_assign(t: Tensor, k: int) -> None:
    t[an_index(t, k)] = a_number(t, k)


def indexed_accumulate(t: Tensor, k: int) -> None:
    index = an_index(t, k)
    number = torch.tensor(a_number(t, k), dtype=t.dtype, device=t.device)
    t.index_put_((torch.cat([index, index]),), number, accumulate=True)


def slice_assign(t: Tensor, k: int) -> None:
    t[..., k % t.shape[-1]] = a_number(t, k)


WRITES: dict[str, Callable[[Tensor, int], object]] = {
    "fill_": lambda t, k: t.fill_(a_number(t, k)),
    "zero_": lambda t, k: t.zero_(),
    "add_ number": lambda t, k: t.add_(a_number(t, k)),
    "mul_ number": lambda t, k: t.mul_(-1 if k % 2 else 1),
    "neg_": lambda t, k: t.neg_(),
    "copy_ of itself reversed": lambda t, k: t.copy_(t.flip(0)),
    "cumsum_": lambda t, k: t.cumsum_(0),
    "masked_fill_": lambda t, k: t.masked_fill_(a_mask(t, k), a_number(t, k)),
    "t[mask] = number": masked_assign,
    "t[index] = number": indexed_assign,
    "index_put_ accumulate": indexed_accumulate,
    "t[..., k] = number": slice_assign,
}

TWO_TENSOR_WRITES: dict[str, Callable[[Tensor, Tensor], object]] = {
    "copy_": lambda t, s: t.copy_(s),
    "add_": lambda t, s: t.add_(s),
    "sub_": lambda t, s: t.sub_(s, alpha=2),
    "where out": lambda t, s: torch.where(s == s.flip(0), s, t, out=t),
}

READS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "clone": lambda t, k: t.clone(),
    "contiguous": lambda t, k: t.contiguous() + 0,
    "reshape": lambda t, k: t.reshape(-1) + 0,
    "sum": lambda t, k: t.sum(-1),
    "equal to a number": lambda t, k: t == a_number(t, k),
    "t[mask]": lambda t, k: t[a_mask(t, k)],
    "t[index]": lambda t, k: t[an_index(t, k)],
    "cat": lambda t, k: torch.cat([t, t.flip(-1)], -1),
    "through the host": lambda t, k: t.cpu().clone(),
}


@dataclass
class Pair:
    """A tensor on the CPU and the same one on the device."""

    cpu: Tensor
    tpu: Tensor
    depth: int = 0
    read_only: bool = False

    def places(self) -> list[int]:
        """Where in the storage each element starts, in bytes."""
        offsets = torch.tensor(self.cpu.storage_offset())
        for size, stride in zip(self.cpu.shape, self.cpu.stride(), strict=True):
            offsets = offsets.unsqueeze(-1) + torch.arange(size) * stride
        return (offsets * self.cpu.element_size()).flatten().tolist()


def check_same(got: Tensor, want: Tensor, what: str) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape, what
    got = got.cpu()
    assert torch.equal(got, want.resolve_conj()), f"{what}: got {got}, expected {want}"


class Program:
    def __init__(self, base: Tensor):
        self.pairs = [Pair(base.clone(), base.to("tpu"))]
        self.reads: list[tuple[str, Tensor, Tensor]] = []

    def pick(self, which: int) -> tuple[int, Pair]:
        at = which % len(self.pairs)
        return at, self.pairs[at]

    def view(self, which: int, name: str, k: int) -> None:
        at, pair = self.pick(which)
        if pair.depth == MAX_DEPTH:
            return
        try:
            cpu = VIEWS[name](pair.cpu, k)
        except (RuntimeError, IndexError, ValueError, ZeroDivisionError, KeyError):
            return  # this view does not exist for this tensor
        if cpu.numel() == 0:
            return
        if self.pairs[0].cpu.is_complex() and cpu.dtype == torch.int32:
            return  # bits: the CPU's vector loops give zeros another sign than its scalar loops
        note(f"t{len(self.pairs)} = {name} ({k}) of t{at}: {tuple(cpu.shape)}, {cpu.stride()}")
        tpu = VIEWS[name](pair.tpu, k)
        assert tpu.stride() == cpu.stride() and tpu.storage_offset() == cpu.storage_offset()
        new = Pair(cpu, tpu, pair.depth + 1, pair.read_only)
        places = new.places()
        # Bits of numbers may be those of a NaN or a denormal, which arithmetic need not keep.
        floats_mixed = cpu.dtype.is_floating_point != pair.cpu.dtype.is_floating_point
        mixes = floats_mixed and not pair.cpu.is_complex()
        new.read_only = new.read_only or mixes or len(set(places)) < len(places)
        self.pairs.append(new)

    def write(self, which: int, name: str, k: int) -> None:
        at, pair = self.pick(which)
        if pair.read_only or pair.cpu.dim() == 0:
            return
        note(f"t{at}: {name} ({k})")
        WRITES[name](pair.cpu, k)
        WRITES[name](pair.tpu, k)

    def write_two(self, which: int, name: str, k: int) -> None:
        at, target = self.pick(which)
        fitting = [
            (other, pair)
            for other, pair in enumerate(self.pairs)
            if pair.cpu.shape == target.cpu.shape and pair.cpu.dtype == target.cpu.dtype
        ]
        if target.read_only or target.cpu.dim() == 0 or len(fitting) < 2:
            return
        other, source = fitting[k % len(fitting)]
        places, others = target.places(), source.places()
        # PyTorch leaves open, or refuses, a write to memory that its source sees in another way.
        same = places == others and target.cpu.stride() == source.cpu.stride()
        clone = not same and bool(set(places) & set(others))
        note(f"t{at}.{name}(t{other}{'.clone()' if clone else ''})")
        for t, s in ((target.cpu, source.cpu), (target.tpu, source.tpu)):
            TWO_TENSOR_WRITES[name](t, s.clone() if clone else s)

    def read(self, which: int, name: str, k: int) -> None:
        at, pair = self.pick(which)
        if pair.cpu.dim() == 0:
            return
        note(f"read t{at}: {name} ({k})")
        self.reads.append((f"{name} of t{at}", READS[name](pair.tpu, k), READS[name](pair.cpu, k)))

    def check(self) -> None:
        for what, got, want in self.reads:
            check_same(got, want, what)
        for at, pair in enumerate(self.pairs):
            check_same(pair.tpu, pair.cpu, f"t{at} at the end")


BASES = {
    "float32": torch.arange(24, dtype=torch.float32).view(4, 6).sub(11),
    "int32": torch.arange(24, dtype=torch.int32).view(2, 3, 4).mul(70001),
    "complex64": torch.complex(torch.arange(12.0), torch.arange(12.0).flip(0)).view(3, 4),
}

which = st.integers(0, 7)
number = st.integers(0, 5)
STEPS = st.one_of(
    st.tuples(st.just(Program.view), which, st.sampled_from(sorted(VIEWS)), number),
    st.tuples(st.just(Program.view), which, st.sampled_from(sorted(VIEWS)), number),
    st.tuples(st.just(Program.write), which, st.sampled_from(sorted(WRITES)), number),
    st.tuples(
        st.just(Program.write_two), which, st.sampled_from(sorted(TWO_TENSOR_WRITES)), number
    ),
    st.tuples(st.just(Program.read), which, st.sampled_from(sorted(READS)), number),
)


@pytest.mark.timeout(36000)
@pytest.mark.parametrize("mode", ["DEFER_NEVER", "DEFER_AND_FUSE"])
@pytest.mark.parametrize("dtype", BASES)
def test_random_program(mode: str, dtype: str):
    @settings(
        max_examples=PROGRAMS // len(BASES) // 2,
        deadline=None,
        derandomize=ASKED is None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(STEPS, min_size=4, max_size=10))
    def run(steps: list) -> None:
        program = Program(BASES[dtype])
        for step, *arguments in steps:
            step(program, *arguments)
        program.check()

    with torch.tpu.set_eager_mode(torch.tpu.EagerMode[mode]):
        run()
