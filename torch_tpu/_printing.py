"""Prints device tensors from a host copy, as PyTorch itself does for XLA and MTIA devices.

Formatting runs a dozen small ops on the data; on a compiling device each would be a compile.
"""

import torch._tensor_str as tensor_str

_format = tensor_str._tensor_str


def _format_on_host(tensor, indent):
    if tensor.device.type == "tpu":
        tensor = tensor.detach().cpu()
    return _format(tensor, indent)


def install() -> None:
    """Routes ``repr`` of device tensors through the host. Calling it again does nothing."""
    tensor_str._tensor_str = _format_on_host
