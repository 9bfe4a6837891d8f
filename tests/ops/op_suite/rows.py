"""What there is to run: the ops, modules and optimizers of PyTorch's tables."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

from . import module_checks, op_checks, optimizer_checks

GRADIENT_DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


class Row(NamedTuple):
    """One line of the result: `name` under a `variant`, with inputs of `dtype`."""

    table: str  # op, module or optimizer
    name: str
    variant: str
    dtype: str  # "any" for error inputs

    def __str__(self) -> str:
        return "/".join(self)


class Entry(NamedTuple):
    """A row and its checks: a function of the door's `wrap`."""

    row: Row
    checks: Callable[[Any], Iterator[op_checks.Check]]


def _by_name(dtypes: Any) -> list[torch.dtype]:
    return sorted(dtypes, key=str)


def _op_entries(info: Any) -> Iterator[Entry]:
    supported = info.supported_dtypes("cpu")
    gradient = [d for d in GRADIENT_DTYPES if d in info.supported_backward_dtypes("cpu")]
    variants: list[tuple[str, Any, Any]] = [("forward", op_checks.forward, supported)]
    if info.inplace_variant is not None:
        variants.append(("in_place", op_checks.in_place, supported))
    if info.supports_out:
        variants.append(("out", op_checks.out, supported))
    variants.append(("backward", op_checks.backward, gradient))
    if info.supports_forward_ad:
        variants.append(("forward_mode", op_checks.forward_mode, gradient))
    for variant, checks, dtypes in variants:
        for dtype in _by_name(dtypes):
            row = Row("op", info.formatted_name, variant, str(dtype).removeprefix("torch."))
            yield Entry(row, partial(checks, info, dtype))
    if info.error_inputs_func is not None:
        row = Row("op", info.formatted_name, "errors", "any")
        yield Entry(row, partial(op_checks.errors, info, torch.float32))


def _module_entries(info: Any) -> Iterator[Entry]:
    for dtype in _by_name(info.dtypes):
        for variant, training in (("train", True), ("eval", False)):
            row = Row("module", info.name, variant, str(dtype).removeprefix("torch."))
            yield Entry(row, partial(module_checks.checks, info, dtype, training))


def _optimizer_entries(info: Any) -> Iterator[Entry]:
    for implementation in ("forloop", *info.supported_impls):
        for dtype in (torch.float32, torch.float64):
            row = Row(
                "optimizer",
                info.optim_cls.__name__,
                implementation,
                str(dtype).removeprefix("torch."),
            )
            yield Entry(row, partial(optimizer_checks.checks, info, dtype, implementation))


@cache
def entries() -> dict[Row, Entry]:
    """Every row, in the order in which they run: all rows of one op together."""
    found: dict[Row, Entry] = {}
    tables = ((op_db, _op_entries), (module_db, _module_entries), (optim_db, _optimizer_entries))
    for table, make in tables:
        for info in table:
            for entry in make(info):
                assert entry.row not in found, entry.row
                found[entry.row] = entry
    return found
