"""Two devices for every test, compiled programs kept between runs under build/, and a way to run a
script in a process of its own."""

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("TORCH_TPU_NUM_DEVICES", "2")
os.environ.setdefault("TORCH_TPU_QUIET", "1")
os.environ.setdefault("TORCH_TPU_RECOMPILE_WARNING", "0")  # one line of a test, many shapes

# Tests that count compiles take an empty folder of their own; the others count programs, which does
# not depend on what earlier runs left.
_CACHE = "TORCH_TPU_CACHE_DIR"


def _cache_folder() -> str:
    from torch_tpu import _C

    folder = Path(__file__).resolve().parent.parent / "build" / "test_cache"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A checkout in a place that everybody may write to.
    return tempfile.mkdtemp() if _C.cache_why_not_trusted(str(folder)) else str(folder)


if _CACHE not in os.environ:
    os.environ[_CACHE] = _cache_folder()  # the workers of pytest-xdist inherit it

RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_python() -> RunPython:
    """Runs a script in a fresh interpreter; settings of ours go in as keywords, `None` unsets."""

    def run(script: str, check: bool = True, **settings: str | None):
        env = {k: v for k, v in os.environ.items() if k == _CACHE or not k.startswith("TORCH_TPU_")}
        for name, value in settings.items():
            env.pop(name, None)
            if value is not None:
                env[name] = value
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run
