#!/usr/bin/env python3
"""Checks the layers of csrc/ by reading its #include lines.

A room may include itself and the rooms that stand before it in ROOMS, less those that
FORBIDDEN takes away; outside headers belong to a kind, and a kind has its rooms (OUTSIDE).

    tools/check_layers.py [ROOT]     prints one line for each violation, exit status 1 if any
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOMS = (
    "base",
    "pjrt",
    "hlo",
    "lowering",
    "exec",
    "eager",
    "compile",
    "distributed",
    "python",
)

# The string of a program is the only seam between these and the plugin.
FORBIDDEN = {"hlo": {"pjrt"}, "lowering": {"pjrt"}}

ATEN_ROOMS = ROOMS[ROOMS.index("eager") :]
PJRT_ROOMS = tuple(room for room in ROOMS[1:] if "pjrt" not in FORBIDDEN.get(room, ()))

# First match wins: (kind, pattern of the header, rooms that may include it).
OUTSIDE = (
    (
        "pybind11 and the Python API",
        re.compile(
            r"pybind11/|Python\.h$|torch/(extension|python)\.h$"
            r"|torch/csrc/(utils/pybind\w*|python_headers|Exceptions|THP)\.h$"
        ),
        ("python",),
    ),
    ("ATen and torch", re.compile(r"(ATen|torch|caffe2)/"), ATEN_ROOMS),
    ("the PJRT header", re.compile(r"(.*/)?pjrt_c_api\w*\.h$"), PJRT_ROOMS),
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".cc", ".inc", ".def"}


def includes(path: Path) -> Iterator[tuple[int, bool, str]]:
    """Yields (line number, quoted, header) of each #include line."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield number, match[1] == '"', match[2]


def problem(room: str, quoted: bool, header: str) -> str | None:
    """Says what is wrong with a file of `room` including `header`; None if nothing."""
    target = header.split("/")[0]
    if target in ROOMS and "/" in header:
        if not quoted:
            return f"expected quotes around a header of this project, got <{header}>"
        if ROOMS.index(target) > ROOMS.index(room):
            return f"expected only rooms up to {room}, got {header}"
        if target in FORBIDDEN.get(room, ()):
            return f"expected no header of {target} in {room}, got {header}"
        return None
    for kind, pattern, rooms in OUTSIDE:
        if pattern.match(header):
            if room in rooms:
                return None
            return f"expected {kind} only in {', '.join(rooms)}, got {header}"
    if quoted:
        return f'expected a path that starts with a room ("{room}/..."), got "{header}"'
    return None


def check(root: Path) -> list[str]:
    """All violations under root/csrc, each as `path:line: text`."""
    csrc = root / "csrc"
    found = []
    for path in sorted(csrc.rglob("*")):
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        name = path.relative_to(root).as_posix()
        parts = path.relative_to(csrc).parts
        if len(parts) < 2 or parts[0] not in ROOMS:
            found.append(f"{name}:1: expected a file in one of the rooms {', '.join(ROOMS)}")
            continue
        for line, quoted, header in includes(path):
            if text := problem(parts[0], quoted, header):
                found.append(f"{name}:{line}: {text}")
    return found


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    if not (root / "csrc").is_dir():
        print(f"check_layers: expected a folder csrc in {root}", file=sys.stderr)
        return 2
    found = check(root)
    print("\n".join(found) if found else "check_layers: every include keeps to the layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
