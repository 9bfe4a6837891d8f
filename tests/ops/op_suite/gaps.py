"""The rows that are known not to pass, each with its reason; one that passes must be taken out."""

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .rows import Row

TABLE = Path(__file__).resolve().parent.parent / "gaps.txt"


class Gap(NamedTuple):
    """A line of the table; names, variants, dtypes and doors are comma-separated patterns."""

    names: str
    variants: str
    dtypes: str
    doors: str
    outcome: str
    reason: str

    def covers(self, row: Row, door: str) -> bool:
        return all(
            any(fnmatchcase(value, pattern) for pattern in patterns.split(","))
            for value, patterns in (
                (f"{row.table}/{row.name}", self.names),
                (row.variant, self.variants),
                (row.dtype, self.dtypes),
                (door, self.doors),
            )
        )


@cache
def gaps() -> list[Gap]:
    """The table: `names | variants | dtypes | doors | outcome | reason`, # for comments."""
    found = []
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|", 5)]
        if len(cells) != 6 or not all(cells):
            raise ValueError(f"{TABLE.name}:{number}: expected six cells, got {line!r}")
        found.append(Gap(*cells))
    return found
