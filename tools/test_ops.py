#!/usr/bin/env python3
"""Runs PyTorch's own tables of ops, modules and optimizers on the device, against the CPU.

tools/test_ops.py                       everything; goes on where it was stopped
tools/test_ops.py --name 'add*'         some ops; --variant and --dtype narrow it further
tools/test_ops.py --report              the results so far, nothing is run

The exit status is 0 when every row passed or is in tests/ops/gaps.txt as it went. With --docs the
results go to docs/ops.json, from which tools/gen_docs.py makes docs/ops.md.
"""

import json
import math
import sys
import time
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "ops"))

from op_suite.doors import DOORS  # noqa: E402
from op_suite.gaps import gaps  # noqa: E402
from op_suite.outcome import OUTCOMES, Outcome  # noqa: E402
from op_suite.rows import Row, entries  # noqa: E402
from op_suite.runner import run_rows  # noqa: E402

Results = dict[Row, Outcome]
console = Console()


def load(path: Path) -> Results:
    """What an earlier run has written; a line that was cut off does not count."""
    results: Results = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row, outcome = json.loads(line)
            except json.JSONDecodeError:
                continue
            results[Row(*row)] = Outcome(**{**outcome, "fallbacks": tuple(outcome["fallbacks"])})
    return results


def expected(row: Row, door: str) -> str:
    """The outcome that the table of gaps names, or pass."""
    return next((gap.outcome for gap in gaps() if gap.covers(row, door)), "pass")


def surprises(results: Results, door: str) -> list[str]:
    """Rows that went otherwise than they should: pass, or as their gap says."""
    lines = []
    for row, outcome in results.items():
        gap = expected(row, door)
        if outcome.outcome != gap:
            said = f", its gap says {gap}" if gap != "pass" else ""
            detail = outcome.detail or list(outcome.fallbacks)
            lines.append(f"{row}: {outcome.outcome}{said}: {detail}")
    return lines


def write_docs(results: Results, door: str) -> None:
    """docs/ops.json: by door, row by row, outcomes with the dtypes that had them."""
    path = ROOT / "docs" / "ops.json"
    whole = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    rows: dict[str, dict[str, str]] = {}
    for row, outcome in sorted(results.items()):
        cell = rows.setdefault(f"{row.table}/{row.name}/{row.variant}", {})
        cell[outcome.outcome] = f"{cell.get(outcome.outcome, '')} {row.dtype}".strip()
    whole[door] = rows
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(cell)}" for name, cell in rows.items())
    doors = {**{k: json.dumps(v) for k, v in whole.items()}, door: f"{{\n{lines}\n}}"}
    text = ",\n".join(f"{json.dumps(name)}: {body}" for name, body in doors.items())
    path.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def summary(results: Results) -> Table:
    table = Table("variant", *OUTCOMES, title=f"{len(results)} rows")
    counts: dict[str, Counter[str]] = {}
    for row, outcome in results.items():
        counts.setdefault(f"{row.table} {row.variant}", Counter())[outcome.outcome] += 1
    for variant, counter in counts.items():
        table.add_row(variant, *(str(counter[outcome]) for outcome in OUTCOMES))
    return table


def main(
    name: Annotated[str, typer.Option(help="patterns, comma-separated")] = "*",
    variant: Annotated[str, typer.Option(help="patterns, comma-separated")] = "*",
    dtype: Annotated[str, typer.Option(help="patterns, comma-separated")] = "*",
    door: Annotated[str, typer.Option(help=f"one of {', '.join(DOORS)}")] = "strict",
    samples: Annotated[int, typer.Option(help="at most so many samples a row; 0: all")] = 0,
    minutes: Annotated[float, typer.Option(help="start no row after; 0: no end")] = 0,
    jobs: Annotated[int, typer.Option(help="processes")] = 2,
    fresh: Annotated[bool, typer.Option(help="forget earlier results of these rows")] = False,
    failed: Annotated[bool, typer.Option(help="run those again that did not pass")] = False,
    docs: Annotated[bool, typer.Option(help="write docs/ops.json")] = False,
    report: Annotated[bool, typer.Option(help="run nothing")] = False,
    folder: Annotated[Path, typer.Option(help="where results are kept")] = ROOT / "build" / "ops",
) -> None:
    """Runs rows, prints those that went otherwise than they should."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{door}.jsonl"
    results = load(path)

    def chosen(row: Row) -> bool:
        cells = ((row.name, name), (row.variant, variant), (row.dtype, dtype))
        return all(any(fnmatchcase(v, p) for p in ps.split(",")) for v, ps in cells)

    rows = [row for row in entries() if chosen(row)]
    results = {row: results[row] for row in rows if row in results and not fresh}

    def lacks(row: Row) -> bool:
        """Has the row no result, or one of fewer samples than are asked for?"""
        known = results.get(row)
        if failed:
            return known is not None and known.outcome not in ("pass", expected(row, door))
        return known is None or known.samples < min(known.total, samples or known.total)

    todo = [] if report else [row for row in rows if lacks(row)]
    start = time.monotonic()
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress, path.open("a", encoding="utf-8") as file:
        task = progress.add_task(door, total=len(todo))

        def note(row: Row, outcome: Outcome) -> None:
            results[row] = outcome
            file.write(json.dumps([row, outcome._asdict()]) + "\n")
            file.flush()
            progress.update(task, advance=1, description=f"{row.name}/{row.variant}")

        if todo:
            run_rows(todo, door, samples, jobs, folder / "worker.log", note, minutes or math.inf)
    lines = surprises(results, door)
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(summary(results))
    if docs:
        missing = len(entries()) - len(results)
        if missing:
            raise SystemExit(
                f"test_ops: expected results of all rows for --docs, {missing} are missing"
            )
        write_docs(results, door)
    console.print(f"{len(todo)} rows in {time.monotonic() - start:.0f} s, {len(lines)} surprises")
    raise typer.Exit(bool(lines))


if __name__ == "__main__":
    typer.run(main)
