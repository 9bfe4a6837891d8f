"""A call costs no more instructions than its budget in benchmarks/instructions.py."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(600)
def test_calls_keep_to_their_budgets():
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    if not (ROOT / "build/dev/benchmarks/cpp/instruction_counts").exists():
        pytest.skip("the C++ benchmarks are not built")
    script = ROOT / "benchmarks/instructions.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
