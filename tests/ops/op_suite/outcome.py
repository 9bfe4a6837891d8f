"""Runs one row and says how it went."""

import time
import warnings
from typing import Any, NamedTuple

import torch

from .compare import Wrong
from .doors import DOORS
from .rows import Row, entries

OUTCOMES = ("pass", "fallback", "raises", "wrong", "crash")  # from good to bad


class Outcome(NamedTuple):
    """`outcome` is the worst of the row's samples, `detail` its first message."""

    outcome: str
    detail: str = ""
    samples: int = 0
    total: int = 0  # that the row has
    failed: int = 0
    fallbacks: tuple[str, ...] = ()
    seconds: float = 0.0


def _spread(listed: list[Any], most: int) -> list[Any]:
    """At most `most` of the checks, from first to last; all of them for 0."""
    if most <= 0 or len(listed) <= most:
        return listed
    return [listed[i * (len(listed) - 1) // max(most - 1, 1)] for i in range(most)]


def run_row(row: Row, door: str = "strict", samples: int = 0) -> Outcome:
    """The outcome of a row over `samples` of its samples (0: all)."""
    start = time.monotonic()
    before = torch.tpu.stats()["fallbacks"]
    worst, detail, count, failed = "pass", "", 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            listed = list(entries()[row].checks(DOORS[door].wrap))
        except Exception as error:
            return Outcome("raises", f"samples: {error!r}"[:600])
        for check in _spread(listed, samples):
            count += 1
            outcome = "pass"
            try:
                check()
            except Wrong as error:
                outcome, message = "wrong", str(error)
            except Exception as error:
                outcome, message = "raises", f"{type(error).__name__}: {error}"
            if outcome == "pass":
                continue
            failed += 1
            if OUTCOMES.index(outcome) > OUTCOMES.index(worst):
                worst, detail = outcome, f"sample {count - 1}: {message}"[:600]
    after = torch.tpu.stats()["fallbacks"]
    fallbacks = tuple(sorted(op for op in after if after[op] > before.get(op, 0)))
    if worst == "pass" and fallbacks:
        worst = "fallback"
    seconds = round(time.monotonic() - start, 2)
    return Outcome(worst, detail, count, len(listed), failed, fallbacks, seconds)
