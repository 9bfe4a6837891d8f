"""How ops are launched when no graph is compiled."""

import contextlib
import enum
from collections.abc import Iterator

import torch

from torch_tpu import _C


class EagerMode(enum.IntEnum):
    """How ops are launched."""

    DEFER_AND_FUSE = 0
    """Ops queue up and are launched together when something is read (see docs/fused_mode.md)."""
    DEFER_NEVER = 1
    """Each op is launched at once, asynchronously. The default."""
    DEFER_NEVER_AND_LAUNCH_BLOCKING = 2
    """Each op is also waited for, so that the line that raises is the line that failed."""


def _get_eager_mode() -> EagerMode:
    return EagerMode(_C.eager_mode())


def _set_eager_mode(mode: EagerMode | int) -> None:
    try:
        mode = EagerMode(mode)
    except ValueError:
        choices = ", ".join(member.name for member in EagerMode)
        raise ValueError(
            f"torch.tpu.eager_mode: expected to be one of {choices}, got {mode!r}"
        ) from None
    _C.set_eager_mode(mode)


@contextlib.contextmanager
def set_eager_mode(mode: EagerMode | int) -> Iterator[None]:
    """Context manager: another eager mode inside, for the whole process."""
    if torch.compiler.is_compiling():
        raise RuntimeError(
            "torch.tpu.set_eager_mode: expected a call outside torch.compile, got one inside"
        )
    before = _get_eager_mode()
    _set_eager_mode(mode)
    try:
        yield
    finally:
        _set_eager_mode(before)
