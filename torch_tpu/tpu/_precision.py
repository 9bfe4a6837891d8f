"""How exact float32 products and convolutions are."""

import contextlib
import enum
from types import TracebackType

from torch_tpu import _C


class Precision(enum.IntEnum):
    """Passes over float32 operands; ``torch.set_float32_matmul_precision`` has them, too."""

    DEFAULT = 0
    """One bfloat16 pass where the device works so ("medium")."""
    HIGH = 1
    """Three bfloat16 passes ("high")."""
    HIGHEST = 2
    """Exact float32 ("highest"). What PyTorch, and so this device, starts with."""


class precision(contextlib.ContextDecorator):
    """Context manager and decorator: another precision for this thread and its backward passes.

    It goes before ``torch.set_float32_matmul_precision``. A device that has nothing faster than
    exact float32 (the stand-in) stays exact.
    """

    def __init__(self, mode: Precision) -> None:
        if not isinstance(mode, int) or mode not in list(Precision):
            choices = ", ".join(member.name for member in Precision)
            raise ValueError(f"torch.tpu.precision: expected to be one of {choices}, got {mode!r}")
        self.mode = Precision(mode)
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(_C.exchange_matmul_precision(int(self.mode)))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _C.exchange_matmul_precision(self._before.pop())
