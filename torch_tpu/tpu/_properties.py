"""What a device is."""

import re
from dataclasses import dataclass

import torch
from torch.tpu._device import device_index_of

from torch_tpu import _C

_Device = torch.device | str | int | None


@dataclass(frozen=True)
class TpuDeviceProperties:
    """A device as the plugin describes it."""

    name: str
    """``"TPU v6e"``; ``"CPU (stand-in for a TPU)"`` where XLA's CPU plugin runs."""
    total_memory: int
    """Bytes that tensors and programs may take."""
    multi_processor_count: int
    """1: a TPU device is one core to programs."""
    platform: str
    """The plugin's own word: ``"tpu"``, ``"cpu"``, ..."""
    platform_version: str
    plugin: str
    """Path of the plugin's library."""
    is_stand_in: bool
    """True where XLA's CPU plugin takes the place of a TPU."""


def get_device_properties(device: _Device = None) -> TpuDeviceProperties:
    """What a device is. Starts the plugin."""
    found = _describe(device)
    return TpuDeviceProperties(
        name=_name(found),
        total_memory=found["total_memory"],
        multi_processor_count=1,
        platform=found["platform"],
        platform_version=found["platform_version"],
        plugin=found["plugin"],
        is_stand_in=found["is_stand_in"],
    )


def get_device_name(device: _Device = None) -> str:
    """The name of a device, e.g. ``"TPU v6e"``. Starts the plugin."""
    return _name(_describe(device))


def get_device_capability(device: _Device = None) -> tuple[int, int]:
    """The TPU's generation and 0; ``(0, 0)`` on anything that is no TPU. Starts the plugin."""
    match = re.match(r"TPU v(\d+)", get_device_name(device))
    return (int(match[1]), 0) if match else (0, 0)


def _describe(device: _Device) -> dict:
    index = device_index_of(device)
    torch.tpu._lazy_init()
    return _C.device_properties(index)


def _name(found: dict) -> str:
    if found["is_stand_in"]:
        return "CPU (stand-in for a TPU)"
    kind = found["kind"]
    # PJRT says "TPU v5 lite" for v5e, "TPU v5" for v5p, "TPU v6 lite" for v6e, "TPU7x" for v7.
    if match := re.fullmatch(r"TPU ?v?(\d+)(p| ?lite|x)?", kind):
        generation, variant = match[1], (match[2] or "").strip()
        suffix = {"lite": "e", "p": "p"}.get(variant, "p" if generation == "5" else "")
        return f"TPU v{generation}{suffix}"
    return kind
