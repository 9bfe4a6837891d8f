"""What a device holds. The same numbers as ``torch.accelerator`` has.

Nothing is cached: memory is reserved for what is allocated, and free the moment that a tensor and
the work that reads it are gone.
"""

from collections import OrderedDict
from typing import Any

import torch
from torch.tpu._device import device_index_of

from torch_tpu import _C

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]

_Device = torch.device | str | int | None


def _index(device: _Device) -> int:
    index = device_index_of(device)
    _C.check_device(index)
    return index


def memory_stats(device: _Device = None) -> "OrderedDict[str, Any]":
    """All numbers as a flat dictionary; empty before the first use of the device."""
    return torch.accelerator.memory_stats(_index(device))


def memory_allocated(device: _Device = None) -> int:
    """Bytes held by tensors and by launched work."""
    return torch.accelerator.memory_allocated(_index(device))


def max_memory_allocated(device: _Device = None) -> int:
    """The most bytes ever held since the start or the last ``reset_peak_memory_stats()``."""
    return torch.accelerator.max_memory_allocated(_index(device))


def memory_reserved(device: _Device = None) -> int:
    """The same as ``memory_allocated``, since nothing is cached."""
    return torch.accelerator.memory_reserved(_index(device))


def max_memory_reserved(device: _Device = None) -> int:
    """The same as ``max_memory_allocated``, since nothing is cached."""
    return torch.accelerator.max_memory_reserved(_index(device))


def reset_peak_memory_stats(device: _Device = None) -> None:
    """Lets the peak start again from what is held now."""
    torch.accelerator.reset_peak_memory_stats(_index(device))


def reset_accumulated_memory_stats(device: _Device = None) -> None:
    """Sets the sums of everything ever allocated and freed to zero."""
    torch.accelerator.reset_accumulated_memory_stats(_index(device))


def mem_get_info(device: _Device = None) -> tuple[int, int]:
    """Free and total bytes. Starts the plugin."""
    index = device_index_of(device)
    torch.tpu._lazy_init()
    _C.check_device(index)
    return torch.accelerator.get_memory_info(index)


def empty_cache() -> None:
    """Does nothing, as there is no cache; here for code written for every accelerator."""
    torch.accelerator.empty_cache()


def memory_summary(device: _Device = None, abbreviated: bool = False) -> str:
    """A table for people; ``abbreviated`` leaves one line."""
    index = device_index_of(device)
    free, total = mem_get_info(index)
    numbers = memory_stats(index)
    held = numbers["allocated_bytes.all.current"]
    peak = numbers["allocated_bytes.all.peak"]
    name = f"tpu:{index} {torch.tpu.get_device_name(index)}"
    if abbreviated:
        return f"{name}: {_size(held)} of {_size(total)} in use, {_size(peak)} at the peak"
    rows = [
        ("in use", _size(held)),
        ("peak", _size(peak)),
        ("free", _size(free)),
        ("total", _size(total)),
        ("arrays", str(numbers["allocation.all.current"])),
        ("ever allocated", _size(numbers["allocated_bytes.all.allocated"])),
        ("out of memory", f"{numbers['num_ooms']} times"),
    ]
    width = max(len(value) for _, value in rows)
    return "\n".join([name, *(f"  {label:<16}{value:>{width}}" for label, value in rows)])


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    amount, unit = float(count), "B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):  # noqa: B007
        amount /= 1024
        if amount < 1024:
            break
    return f"{amount:.2f} {unit}"
