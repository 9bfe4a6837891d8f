"""The device ``tpu`` for PyTorch.

``import torch`` loads this package by itself; the device module is ``torch.tpu``.
"""

# May come back here through the entry point: the package below is all that must exist by then.
import torch  # noqa: F401

from torch_tpu import _autoload

_autoload.load()

from torch_tpu._version import __version__  # noqa: E402
from torch_tpu.ops_table import ops_table  # noqa: E402

__all__ = ["__version__", "ops_table"]
