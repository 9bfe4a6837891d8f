"""Runs rows in processes that may die: a row that takes its process along is a crash."""

import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from .doors import DOORS
from .outcome import Outcome
from .rows import Row

HERE = Path(__file__).resolve().parent
ROW_TIMEOUT = 900  # seconds
ROWS_PER_PROCESS = 1500  # executables stay in memory


class Worker:
    """One process; `run` starts another where it died."""

    def __init__(self, door: str, samples: int, log: Path) -> None:
        self.door, self.samples, self.log = door, samples, log
        self.process: subprocess.Popen[str] | None = None
        self.count = 0

    def _start(self) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            **DOORS[self.door].settings,
            "TORCH_TPU_QUIET": "1",
            "TORCH_TPU_FALLBACK": "silent",
            "OMP_NUM_THREADS": "1",
            "TORCH_TPU_CACHE_DIR": str(self.log.parent / "cache"),
            "TORCH_TPU_CACHE_BYTES": "0",
            "PYTHONPATH": f"{HERE.parent}:{os.environ.get('PYTHONPATH', '')}",
        }
        self.count = 0
        return subprocess.Popen(
            [sys.executable, "-m", "op_suite.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log.open("a"),
            text=True,
            env=environment,
        )

    def run(self, row: Row) -> Outcome:
        if self.process is None or self.count >= ROWS_PER_PROCESS:
            self.stop()
            self.process = self._start()
        self.count += 1
        assert self.process.stdin is not None and self.process.stdout is not None
        line = ""
        reason = "no answer"
        try:
            self.process.stdin.write(json.dumps([row, self.door, self.samples]) + "\n")
            self.process.stdin.flush()
            if select.select([self.process.stdout], [], [], ROW_TIMEOUT)[0]:
                line = self.process.stdout.readline()
            else:
                reason = f"no answer in {ROW_TIMEOUT} s"
        except BrokenPipeError:
            pass
        if line:
            outcome = json.loads(line)
            return Outcome(**{**outcome, "fallbacks": tuple(outcome["fallbacks"])})
        self.process.kill()
        status = self.process.wait()
        self.process = None
        return Outcome("crash", f"{reason}, exit status {status}")

    def stop(self) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def run_rows(
    rows: Iterable[Row],
    door: str,
    samples: int,
    jobs: int,
    log: Path,
    report: Callable[[Row, Outcome], None],
    minutes: float,
) -> None:
    """Runs `rows`, all of one op in one process, and reports each; starts none after `minutes`."""
    end = time.monotonic() + 60 * minutes
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.table, row.name), []).append(row)
    waiting: queue.SimpleQueue[list[Row]] = queue.SimpleQueue()
    for group in groups.values():
        waiting.put(group)
    lock = threading.Lock()

    def work() -> None:
        worker = Worker(door, samples, log)
        while True:
            try:
                group = waiting.get_nowait()
            except queue.Empty:
                break
            for row in group:
                if time.monotonic() > end:
                    break
                outcome = worker.run(row)
                with lock:
                    report(row, outcome)
        worker.stop()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
