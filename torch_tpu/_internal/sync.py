"""``synchronize`` as diffusers and others import it."""

from collections.abc import Iterable

import torch

__all__ = ["synchronize"]

_Target = torch.Tensor | torch.device | str | int | None


def synchronize(target: _Target | Iterable[torch.Tensor] = None, wait: bool = True) -> None:
    """Waits until a device, or the devices of some tensors, have done what was launched on them.

    ``wait=False`` asks only that everything is launched, which it always is.
    """
    if not wait:
        return
    if target is None or isinstance(target, torch.device | str | int):
        torch.tpu.synchronize(target)
        return
    tensors = [target] if isinstance(target, torch.Tensor) else target
    for device in {tensor.device for tensor in tensors if tensor.is_tpu}:
        torch.tpu.synchronize(device)
