"""Counters of what the device did, and why it compiled."""

from typing import Literal, TypedDict

from torch_tpu import _C


class Stats(TypedDict):
    """Counts since the start of the process or the last ``reset_stats()``."""

    programs: int
    compiles: int
    compile_seconds: float
    disk_hits: int
    disk_writes: int
    disk_bad_files: int
    cache_hits: int
    launches: int
    padded_programs: int
    padded_launches: int
    fallbacks: dict[str, int]
    bytes_to_device: int
    bytes_to_host: int
    bytes_between_devices: int
    synchronizations: int


def stats() -> Stats:
    """Programs made, found and launched; ops that ran on the CPU; bytes moved.

    ``programs`` is how many the process had to get: ``compiles`` of them from the compiler and
    ``disk_hits`` from disk.
    """
    return _C.stats()


class CompileRecord(TypedDict):
    """Why a program had to be got."""

    op: str
    program: str
    """The calls with shapes and dtypes, e.g. ``"aten::relu(float32[2, 3])"``."""
    difference: str
    """What differs from the nearest earlier program of the same op."""
    call_site: str
    """``"file:line"`` outside PyTorch; empty where there is none, as in a backward pass."""
    seconds: float
    origin: Literal["compiled", "disk", "shared disk"]


def compiles() -> list[CompileRecord]:
    """A record for each program that was compiled or loaded: the latest 4096, oldest first."""
    return _C.compiles()


def reset_stats() -> None:
    """Sets every counter to zero and forgets the records of compiles."""
    _C.reset_stats()
