"""Starting the ranks of a slice: ``torch.tpu.distributed``.

``python -m torch.tpu.distributed`` prints what a launcher needs as assignments of the shell.
"""

import os
from collections.abc import Mapping

from torch_tpu import _C

from ._launch_env import launch_env, rank_env

__all__ = ["set_tpu_launch_env"]


def set_tpu_launch_env(*, nnodes: int | None = None, nproc_per_node: int | None = None) -> None:
    """Fills in the environment variables that the ranks of a slice need, one rank a chip.

    In a launcher these are WORLD_SIZE, TORCH_TPU_TOPOLOGY and TORCH_TPU_SLICEBUILDER_ADDRESSES, on
    several hosts also NNODES, NODE_RANK, MASTER_ADDR and MASTER_PORT. In a rank (LOCAL_RANK is set)
    also what makes libtpu take this rank's chip alone, so call it before the first use of the
    device. A variable that is set already stays as it is.

    Args:
        nnodes: number of hosts; None takes NNODES or counts TPU_WORKER_HOSTNAMES.
        nproc_per_node: ranks of each host; None takes LOCAL_WORLD_SIZE or one for each chip.

    Raises:
        RuntimeError: in a rank whose plugin runs already.
        ValueError: the variables contradict each other, or one is missing.
    """
    is_rank = "LOCAL_RANK" in os.environ
    if is_rank and _C.is_started():
        raise RuntimeError(
            "set_tpu_launch_env: expected the device to be unused so far, got a plugin that runs. "
            "Call it before the first tensor on tpu"
        )
    made = environment(os.environ, nnodes=nnodes, nproc_per_node=nproc_per_node)
    if is_rank:
        made |= rank_env(os.environ | made)
    os.environ.update(made)


def environment(
    env: Mapping[str, str], *, nnodes: int | None = None, nproc_per_node: int | None = None
) -> dict[str, str]:
    """What `set_tpu_launch_env` adds to `env` in a launcher, as a dict of str."""
    if nproc_per_node is None:
        local_size = env.get("LOCAL_WORLD_SIZE", "")
        nproc_per_node = int(local_size) if local_size.isdigit() else max(1, _C.device_count())
    return launch_env(env, nnodes=nnodes, nproc_per_node=nproc_per_node)
