"""``torch.backends.tpu``."""

import torch

__all__ = ["is_available", "is_built"]


def is_built() -> bool:
    """Whether PyTorch knows the device: always true here."""
    return True


def is_available() -> bool:
    """Whether there is a device to use; starts no plugin."""
    return torch.tpu.is_available()
