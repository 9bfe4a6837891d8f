"""The backend ``tpu`` of ``torch.compile``, also chosen where none is named for tpu inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from torch_tpu._autoload import NAME
from torch_tpu.compile import dynamo
from torch_tpu.compile import graph as graphs

dynamo.install()

# Named by `options={...}`: what each takes.
OPTIONS: dict[str, type] = {}


def compile_graph(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """What TorchDynamo calls with each captured graph; gives back what runs it.

    ``mode`` may be any name: there is one way of compiling. ``options``: see ``check_options``.
    """
    check_options(options)
    from functorch.compile import min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd

    return aot_autograd(
        fw_compiler=functools.partial(graphs.compile_aten, kind="forward"),
        bw_compiler=functools.partial(graphs.compile_aten, kind="backward"),
        inference_compiler=functools.partial(graphs.compile_aten, kind="inference"),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )(gm, example_inputs)


def check_options(options: dict[str, Any] | None) -> None:
    """TypeError for a name or a type that is not in ``OPTIONS``."""
    for name, value in (options or {}).items():
        if name not in OPTIONS:
            known = ", ".join(OPTIONS) or "none"
            raise TypeError(
                f"torch.compile(backend='tpu'): expected options of {known}, got {name!r}"
            )
        if not isinstance(value, OPTIONS[name]):
            raise TypeError(
                f"torch.compile(backend='tpu'): expected option {name!r} to be a "
                f"{OPTIONS[name].__name__}, got {value!r}"
            )


def is_on_tpu(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> bool:
    """True for a graph that torch.compile without a backend is to bring here."""

    def on_tpu(value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.device.type == NAME

    if any(on_tpu(value) for value in inputs):
        return True
    # A graph of factories alone has no input that says where it runs.
    values = (node.meta.get("example_value") for node in gm.graph.nodes)
    return any(on_tpu(value) for value in values)
