"""A process that runs rows: a JSON list of row and settings in per line, a JSON outcome out.

Standard output is the protocol's alone; what rows print goes to standard error.
"""

import json
import os
import sys


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    import torch

    torch.set_num_threads(1)
    from .outcome import run_row
    from .rows import Row

    for line in sys.stdin:
        row, door, samples = json.loads(line)
        outcome = run_row(Row(*row), door, samples)
        answers.write(json.dumps(outcome._asdict()) + "\n")


if __name__ == "__main__":
    main()
