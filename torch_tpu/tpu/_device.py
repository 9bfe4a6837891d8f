"""What a device argument means."""

import torch

from torch_tpu import _C


def current_device() -> int:
    """Index of this thread's current device."""
    return _C.current_device()


def device_index_of(device: torch.device | str | int | None) -> int:
    """The index; the current device's where none is given. ValueError for another device type."""
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    if not isinstance(device, torch.device | str):
        raise TypeError(
            f"torch.tpu: expected a torch.device, str or int as device, got {type(device).__name__}"
        )
    wanted = torch.device(device)
    if wanted.type != "tpu":
        raise ValueError(f"torch.tpu: expected a tpu device, got '{device}'")
    return current_device() if wanted.index is None else wanted.index
