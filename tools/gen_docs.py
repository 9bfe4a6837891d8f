#!/usr/bin/env python3
"""Writes docs/settings.md from the settings and docs/ops.md from the rows of the lowerings.

tools/gen_docs.py          writes the pages
tools/gen_docs.py --check  exit status 1 if a page is not what would be written
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "csrc" / "base" / "settings.cc"
PAGE = ROOT / "docs" / "settings.md"
LOWERINGS = ROOT / "csrc" / "lowering"
OPS_PAGE = ROOT / "docs" / "ops.md"
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

<!-- Written by tools/gen_docs.py from the rows in csrc/lowering. -->

Every ATen overload that has a lowering of its own, by the file of its row: {count} in all. In-place
and out= forms follow from them by schema, and what PyTorch composes of other ops (`matmul`,
`layer_norm`, `einsum`, ...) needs none. An op that comes down to none of these runs on the CPU,
with a warning once per op; `torch.tpu.stats()["fallbacks"]` counts such calls.

| family | overloads |
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
    return OPS_HEADER.format(count=count) + "\n".join(lines) + "\n"


def main() -> int:
    status = 0
    for path, text in ((PAGE, page(settings())), (OPS_PAGE, ops_page())):
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"gen_docs: {path.relative_to(ROOT)} is out of date, run tools/gen_docs.py")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
