"""``torch.tpu.compiler``: what became of the graphs of ``torch.compile``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch_tpu import _C


@dataclass(frozen=True)
class CompiledGraph:
    """One graph, as it ran last; it has ``traces`` programs, one for each kind of inputs.

    ``flops`` and ``bytes_accessed`` are of one call, as the plugin estimates them (0 where it does
    not); ``peak_bytes`` is the device memory that a call needs at most, arguments and results
    included. ``costs`` holds everything that the plugin tells. RuntimeError from a plugin that
    tells nothing.
    """

    name: str
    traces: int
    flops: float
    bytes_accessed: float
    argument_bytes: int
    output_bytes: int
    temp_bytes: int
    peak_bytes: int
    costs: dict[str, Any]
    _graph: _C.CompiledGraph = field(repr=False)

    @property
    def stablehlo(self) -> str:
        """The program as text, as it was given to XLA; lowered anew at each call."""
        return self._graph.text

    @property
    def optimized(self) -> tuple[str, bytes]:
        """XLA's optimized program: the name of its format ("hlo_with_config": a serialized
        HloModuleProtoWithConfig) and its bytes."""
        return self._graph.optimized


def graphs() -> list[CompiledGraph]:
    """The graphs that are alive, in the order of their newest trace. Parts of a graph that was cut
    stand one by one."""
    from torch_tpu.compile.graph import made

    newest = {}
    for ref in made:
        graph = ref()
        if graph is not None:
            newest.pop(id(graph), None)
            newest[id(graph)] = graph
    return [_report(graph) for graph in newest.values()]


def last() -> CompiledGraph | None:
    """The graph that was traced last; None where none is alive."""
    found = graphs()
    return found[-1] if found else None


def _report(graph: _C.CompiledGraph) -> CompiledGraph:
    costs = graph.costs
    analysis = costs.get("analysis", {})
    sizes = {
        name: costs.get(name, 0)
        for name in ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes")
    }
    alias = sizes.pop("alias_bytes")
    # Some plugins leave temporary arrays out of their peak.
    peak = max(costs.get("peak_bytes", 0), sum(sizes.values()) - alias)
    return CompiledGraph(
        name=graph.name,
        traces=graph.num_traces,
        flops=analysis.get("flops", 0.0),
        bytes_accessed=analysis.get("bytes accessed", 0.0),
        peak_bytes=peak,
        costs=analysis,
        _graph=graph,
        **sizes,
    )
