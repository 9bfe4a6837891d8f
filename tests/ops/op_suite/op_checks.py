"""The variants of an op: each yields a check per sample, which raises where the device differs."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils._pytree import tree_flatten, tree_map

from .compare import UNINITIALIZED, Tolerance, Wrong, assert_same, assert_same_distribution, differ
from .transfer import Transfer, to_host

Check = Callable[[], None]
Call = Callable[..., Any]
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
        self.info = info
        self.tolerance = Tolerance(info, dtype)
        self.wrap = wrap

    def check(self, run: Callable[[Call, Any], Any], function: Call, tree: Any) -> None:
        """`run(function, tree)` here and on the device, `tree` copied for each run."""

        def on_cpu() -> Any:
            return run(function, tree_map(_fresh, tree))

        def on_device() -> Any:
            return to_host(run(self.wrap(function), Transfer()(tree)))

        torch.manual_seed(0)
        expected, refusal = attempt(on_cpu)
        if refusal is not None and "not implemented for" in str(refusal):
            return  # more than the CPU can
        actual, error = attempt(on_device)
        if refusal is not None:
            if error is None:
                raise Wrong(f"no error, expected {type(refusal).__name__}: {refusal}")
            if not isinstance(error, type(refusal)) and not isinstance(refusal, type(error)):
                raise error
            return
        if error is not None:
            raise error
        if getattr(self.info, "name", "") in UNINITIALIZED:
            return assert_same(actual, tree_map(_plain, expected), self.tolerance, values=False)
        try:
            assert_same(actual, tree_map(_plain, expected), self.tolerance)
        except Wrong:
            torch.manual_seed(1)
            others = [on_cpu() for _ in range(8)]
            if not any(differ(expected, other) for other in others):
                raise
            if not any(_varying_form(expected, other) for other in others):
                assert_same(actual, tree_map(_plain, expected), self.tolerance, values=False)
            assert_same_distribution(on_device, on_cpu)


def _fresh(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    copy = value.detach()
    if (
        value.layout == torch.strided
        and value.numel() > 0
        and not (value.is_conj() or value.is_neg())
    ):
        length = value.untyped_storage().nbytes() // value.element_size()
        flat = copy.as_strided((length,), (1,), 0).clone()
        copy = flat.as_strided(value.shape, value.stride(), value.storage_offset())
    else:
        copy = copy.clone()
    return copy.requires_grad_(value.requires_grad)


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
