"""Names that scripts written for the published ``torch_tpu`` use."""

import torch

__all__ = ["tpu_device"]


def tpu_device() -> torch.device:
    """The current device, with its index."""
    return torch.device("tpu", torch.tpu.current_device())
