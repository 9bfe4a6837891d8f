"""Higher-order calls of a traced graph: branches and loops become regions of one program.

What cannot be a region raises ``NeedsCut``; the call then runs by itself between two programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor
from torch._higher_order_ops.associative_scan import associative_scan_op, generic_associative_scan
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.invoke_subgraph import invoke_subgraph
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.scan import scan_op
from torch._higher_order_ops.while_loop import while_loop_op

from torch_tpu import _C
from torch_tpu._autoload import NAME

# Runs a body on its inputs, with the calls of this file for those inside it.
RunBody = Callable[..., Sequence[Any]]


class NeedsCut(Exception):
    """Why a call cannot be a region."""


def _tensors(values: Sequence[Any], what: str) -> list[Tensor]:
    """Values on the device, as regions take and give them."""
    for value in values:
        if not isinstance(value, Tensor):
            raise NeedsCut(f"{what} that are not tensors: {value!r}")
    return [v if v.device.type == NAME else v.to(NAME) for v in values]


def _region(
    body: Callable[..., Any],
    carried: Sequence[Tensor] = (),
    rows: Sequence[Tensor] = (),
    rest: Sequence[Any] = (),
) -> tuple[_C.Region, list[bool]]:
    """The region of ``body(*carried, *one of each rows, *rest)``, and which results are tensors."""
    region = _C.Region()
    try:
        results = body(*region.begin(list(carried), list(rows)), *rest)
        results = list(results) if isinstance(results, tuple | list) else [results]
        given = [result is not None for result in results]
        region.end(_tensors([r for r in results if r is not None], "results"))
    except BaseException:
        region.abort()
        raise
    return region, given


def _with_nones(results: Sequence[Tensor], given: Sequence[bool]) -> tuple[Tensor | None, ...]:
    rest = iter(results)
    return tuple(next(rest) if is_given else None for is_given in given)


def _cond(run: RunBody, predicate: Any, on_true: Any, on_false: Any, operands: Sequence[Any]):
    if not isinstance(predicate, Tensor):
        return tuple(run(on_true if predicate else on_false, *operands))
    regions = [
        _region(lambda *args, f=f: run(f, *args), rest=operands) for f in (on_true, on_false)
    ]
    (true_region, given), (false_region, given_false) = regions
    if given != given_false:
        raise NeedsCut("branches of which one gives None where the other gives a tensor")
    predicate = _tensors([predicate], "predicates")[0]
    return _with_nones(_C.add_cond(predicate, true_region, false_region), given)


def _while_loop(
    run: RunBody,
    condition: Any,
    body: Any,
    carried: Sequence[Any],
    rest: Sequence[Any],
    mutated_arg_indices: str = "",
):
    if mutated_arg_indices:
        raise NeedsCut("loops that write to what they are given")
    carried = _tensors(carried, "carried values")
    condition_region, _ = _region(lambda *args: run(condition, *args), carried, rest=rest)
    body_region, _ = _region(lambda *args: run(body, *args), carried, rest=rest)
    return tuple(_C.add_while(carried, condition_region, body_region))


def _scan(run: RunBody, body: Any, init: Sequence[Any], xs: Sequence[Any], rest: Sequence[Any]):
    init, xs = _tensors(init, "carried values"), _tensors(xs, "scanned values")
    if not xs or xs[0].shape[0] == 0:
        raise NeedsCut("a scan over nothing")
    region, given = _region(lambda *args: run(body, *args), init, xs, rest)
    return _with_nones(_C.add_scan(init, xs, region), given)


def _map(run: RunBody, body: Any, xs: Sequence[Any], rest: Sequence[Any]):
    return _scan(run, body, (), xs, rest)


def _associative_scan(run: RunBody, body: Any, xs: Sequence[Any], rest: Sequence[Any]):
    """As eager computes it: the body runs on halves, quarters, ... of the values at once."""
    return tuple(generic_associative_scan(lambda *args: run(body, *args), xs, 0, rest))


def _invoke_subgraph(run: RunBody, body: Any, identifier: str, *operands: Any):
    return tuple(run(body, *operands))


CALLS: dict[Any, Callable[..., Any]] = {
    associative_scan_op: _associative_scan,
    cond_op: _cond,
    invoke_subgraph: _invoke_subgraph,
    map_impl: _map,
    scan_op: _scan,
    while_loop_op: _while_loop,
}
