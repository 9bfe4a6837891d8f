"""``eval "$(python -m torch.tpu.distributed)"``: the launcher's variables, for a shell."""

import argparse
import os
import shlex
import sys

from torch.tpu.distributed import environment


def main() -> int:
    """Prints one NAME=value line for each variable that is not set yet; 1 if they make no sense."""
    parser = argparse.ArgumentParser(prog="python -m torch.tpu.distributed", description=__doc__)
    parser.add_argument("--nnodes", type=int, help="hosts (as TPU_WORKER_HOSTNAMES has)")
    parser.add_argument("--nproc-per-node", type=int, help="ranks of a host (one a chip)")
    args = parser.parse_args()
    try:
        made = environment(os.environ, nnodes=args.nnodes, nproc_per_node=args.nproc_per_node)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for name, value in made.items():
        print(f"{name}={shlex.quote(value)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
