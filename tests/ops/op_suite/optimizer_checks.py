"""Parameters after a few steps of an optimizer, for every configuration of optim_db."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from .op_checks import Check, Pair

SHAPES = ((5, 3), (4, 4), (2, 7))  # matrices: Muon takes nothing else
STEPS = 4


def checks(info: Any, dtype: torch.dtype, implementation: str, wrap: Any) -> Iterator[Check]:
    pair = Pair(info, dtype, wrap)
    generator = torch.Generator().manual_seed(0)

    def draw() -> list[torch.Tensor]:
        return [torch.randn(shape, dtype=dtype, generator=generator) for shape in SHAPES]

    tree = (draw(), [draw() for _ in range(STEPS)])
    for config in info.optim_inputs_func(device="cpu"):
        arguments = dict(config.kwargs)
        if implementation != "forloop":
            arguments[implementation] = True
        if "foreach" in config.kwargs or "differentiable" in config.kwargs:
            continue

        def run(function: Any, tree: Any, arguments: Any = arguments) -> Any:
            parameters = [torch.nn.Parameter(p) for p in tree[0]]
            optimizer = function(parameters, **arguments)
            for gradients in tree[1]:
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter.grad = gradient.clone()
                with torch.no_grad():
                    optimizer.step(
                        (lambda: parameters[0].sum()) if info.step_requires_closure else None
                    )
            return [p.detach() for p in parameters]

        yield partial(pair.check, run, info.optim_cls, tree)
