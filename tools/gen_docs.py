#!/usr/bin/env python3
"""Writes docs/settings.md from the settings, docs/ops.md from the rows of the lowerings and the
results in docs/ops.json (tools/test_ops.py), and the table of sizes in docs/adding_an_op.md.

tools/gen_docs.py          writes the pages
tools/gen_docs.py --check  exit status 1 if a page is not what would be written
"""

import json
import re
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "csrc" / "base" / "settings.cc"
PAGE = ROOT / "docs" / "settings.md"
LOWERINGS = ROOT / "csrc" / "lowering"
OPS_PAGE = ROOT / "docs" / "ops.md"
RESULTS = ROOT / "docs" / "ops.json"
GUIDE = ROOT / "docs" / "adding_an_op.md"
FALLBACK = ROOT / "csrc" / "eager" / "fallback.cc"
OP_ROW = re.compile(r'\{"aten::([^"]+)"')

TEXT = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
ROW = re.compile(r"\{\s*" + r",\s*".join([TEXT] * 5) + r",?\s*\}")

HEADER = """\
# Settings

<!-- Written by tools/gen_docs.py from csrc/base/settings.cc. -->

Environment variables, read once, at the first use of the device. An empty value is the default;
a value that is not accepted is a `ValueError` that names the variable and what it accepts.

| variable | values | default | what it does |
| --- | --- | --- | --- |
"""


OPS_HEADER = """\
# Ops

<!-- Written by tools/gen_docs.py from docs/ops.json and the rows in csrc/lowering. -->

PyTorch's own tables (`op_db`, `module_db`, `optim_db` of `torch.testing._internal`) on the device
against the CPU: all their dtypes and sample inputs, as `make test-ops` ran them. A row is an op, a
variant and a dtype.
"""

FAMILIES_HEADER = """
## Overloads with a lowering

By the file of the row: {count} in all. In-place and out= forms follow from them by schema, and what
PyTorch composes of other ops (`matmul`, `layer_norm`, `einsum`, ...) needs none. An op that comes
down to none of these runs on the CPU, with a warning once per op;
`torch.tpu.stats()["fallbacks"]` counts such calls.

| family | overloads |
| --- | --- |
"""

OUTCOMES = ("pass", "fallback", "raises", "wrong", "crash")  # from good to bad
MARKS = {"pass": "●", "fallback": "○", "raises": "✕", "wrong": "✕", "crash": "✕"}
DTYPES = {
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "float16": "f16",
    "complex64": "c64",
    "complex128": "c128",
    "complex32": "c32",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "bool": "bool",
}
SIZES = re.compile(r"(<!-- sizes: tools/gen_docs.py -->\n).*?(<!-- end of sizes -->)", re.S)

# By row ("op/add/forward"): the dtypes of each outcome.
Rows = dict[str, dict[str, str]]
HOST_HEADER = """
## On the CPU by choice

| op | reason |
| --- | --- |
"""


class Setting(NamedTuple):
    name: str
    type: str
    default: str
    choices: str
    doc: str


def literal(text: str) -> str:
    """The value of adjacent C++ string literals."""
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
    return re.sub(r"\\(.)", r"\1", "".join(parts))


def settings() -> list[Setting]:
    rows = [Setting(*map(literal, row)) for row in ROW.findall(SOURCE.read_text(encoding="utf-8"))]
    if not rows:
        raise SystemExit(f"gen_docs: expected rows of settings in {SOURCE}, got none")
    return rows


def page(rows: list[Setting]) -> str:
    lines = []
    for row in rows:
        values = ", ".join(f"`{choice}`" for choice in row.choices.split("|") if choice) or row.type
        default = f"`{row.default}`" if row.default else "empty"
        lines.append(f"| `{row.name}` | {values} | {default} | {row.doc} |")
    return HEADER + "\n".join(lines) + "\n"


def totals(rows: Rows) -> list[str]:
    """A line per table and variant: how many rows had which outcome."""
    counts: dict[str, Counter[str]] = {}
    for name, outcomes in rows.items():
        table, _, variant = name.split("/")
        counter = counts.setdefault(f"{table} {variant}", Counter())
        for outcome, dtypes in outcomes.items():
            counter[outcome] += len(dtypes.split())
    return [
        "| | " + " | ".join(OUTCOMES) + " |",
        "| --- |" + " ---: |" * len(OUTCOMES),
        *(
            f"| {name} | " + " | ".join(str(c[o]) for o in OUTCOMES) + " |"
            for name, c in counts.items()
        ),
    ]


def forward_ops(rows: Rows) -> dict[str, dict[str, str]]:
    """By op of op_db: the outcome of each dtype."""
    return {
        name.split("/")[1]: {d: o for o, dtypes in outcomes.items() for d in dtypes.split()}
        for name, outcomes in rows.items()
        if name.startswith("op/") and name.endswith("/forward")
    }


def worst(ops: list[dict[str, str]], dtypes: list[str]) -> str:
    """The mark of the worst outcome over doors and dtypes, a dot where the CPU has none."""
    found = [outcomes[d] for outcomes in ops for d in dtypes if d in outcomes]
    return MARKS[max(found, key=OUTCOMES.index)] if found else "·"


