"""Instructions per eager call, by library: the same on any machine, so they have budgets.

Runs build/dev/benchmarks/cpp/instruction_counts under valgrind's callgrind on the CPU plugin. What
counts against a budget is the project's own code with what it calls in libc, libstdc++ and c10; the
plugin and the dispatcher are shown beside it. Exits with 1 where a budget is exceeded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/dev/benchmarks/cpp/instruction_counts"
CALLS = 100

# Of the project's own code per call; about 15 % above what was measured.
BUDGETS = {
    "add": 4800,
    "add_": 4500,
    "add_fused": 5900,
    "add_of_slices": 8800,
    "empty": 730,
    "index_select": 5100,
    "mm": 4400,
    "mul_number": 4200,
    "softmax": 3900,
    "sum": 4100,
    "transpose": 70,
}


def library(path: str) -> str:
    name = Path(path).name
    if name == PROGRAM.name:
        return "own"
    for part, short in (("xla_cpu", "plugin"), ("libtorch", "torch"), ("libc10", "torch")):
        if part in name:
            return short
    return "libc"


def read_profile(path: Path) -> tuple[str, Counter[str]]:
    """A dump's name and its instructions by library (callgrind's file format, "ob=" lines)."""
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    trigger, current, skip = "", "libc", False
    for line in path.read_text().splitlines():
        if line.startswith("desc: Trigger: Client Request:"):
            trigger = line.split(":")[-1].strip()
        elif match := re.match(r"ob=\((\d+)\)(?: (.*))?", line):
            number, name = match.groups()
            current = library(names.setdefault(number, name or names.get(number, "")))
        elif match := re.match(r"cob=\((\d+)\)(?: (.*))?", line):
            names.setdefault(match[1], match[2] or "")
        elif line.startswith("calls="):
            skip = True  # the next line is the callee's, counted where it is itself
        elif re.match(r"[0-9+*-]", line):
            if not skip:
                counts[current] += int((line.split() + ["0"])[1])  # a cost of 0 may be left out
            skip = False
    return trigger, counts


def measure() -> dict[str, Counter[str]]:
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "TORCH_TPU_QUIET": "1",
            "TORCH_TPU_DISK_CACHE": "0",
            "TORCH_TPU_EAGER_MODE": "strict",
            "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",  # valgrind knows no AVX-512
            "OMP_NUM_THREADS": "1",
        }
        command = ["valgrind", "--tool=callgrind", "--separate-threads=yes"]
        command += [f"--callgrind-out-file={folder}/out", str(PROGRAM)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{PROGRAM.name}: {done.stderr[-2000:]}")
        profiles = [read_profile(path) for path in sorted(Path(folder).glob("out.*-01"))]
    return {trigger: counts for trigger, counts in profiles if trigger not in ("start", "")}


def main() -> None:
    if shutil.which("valgrind") is None or not PROGRAM.exists():
        raise SystemExit(f"expected valgrind and {PROGRAM}, got none. `make bench` builds it")
    table = Table("call", "own", "libc", "torch", "plugin", "budget", title="instructions per call")
    over = []
    for name, counts in measure().items():
        own = counts["own"] // CALLS
        budget = BUDGETS.get(name)
        others = [f"{counts[part] // CALLS:,}" for part in ("libc", "torch", "plugin")]
        table.add_row(name, f"{own:,}", *others, f"{budget:,}" if budget else "")
        if budget and own > budget:
            over.append(f"{name}: expected at most {budget} instructions, got {own}")
    Console().print(table)
    if over:
        sys.exit("\n".join(over))


if __name__ == "__main__":
    main()
