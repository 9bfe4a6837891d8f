"""A module's output and gradients, for every input of module_db."""

from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from .op_checks import Check, Pair, differentiable, random_like
from .transfer import DEVICE


def checks(info: Any, dtype: torch.dtype, training: bool, wrap: Any) -> Iterator[Check]:
    pair = Pair(info, dtype, wrap)
    torch.manual_seed(0)
    inputs = info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=True, training=training
    )
    for module_input in inputs:
        if module_input.forward_input is None:
            continue
        made = module_input.constructor_input
        module = info.module_cls(*made.args, **made.kwargs).to(dtype).train(training)

        def run(function: Any, tree: Any) -> Any:
            on_device = any(
                isinstance(t, torch.Tensor) and t.device.type == DEVICE
                for t in tree_flatten(tree)[0]
            )
            module = deepcopy(function).to(DEVICE) if on_device else deepcopy(function)
            output = module(*tree[0], **tree[1])
            targets = differentiable(output)
            sources = [*module.parameters(), *differentiable(tree)]
            sources = [s for s in sources if s.requires_grad]
            gradients = None
            if targets and sources:
                cotangents = [random_like(t, i) for i, t in enumerate(targets)]
                gradients = torch.autograd.grad(targets, sources, cotangents, allow_unused=True)
            return output, gradients, list(module.buffers())

        tree = (module_input.forward_input.args, module_input.forward_input.kwargs)
        yield partial(pair.check, run, module, tree)