def results_page() -> list[str]:
    """What docs/ops.json says: totals by door, ops that are not native, the table of ops."""
    doors: dict[str, Rows] = json.loads(RESULTS.read_text(encoding="utf-8"))
    lines: list[str] = []
    for door, rows in doors.items():
        ops = forward_ops(rows)
        foreign = sorted(op for op, outcomes in ops.items() if set(outcomes.values()) != {"pass"})
        fallback = sorted(op for op in foreign if "fallback" in ops[op].values())
        native = len(ops) - len(fallback)
        lines += [
            f"## Door `{door}`",
            "",
            *totals(rows),
            "",
            f"{native} of {len(ops)} names of op_db ({100 * native / len(ops):.1f} %) run natively "
            "for every dtype that they take. On the CPU runs, of some dtype or sample: "
            + (", ".join(f"`{op}`" for op in fallback) or "none")
            + ".",
            "",
            "Every row that does not pass is in `tests/ops/gaps.txt`, with its reason.",
            "",
        ]
    lines += [
        "## Ops by dtype",
        "",
        "● native, ○ on the CPU, ✕ refused or otherwise a gap, · the CPU has none. Forward, "
        f"the worst over the doors {', '.join(doors)}. Ops that are native in every dtype are left "
        "out.",
        "",
        "| op | " + " | ".join(DTYPES.values()) + " | other |",
        "| --- |" + " :-: |" * (len(DTYPES) + 1),
    ]
    by_door = [forward_ops(rows) for rows in doors.values()]
    for op in sorted(set().union(*by_door)):
        found = [ops[op] for ops in by_door if op in ops]
        if all(o == "pass" for outcomes in found for o in outcomes.values()):
            continue
        other = sorted({d for outcomes in found for d in outcomes} - set(DTYPES))
        cells = [worst(found, [d]) for d in DTYPES] + [worst(found, other)]
        lines.append(f"| `{op}` | " + " | ".join(cells) + " |")
    return lines


def ops_page() -> str:
    families = {
        path.stem: sorted(OP_ROW.findall(path.read_text(encoding="utf-8")))
        for path in sorted(LOWERINGS.glob("*.cc"))
    }
    lines = [
        f"| {family} | {', '.join(f'`{op}`' for op in ops)} |"
        for family, ops in families.items()
        if ops
    ]
    count = sum(map(len, families.values()))
    results = "\n".join(results_page()) + "\n" if RESULTS.exists() else ""
    header = f"{OPS_HEADER}\n{results}" + FAMILIES_HEADER.format(count=count)
    host = "".join(f"| `{op.removeprefix('aten::')}` | {reason} |\n" for op, reason in host_ops())
    return header + "\n".join(lines) + "\n" + HOST_HEADER + host


def function_sizes(text: str) -> dict[str, int]:
    """Lines of each function that starts in the first column, from its signature to its brace."""
    sizes: dict[str, int] = {}
    lines = text.splitlines()
    start = None
    for i, line in enumerate(lines):
        if re.match(r"(?:Value|Values) \w+\(", line):
            start = i
        if start is not None and (line == "}" or (i == start and line.endswith("}"))):
            name = re.match(r"(?:Value|Values) (\w+)\(", lines[start])
            if name:
                sizes[name[1]] = i - start + 1
            start = None
    return sizes


def guide() -> str:
    """docs/adding_an_op.md with the table of sizes as measured."""
    lines = [
        "| family | rows | of a table | lowerings | median lines | longest |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    every: list[int] = []
    total = 0
    for path in sorted(LOWERINGS.glob("*.cc")):
        text = path.read_text(encoding="utf-8")
        rows = re.findall(r'\{"(?:aten|tpu)::[^"]+",\s*([^,}]+)', text)
        if not rows:
            continue
        sizes = function_sizes(text)
        used = {name: sizes[name] for row in rows if (name := row.split("<")[0]) in sizes}
        table = sum(row.split("<")[0] not in sizes for row in rows)
        every += used.values()
        total += len(rows)
        measured = sorted(used.values())
        middle = f"{statistics.median(measured):g} | {measured[-1]}" if measured else "| "
        lines.append(f"| {path.stem} | {len(rows)} | {table} | {len(used)} | {middle} |")
    lines.append(
        f"| all | {total} | | {len(every)} | {statistics.median(every):g} | {max(every)} |"
    )
    table = "\n".join(lines)
    return SIZES.sub(rf"\g<1>{table}\n\g<2>", GUIDE.read_text(encoding="utf-8"))


def host_ops() -> list[tuple[str, str]]:
    """The table of fallbacks: name and reason."""
    table = FALLBACK.read_text(encoding="utf-8").split("kHostOps[] = {", 1)[1].split("\n};", 1)[0]
    pairs = re.findall(r"\{\s*" + TEXT + r",\s*" + TEXT + r"\}", table)
    return [(literal(op), literal(reason)) for op, reason in pairs]


def main() -> int:
    status = 0
    for path, text in ((PAGE, page(settings())), (OPS_PAGE, ops_page()), (GUIDE, guide())):
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"gen_docs: {path.relative_to(ROOT)} is out of date, run tools/gen_docs.py")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
