"""The variants of an op: each yields a check per sample, which raises where the device differs."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.testing._internal import common_methods_invocations
from torch.utils._pytree import tree_flatten, tree_map

from .compare import UNINITIALIZED, Tolerance, Wrong, assert_same, assert_same_distribution, differ
from .transfer import DEVICE, Transfer, to_host

Check = Callable[[], None]
Call = Callable[..., Any]
# op_db seeds random ops alike before every call; here two calls on the CPU must be able to differ.
common_methods_invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
# Which of equal elements an index names is not defined: the position of `dim` among the arguments.
TIES = {"topk": 1, "kthvalue": 1, "mode": 0, "sort": 0, "argsort": 0}
# A tensor argument that stays on the CPU, where PyTorch wants it.
HOST_ARGUMENTS = ("tensor_split",)
# Where a result may be as far from one in this type as the CPU's is.
WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}
# Results are defined up to signs or phases: what op_db's own output_process_fn_grad keeps counts.
UP_TO_PHASE = ("linalg", "svd", "qr", "geqrf", "pca_lowrank", "lu", "ormqr")


def attempt(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """A call's result on the host, or its exception."""
    try:
        return call(), None
    except Exception as error:
        return None, error


class Pair:
    """One call on the CPU and the same on the device."""

    def __init__(self, info: Any, dtype: torch.dtype, wrap: Callable[[Call], Call]) -> None:
        self.info, self.dtype = info, dtype
        self.tolerance = Tolerance(info, dtype)
        self.wrap = wrap

    def check(self, run: Callable[[Call, Any], Any], function: Call, tree: Any) -> None:
        """`run(function, tree)` here and on the device, `tree` copied for each run."""

        name = getattr(self.info, "name", "")

        def comparable(result: Any) -> Any:
            return _values_at(name, tree, result) if name in TIES else result

        def on_cpu(raised: bool = False) -> Any:
            moved = Transfer("cpu", WIDER if raised else None)(tree)
            return comparable(run(function, moved))

        def on_device() -> Any:
            moved = Transfer()(tree)
            if name in HOST_ARGUMENTS:
                moved = (moved[0], *tree[1:])
            with _default_device(moved):
                return comparable(to_host(run(self.wrap(function), moved)))

        torch.manual_seed(0)
        expected, refusal = attempt(on_cpu)
        if refusal is not None and "not implemented for" in str(refusal):
            return  # more than the CPU can
        actual, error = attempt(on_device)
        if refusal is not None:
            if error is None:
                raise Wrong(f"no error, expected {type(refusal).__name__}: {refusal}")
            index = "out of bounds" in str(refusal) and isinstance(error, IndexError)
            if not index and not isinstance(error, type(refusal)):
                raise error
            return
        if error is not None:
            raise error
        if name in UNINITIALIZED:
            return assert_same(actual, tree_map(_plain, expected), self.tolerance, values=False)
        try:
            return assert_same(actual, tree_map(_plain, expected), self.tolerance)
        except Wrong:
            if self.dtype not in WIDER or not _as_exact(
                actual, expected, attempt(partial(on_cpu, raised=True))[0], self.tolerance
            ):
                torch.manual_seed(1)
                others = [on_cpu() for _ in range(8)]
                if not any(differ(expected, other) for other in others):
                    raise
                if not any(_varying_form(expected, other) for other in others):
                    assert_same(actual, tree_map(_plain, expected), self.tolerance, values=False)
                assert_same_distribution(on_device, on_cpu)


def _default_device(tree: Any) -> Any:
    """Where a call names no device, what it makes is to be on ours."""
    leaves = tree_flatten(tree)[0]
    named = any(isinstance(t, torch.Tensor | torch.device) or t == DEVICE for t in leaves)
    return contextlib.nullcontext() if named else torch.device(DEVICE)


def _as_exact(actual: Any, expected: Any, reference: Any, tolerance: Tolerance) -> bool:
    """Is a result as near to a wider type's as the CPU's is, but for a rounding?"""
    leaves = [tree_flatten(tree)[0] for tree in (actual, expected, reference)]
    if len({len(tree) for tree in leaves}) > 1:
        return False
    for ours, theirs, exact in zip(*leaves, strict=True):
        if not isinstance(exact, torch.Tensor) or exact.dtype == ours.dtype:
            near = attempt(lambda o=ours, t=theirs: assert_same(o, t, tolerance))
        else:
            rounded = exact.detach().to(ours.dtype)
            near = attempt(lambda o=ours, r=rounded: assert_same(o, r, tolerance))
            if near[1] is not None and ours.shape == exact.shape:
                error, allowed = ((t - exact).abs().nan_to_num() for t in (ours, theirs))
                near = (None, None) if error.max() <= 2 * allowed.max() else near
        if near[1] is not None:
            return False
    return True


def _values_at(name: str, tree: Any, result: Any) -> Any:
    """A result of values and indices with the elements of the input that the indices name."""
    source, args, kwargs = tree
    if not isinstance(source, torch.Tensor):
        return result  # an out= form, whose trees are nested
    position = TIES[name]
    dim = kwargs.get("dim", args[position] if len(args) > position else -1)
    indices = result if isinstance(result, torch.Tensor) else result[1]
    if source.dim() == 0:
        return result
    at = indices.unsqueeze(dim) if indices.dim() < source.dim() else indices
    named = source.detach().take_along_dim(at, dim)
    return named if isinstance(result, torch.Tensor) else (result[0], named)


