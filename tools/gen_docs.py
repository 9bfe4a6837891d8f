#!/usr/bin/env python3
"""Writes docs/settings.md from the table in csrc/base/settings.cc.

tools/gen_docs.py          writes the page
tools/gen_docs.py --check  exit status 1 if the page is not what would be written
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "csrc" / "base" / "settings.cc"
PAGE = ROOT / "docs" / "settings.md"

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


def main() -> int:
    text = page(settings())
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"gen_docs: {PAGE.relative_to(ROOT)} is out of date, run tools/gen_docs.py")
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
