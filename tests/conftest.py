"""Two devices for every test, and a way to run a script in a process of its own."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable

import pytest

os.environ.setdefault("TORCH_TPU_NUM_DEVICES", "2")
os.environ.setdefault("TORCH_TPU_QUIET", "1")

RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_python() -> RunPython:
    """Runs a script in a fresh interpreter; settings of ours go in as keywords, `None` unsets."""

    def run(script: str, check: bool = True, **settings: str | None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("TORCH_TPU_")}
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
