"""Which ops run on the device: what docs/ops.md is made of."""

from typing import NamedTuple

from torch_tpu import _C


class OpForm(NamedTuple):
    """An ATen overload and the row of the table of lowerings that serves it."""

    op: str
    row: str


def ops_table() -> list[str]:
    """The name of every lowering, e.g. ``"aten::add.Tensor"``."""
    return _C.rows()


def registered_ops() -> list[OpForm]:
    """Every overload that a lowering serves, in-place and ``out=`` forms included."""
    return [OpForm(*pair) for pair in _C.registered_ops()]
