"""Counters of what the device did."""

from typing import TypedDict

from torch_tpu import _C


class Stats(TypedDict):
    """Counts since the start of the process or the last ``reset_stats()``."""

    compiles: int
    compile_seconds: float
    cache_hits: int
    launches: int
    fallbacks: dict[str, int]
    bytes_to_device: int
    bytes_to_host: int
    bytes_between_devices: int
    synchronizations: int


def stats() -> Stats:
    """Programs compiled, found compiled and launched; ops that ran on the CPU; bytes moved."""
    return _C.stats()


def reset_stats() -> None:
    """Sets every counter to zero."""
    _C.reset_stats()
