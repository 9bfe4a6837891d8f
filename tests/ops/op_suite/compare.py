"""When two results are the same: structure, dtype, shape, values within PyTorch's tolerances."""

from collections.abc import Callable
from typing import Any

import torch
from torch.testing._comparison import default_tolerances
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.opinfo.core import DecorateInfo
from torch.utils._pytree import tree_flatten

# What TestCommon.test_compare_cpu allows between CUDA and the CPU, for every op.
COMPARE_CPU = 1e-3
# Their values are whatever the memory holds.
UNINITIALIZED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty")
UNINITIALIZED += ("new_empty_strided", "resize_", "resize_as_")


class Wrong(Exception):
    """A result that is not the CPU's."""


class Tolerance:
    """(rtol, atol) of an op by the dtype of a result."""

    def __init__(self, info: Any, dtype: torch.dtype) -> None:
        self.override = (0.0, 0.0)
        for entry in getattr(info, "decorators", None) or ():
            if not isinstance(entry, DecorateInfo):
                continue
            if entry.cls_name not in (None, "TestCommon", "TestModule"):
                continue
            if entry.device_type not in (None, "cuda"):
                continue
            for decorator in entry.decorators:
                if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
                    atol, rtol = decorator.d[dtype][:2]
                    self.override = (max(self.override[0], rtol), max(self.override[1], atol))

    def of(self, expected: torch.Tensor) -> tuple[float, float]:
        rtol, atol = default_tolerances(expected.dtype)
        if not (expected.is_floating_point() or expected.is_complex()):
            return rtol, atol
        if expected.dtype not in (torch.float64, torch.complex128):
            rtol, atol = max(rtol, COMPARE_CPU), max(atol, COMPARE_CPU)
        return max(rtol, self.override[0]), max(atol, self.override[1])


def assert_same(actual: Any, expected: Any, tolerance: Tolerance, values: bool = True) -> None:
    """Raises Wrong unless `actual` is `expected`; without `values` only their form counts."""
    got, got_spec = tree_flatten(actual)
    want, want_spec = tree_flatten(expected)
    if got_spec != want_spec:
        raise Wrong(f"structure {got_spec}, expected {want_spec}")
    for a, e in zip(got, want, strict=True):
        if type(a) is not type(e):
            raise Wrong(f"a {type(a).__name__}, expected a {type(e).__name__}")
        if not isinstance(e, torch.Tensor):
            if values and a != e and not (a != a and e != e):
                raise Wrong(f"{a}, expected {e}")
            continue
        if a.dtype != e.dtype or a.shape != e.shape or a.layout != e.layout:
            raise Wrong(
                f"{a.dtype} {tuple(a.shape)} {a.layout}, expected "
                f"{e.dtype} {tuple(e.shape)} {e.layout}"
            )
        if not values:
            continue
        rtol, atol = tolerance.of(e)
        try:
            torch.testing.assert_close(
                a, e, rtol=rtol, atol=atol, equal_nan=True, check_stride=False
            )
        except AssertionError as error:
            raise Wrong(f"{e.dtype} {tuple(e.shape)}: {error}") from None


def differ(first: Any, second: Any) -> bool:
    """Do two runs of one call on the CPU differ: is it random?"""
    a, b = ([t for t in tree_flatten(x)[0] if isinstance(t, torch.Tensor)] for x in (first, second))
    return any(
        x.shape != y.shape
        or not torch.allclose(*(t.detach().to(torch.complex128) for t in (x, y)), 0, 0, True)
        for x, y in zip(a, b, strict=True)
    )


def assert_same_distribution(ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    """Raises Wrong where mean or spread of many draws differ; both of values bent into (-1, 1)."""
    draws = []
    for draw in (ours, theirs):
        values: list[torch.Tensor] = []
        for _ in range(48):
            leaves = [t for t in tree_flatten(draw())[0] if isinstance(t, torch.Tensor)]
            flat = [t.abs() if t.is_complex() else t for t in leaves]
            values += [t.detach().double().flatten().cpu() for t in flat]
        draws.append(torch.cat(values) if values else torch.empty(0))
    if min(map(len, draws)) < 2:
        return
    scale = draws[1].abs().nanmedian() + 1e-9
    a, b = ((values / scale).nan_to_num().atan() for values in draws)
    spread = max(a.std().item(), b.std().item())
    # Draws of one sample share its inputs, so they are not independent: twelve standard errors.
    if abs(a.mean() - b.mean()) > 12 * spread * (1 / len(a) + 1 / len(b)) ** 0.5 + 1e-6:
        raise Wrong(f"mean {a.mean():.4g} of {len(a)} bent draws, expected {b.mean():.4g}")
    if spread > 0 and not 0.5 < (a.std().item() + 1e-9) / (b.std().item() + 1e-9) < 2:
        raise Wrong(f"spread {a.std():.4g} of {len(a)} bent draws, expected {b.std():.4g}")