def _plain(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def _varying_form(first: Any, second: Any) -> bool:
    a, b = (tree_flatten(x)[0] for x in (first, second))
    return any(
        isinstance(x, torch.Tensor) and x.shape != y.shape for x, y in zip(a, b, strict=True)
    )


def _samples(info: Any, dtype: torch.dtype, requires_grad: bool = False) -> Iterator[Any]:
    torch.manual_seed(0)
    yield from info.sample_inputs("cpu", dtype, requires_grad=requires_grad)


def _tree(sample: Any) -> Any:
    return (sample.input, sample.args, sample.kwargs)


def _processed(info: Any, sample: Any, result: Any) -> Any:
    if info.name.startswith(UP_TO_PHASE) or "lowrank" in info.name:
        return sample.output_process_fn_grad(result)
    return result


def forward(info: Any, dtype: torch.dtype, wrap: Callable[[Call], Call]) -> Iterator[Check]:
    pair = Pair(info, dtype, wrap)
    for sample in _samples(info, dtype):

        def run(function: Call, tree: Any, sample: Any = sample) -> Any:
            return _processed(info, sample, function(tree[0], *tree[1], **tree[2]))

        yield partial(pair.check, run, info.op, _tree(sample))


def in_place(info: Any, dtype: torch.dtype, wrap: Callable[[Call], Call]) -> Iterator[Check]:
    pair = Pair(info, dtype, wrap)

    def run(function: Call, tree: Any) -> Any:
        target = tree[0]
        first = target if isinstance(target, torch.Tensor) else target[0]
        returned = function(target, *tree[1], **tree[2])
        if isinstance(target, torch.Tensor) and returned is not target:
            raise Wrong("returned another tensor than self")
        return target, first._version > 0

    for sample in _samples(info, dtype):
        if not sample.broadcasts_input:
            yield partial(pair.check, run, info.inplace_variant, _tree(sample))


def _results(value: Any) -> list[torch.Tensor] | None:
    """The tensors that an out= form of a call with result `value` would take."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list) and all(isinstance(v, torch.Tensor) for v in value):
        return list(value)
    return None


def out(info: Any, dtype: torch.dtype, wrap: Callable[[Call], Call]) -> Iterator[Check]:
    pair = Pair(info, dtype, wrap)

    def transposed(like: torch.Tensor) -> torch.Tensor:
        return torch.full(like.shape[::-1], 7, dtype=like.dtype).permute(
            list(range(like.dim()))[::-1]
        )

    forms: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "equal": lambda like: torch.full(like.shape, 7, dtype=like.dtype),
        "transposed": transposed,
        "empty": lambda like: torch.empty(0, dtype=like.dtype),
        "integers": lambda like: torch.zeros(like.shape, dtype=torch.int64),
    }
    first = True
    for sample in _samples(info, dtype):
        torch.manual_seed(0)
        result, error = attempt(lambda s=sample: info.op(s.input, *s.args, **s.kwargs))
        results = _results(result)
        if error is not None or results is None:
            continue

        def run(function: Call, tree: Any, sample: Any = sample) -> Any:
            function(tree[0][0], *tree[0][1], **tree[0][2], out=tree[1])
            return _processed(info, sample, tree[1])

        for name, form in forms.items():
            outs = [form(like) for like in results]
            target = outs[0] if isinstance(result, torch.Tensor) else tuple(outs)
            if name == "equal" or first:
                yield partial(pair.check, run, info.op, (_tree(sample), target))
        first = False


def differentiable(tree: Any) -> list[torch.Tensor]:
    return [t for t in tree_flatten(tree)[0] if isinstance(t, torch.Tensor) and t.requires_grad]


def random_like(tensor: torch.Tensor, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(tensor.shape, dtype=tensor.dtype, generator=generator)
    return values.to(tensor.device)


def backward(info: Any, dtype: torch.dtype, wrap: Callable[[Call], Call]) -> Iterator[Check]:
    pair = Pair(info, dtype, wrap)
    for sample in _samples(info, dtype, requires_grad=True):

        def run(function: Call, tree: Any, sample: Any = sample) -> Any:
            inputs = differentiable(tree)
            result = sample.output_process_fn_grad(function(tree[0], *tree[1], **tree[2]))
            outputs = differentiable(result)
            if not inputs or not outputs:
                return len(outputs)
            cotangents = [random_like(o, i) for i, o in enumerate(outputs)]
            return list(torch.autograd.grad(outputs, inputs, cotangents, allow_unused=True))

        yield partial(pair.check, run, info.op, _tree(sample))


def forward_mode(info: Any, dtype: torch.dtype, wrap: Callable[[Call], Call]) -> Iterator[Check]:
    pair = Pair(info, dtype, wrap)
    for sample in _samples(info, dtype, requires_grad=True):

        def run(function: Call, tree: Any, sample: Any = sample) -> Any:
            with forward_ad.dual_level():

                def dual(value: Any) -> Any:
                    if not isinstance(value, torch.Tensor) or not value.requires_grad:
                        return value
                    value = value.detach()
                    return forward_ad.make_dual(value, random_like(value, value.dim()))

                args = tree_map(dual, tree)
                result = sample.output_process_fn_grad(function(args[0], *args[1], **args[2]))
                leaves = [t for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor)]
                return [forward_ad.unpack_dual(t).tangent for t in leaves]

        yield partial(pair.check, run, info.op, _tree(sample))


def errors(info: Any, dtype: torch.dtype, wrap: Callable[[Call], Call]) -> Iterator[Check]:
    pair = Pair(info, dtype, wrap)

    def run(function: Call, tree: Any) -> Any:
        return function(tree[0], *tree[1], **tree[2])

    torch.manual_seed(0)
    for error in info.error_inputs("cpu"):
        yield partial(pair.check, run, info.op, _tree(error.sample_input))
