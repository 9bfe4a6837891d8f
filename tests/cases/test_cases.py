"""Runs every case of this folder on the device, each in a process of its own.

A case is a short script after a public bug report, kept as it was written: it asserts the right
values and names its source in its docstring. `python tests/cases/NAME.py tpu` runs one by hand.
"""

import contextlib
import multiprocessing
import os
import runpy
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
TIMEOUT_S = 300

NEEDS_COMPLEX32 = "needs complex32, which XLA cannot hold: complex64 comes instead"

LEFT_OUT = {
    "062_bf16_python_scalar_keeps_dtype": NEEDS_COMPLEX32,
}


def _cases() -> list:
    names = sorted(path.stem for path in FOLDER.glob("[0-9]*.py"))
    unknown = LEFT_OUT.keys() - set(names)
    assert not unknown, f"left out, but not in the folder: {sorted(unknown)}"
    return [
        pytest.param(name, marks=pytest.mark.skip(reason=LEFT_OUT[name]))
        if name in LEFT_OUT
        else name
        for name in names
    ]


def _run(path: str, output: str, status: Connection) -> None:
    """Runs the script as `python PATH tpu` does, its output and traceback going into a file."""
    with open(output, "w", buffering=1) as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        sys.stdout = sys.stderr = stream
        sys.argv = [path, "tpu"]
        try:
            runpy.run_path(path, run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc()
            code = 1
        status.send(code)


@pytest.fixture(scope="session")
def forks():
    """Processes that have imported torch, and have started no plugin: a case costs no import."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch_tpu", "numpy"])
    return context


@pytest.mark.parametrize("name", _cases())
def test_case(name: str, forks, tmp_path: Path):
    output = tmp_path / "output.txt"
    ours, theirs = forks.Pipe(duplex=False)
    process = forks.Process(target=_run, args=(str(FOLDER / f"{name}.py"), str(output), theirs))
    process.start()
    theirs.close()
    process.join(TIMEOUT_S)
    if process.is_alive():
        process.kill()
        process.join()
    code = None
    with contextlib.suppress(EOFError):
        code = ours.recv() if ours.poll() else None
    text = output.read_text() if output.exists() else ""
    assert (code, process.exitcode) == (0, 0), (
        f"status {code}, process exit {process.exitcode}\n{text[-6000:]}"
    )
    assert text.splitlines()[-1:] == ["PASS"], text
