"""The device module ``torch.tpu``.

The names are those of ``torch.cuda`` wherever the two have the same thing.
"""

import atexit
import logging
import sys
from types import ModuleType, TracebackType
from typing import Any

import torch

from torch_tpu import _C

if __name__ != "torch.tpu":
    raise ImportError("torch_tpu.tpu: expected an import as torch.tpu, got one by file")

from torch.tpu._device import current_device, device_index_of
from torch.tpu._eager_mode import EagerMode, _get_eager_mode, _set_eager_mode, set_eager_mode
from torch.tpu._precision import Precision, precision
from torch.tpu._properties import (
    TpuDeviceProperties,
    get_device_capability,
    get_device_name,
    get_device_properties,
)
from torch.tpu._stats import CompileRecord, compiles, reset_stats, stats
from torch.tpu.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from torch.tpu.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from torch.tpu.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)

from . import compiler, distributed, memory, random, streams

__all__ = [
    "CompileRecord",
    "EagerMode",
    "Event",
    "Precision",
    "Stream",
    "StreamContext",
    "TpuDeviceProperties",
    "allow_excess_precision",
    "compiler",
    "compiles",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "distributed",
    "eager_mode",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "precision",
    "random",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "reset_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_eager_mode",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stats",
    "stream",
    "streams",
    "synchronize",
]

_Device = torch.device | str | int | None

_log = logging.getLogger("torch_tpu")
_is_first_init = True


def is_available() -> bool:
    """Whether there is a device to use, a stand-in included. Starts no plugin."""
    return device_count() > 0


def device_count() -> int:
    """Number of devices. Before the first use it comes from the PCI bus and the settings."""
    return _C.device_count()


def is_initialized() -> bool:
    """Whether the plugin runs in this process."""
    return _C.is_started() and not _C.in_bad_fork()


def init() -> None:
    """Starts the plugin if it does not run yet; any use of the device does the same."""
    _lazy_init()


def _lazy_init() -> None:
    """What PyTorch calls before it makes a tensor on the device."""
    global _is_first_init
    _C.start()
    if not _is_first_init:
        return
    _is_first_init = False
    _C.register_fork_handler()
    atexit.register(_at_exit)
    if _log.isEnabledFor(logging.DEBUG):  # TORCH_LOGS=+torch_tpu
        _C.print_compiles(True)
    if not _C.is_quiet():
        properties = _C.device_properties(0)
        if properties["is_stand_in"]:
            _log.warning(
                "torch_tpu: %s, so XLA's CPU plugin stands in for a TPU (TORCH_TPU_QUIET=1 "
                "silences this line)",
                properties["reason"],
            )


def _at_exit() -> None:
    """Lets launched work end before the interpreter does, and shows its last errors."""
    if not _C.in_bad_fork():
        for index in range(device_count()):
            _C.synchronize(index)


def _is_in_bad_fork() -> bool:
    """Whether this is a forked child of a process that used the device."""
    return _C.in_bad_fork()


def set_device(device: _Device) -> None:
    """Makes a device the current one of this thread. A negative index changes nothing."""
    index = device_index_of(device)
    if index >= 0:
        _C.set_device(index)


class device:
    """Context manager: the current device is another one inside. ``None`` changes nothing."""

    def __init__(self, device: _Device) -> None:
        self.idx = -1 if device is None else device_index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _C.current_device()
        if self.idx >= 0:
            _C.set_device(self.idx)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _C.set_device(self.prev_idx)


class device_of(device):
    """Context manager: the current device is that of a tensor or storage, if it is on tpu."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.device.type == "tpu" else None)


def synchronize(device: _Device = None) -> None:
    """Waits for everything launched on a device, then raises failed index checks."""
    index = device_index_of(device)
    if not _C.is_started():
        _C.check_device(index)
        return
    _C.synchronize(index)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """What ``torch.autocast("tpu", dtype=...)`` takes; bfloat16 is its default."""
    return [torch.bfloat16, torch.float16, torch.float32]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 works: on every TPU and on the stand-in, which computes it in float32."""
    return including_emulation or not get_device_properties().is_stand_in


def _get_generator(device: torch.device) -> torch.Generator:
    """What AOTAutograd asks for a device's default generator."""
    return random._generator(device)


def _hbm_usage_summary() -> str:
    return memory_summary(abbreviated=True)


def _get_local_device_attributes() -> dict[str, Any]:
    """What the plugin says of the current device (coordinates, cores, ...)."""
    return _C.device_properties(current_device())["attributes"]


class _TpuModule(ModuleType):
    """Gives the module attributes that are computed, and may be written."""

    @property
    def _initialized(self) -> bool:
        """What torch.utils.checkpoint asks before it keeps the device's random state."""
        return is_initialized()

    @property
    def default_generators(self) -> tuple[torch.Generator, ...]:
        """The generator of each device; the same objects at each access."""
        return random._default_generators()

    @property
    def eager_mode(self) -> EagerMode:
        """How ops are launched, for the whole process."""
        return _get_eager_mode()

    @eager_mode.setter
    def eager_mode(self, mode: EagerMode | int) -> None:
        _set_eager_mode(mode)

    @property
    def allow_excess_precision(self) -> bool:
        """Whether the compiler may keep more digits between ops than their dtype has.

        False at first: each op rounds its result. It matters where ops are compiled together.
        """
        return _C.excess_precision()

    @allow_excess_precision.setter
    def allow_excess_precision(self, allow: bool) -> None:
        _C.set_excess_precision(bool(allow))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _TpuModule
