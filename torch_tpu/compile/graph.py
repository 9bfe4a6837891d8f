"""How a graph of ATen calls, as AOTAutograd leaves it, becomes one program.

At the first call with inputs of a kind the graph is run on stand-ins, and the calls that reach the
device are written down instead of launched: the same kernels, views and in-place rules as in eager
mode. Later calls are one launch from C++.
"""

from __future__ import annotations

import collections
import itertools
import operator
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.passes.split_module import split_module

from torch_tpu import _C
from torch_tpu.compile import control_flow

_number = itertools.count()
_told: set[str] = set()  # calls that graphs were cut at
# Graphs as they were traced, oldest first; one that has several traces stands several times.
made: collections.deque[weakref.ref[_C.CompiledGraph]] = collections.deque(maxlen=1024)


def compile_aten(gm: torch.fx.GraphModule, example_inputs: Sequence[Any], *, kind: str):
    """A compiler for AOTAutograd: what it returns takes one list of inputs and empties it."""
    graph = Graph(gm, f"{kind} graph {next(_number)}")

    # A function, since wrappers carry the attributes of functions over.
    def run(args: list[Any]) -> Any:
        return graph(args)

    run._boxed_call = True
    return run


class Graph:
    """A graph that runs on tpu. Called with a list of inputs, which it empties."""

    def __init__(self, gm: torch.fx.GraphModule, name: str) -> None:
        self._gm = gm
        self._name = name
        names_offsets = any(
            node.target
            in (torch.ops.aten.as_strided.default, torch.ops.aten.as_strided_scatter.default)
            for node in gm.graph.nodes
        )
        self._compiled = _C.CompiledGraph(name, names_offsets)
        self._parts: Callable[[list[Any]], Any] | None = None
        if host := _host_part(gm):
            self._parts = _parts(gm, lambda node: host.get(node, 1), {1}, name)

    def __call__(self, args: list[Any]) -> Any:
        if self._parts is not None:
            return self._parts(args)
        results = self._compiled.run(args)
        if results is None:
            if not self._trace(args):
                return self._parts(args)
            results = self._compiled.run(args)
            made.append(weakref.ref(self._compiled))
        args.clear()
        return results

    @property
    def text(self) -> str:
        """StableHLO of the newest program."""
        return self._compiled.text

    def _trace(self, args: list[Any]) -> bool:
        interpreter = _Interpreter(self._gm)
        try:
            with torch.no_grad(), torch.utils._python_dispatch._disable_current_modes():
                results = interpreter.run(*self._compiled.begin(args))
                self._compiled.end(list(results))
        except Exception as error:
            needs_value = self._compiled.abort()
            refused = isinstance(error, control_flow.NeedsCut)
            if not (needs_value or refused) or interpreter.node is None:
                raise
            target = str(interpreter.node.target)
            if target not in _told:
                _told.add(target)
                why = (
                    f"of {error}" if refused else "it has no lowering, or needs values on the host"
                )
                warnings.warn(
                    f"torch.compile: a graph is cut at {target}, which runs by itself, because "
                    f"{why}",
                    stacklevel=4,
                )
            self._cut(interpreter.node)
            return False
        return True

    def _cut(self, at: torch.fx.Node) -> None:
        """What comes before the call, the call as eager runs it, what comes after."""
        order = {node: i for i, node in enumerate(self._gm.graph.nodes)}

        def part_of(node: torch.fx.Node) -> int:
            if node.target is operator.getitem and node.args[0] is at:
                return 1
            return (order[node] > order[at]) + (order[node] >= order[at])

        self._parts = _parts(self._gm, part_of, {0, 2}, self._name)


class _Interpreter(torch.fx.Interpreter):
    """Remembers the node that it runs."""

    node: torch.fx.Node | None = None

    def run_node(self, n: torch.fx.Node) -> Any:
        self.node = n
        return super().run_node(n)

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        # The graph was traced with the CPU's strides, and a result of ours may be row-major
        # instead. In a graph without aliases a copy serves as well as a view.
        if target is torch.ops.aten.view.default:
            return args[0].reshape(args[1])
        if call := control_flow.CALLS.get(target):
            return call(_run_body, *args, **kwargs)
        return super().call_function(target, args, kwargs)


def _run_body(body: Any, *args: Any) -> Any:
    if isinstance(body, torch.fx.GraphModule):
        return _Interpreter(body).run(*args)
    return body(*args)


def _parts(gm: torch.fx.GraphModule, part_of, compiled: set[int], name: str):
    """Cuts the graph into parts by number; those in ``compiled`` become graphs of their own."""
    split = split_module(gm, gm, part_of)
    for child, part in list(split.named_children()):
        if not child.startswith("submod_"):
            continue
        number = int(child.removeprefix("submod_"))
        if number in compiled:
            setattr(split, child, _Part(part, f"{name}, part {number}"))

    def run(args: list[Any]) -> Any:
        inputs = list(args)
        args.clear()
        return split(*inputs)

    return run


class _Part(torch.nn.Module):
    """A part as split_module calls it: separate inputs, one result bare."""

    def __init__(self, gm: torch.fx.GraphModule, name: str) -> None:
        super().__init__()
        output = gm.graph.output_node()
        self._bare = not isinstance(output.args[0], (tuple, list))
        if self._bare:
            output.args = ((output.args[0],),)
            gm.recompile()
        self._run = Graph(gm, name)

    def forward(self, *args: Any) -> Any:
        results = self._run(list(args))
        return results[0] if self._bare else tuple(results)


def _host_part(gm: torch.fx.GraphModule) -> dict[torch.fx.Node, int]:
    """Calls whose values come from CPU tensors alone and differ from call to call.

    They run on the CPU: before the program (0), or after it (2) where they write to an input. What
    the program (1) takes of them are 0-d values, or tensors that were moved to tpu.
    """
    part: dict[torch.fx.Node, int] = {}
    varying: set[torch.fx.Node] = set()
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder":
            if isinstance(value, torch.Tensor) and value.device.type == "cpu":
                varying.add(node)
            continue
        if node.op != "call_function":
            continue
        tensors = [n for n in node.all_input_nodes if _devices(n)]
        on_host = all(_devices(n) == {"cpu"} for n in tensors)
        random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        if not on_host or not (
            varying.intersection(tensors) or (random and _devices(node) == {"cpu"})
        ):
            continue
        varying.add(node)
        writes = node.target is torch.ops.aten.copy_.default and tensors[0].op == "placeholder"
        part[node] = 2 if writes else 0
    return part


def _devices(node: torch.fx.Node) -> set[str]:
    values = torch.utils._pytree.tree_leaves(node.meta.get("val"))
    return {value.device.type for value in values if isinstance(value, torch.Tensor)}
