"""The fast slice of PyTorch's tables: each op, module and optimizer with its first samples.

The whole, with every sample and dtype, is `make test-ops`.
"""

import zlib

import pytest
from op_suite.gaps import gaps
from op_suite.outcome import run_row
from op_suite.rows import Row, entries

# Until every row of it passes or stands in the gap table; `make test-ops` runs all of them.
pytestmark = pytest.mark.slow

GAPS = gaps()
# Samples of a row by variant; each op's forward meets one other dtype too, which its name draws.
FLOAT32 = {"forward": 2, "backward": 1, "in_place": 1, "train": 1, "forloop": 1, "fused": 1}
OTHERS = ("bfloat16", "int64", "bool", "complex64", "float16", "uint8", "float64")


def samples(row: Row) -> int:
    """How many samples of the row are in the slice."""
    if row.variant == "errors":
        return 4
    if row.dtype == "float32":
        return FLOAT32.get(row.variant, 0)
    drawn = OTHERS[zlib.crc32(row.name.encode()) % len(OTHERS)]
    return int(row.variant == "forward" and row.dtype == drawn)


@pytest.mark.parametrize("row", [row for row in entries() if samples(row)], ids=str)
def test_row(row):
    outcome = run_row(row, "strict", samples(row))
    gap = next((gap for gap in GAPS if gap.covers(row, "strict")), None)
    allowed = ("pass",) if gap is None else ("pass", gap.outcome)
    assert outcome.outcome in allowed, f"{outcome.detail} {' '.join(outcome.fallbacks)}"
