"""The environment of the processes of a slice, one process a chip, as functions of what is known.

Nothing here reads the process's own environment, the network or a device.
"""

import math
from collections.abc import Mapping

MASTER_PORT = 29500  # torchrun's own
BASE_PORT = 8476  # libtpu's own

# Chips in x, y, z of the slices that are one host; larger ones say what they are in TPU_TOPOLOGY.
_ONE_HOST = {1: (1, 1, 1), 4: (2, 2, 1), 8: (2, 4, 1)}


def launch_env(
    env: Mapping[str, str], *, nnodes: int | None = None, nproc_per_node: int
) -> dict[str, str]:
    """What the launcher of a host's ranks needs beyond `env`; a name in `env` is never in it.

    Args:
        env: the environment so far. Read are TPU_WORKER_HOSTNAMES (commas between), TPU_WORKER_ID
            or JOB_COMPLETION_INDEX, TPU_TOPOLOGY ("4x4"), TORCH_TPU_BASE_PORT, and the names that
            are given.
        nnodes: number of hosts; None counts the host names.
        nproc_per_node: ranks, and chips, of each host.

    Returns:
        WORLD_SIZE, TORCH_TPU_TOPOLOGY ("2,4,1") and TORCH_TPU_SLICEBUILDER_ADDRESSES (host:port of
        each rank); of several hosts also NNODES, NODE_RANK, MASTER_ADDR and MASTER_PORT.

    Raises:
        ValueError: the names contradict each other, or one that several hosts need is missing.
    """
    hosts = [name.strip() for name in env.get("TPU_WORKER_HOSTNAMES", "").split(",")]
    hosts = [name for name in hosts if name] or ["localhost"]
    if nnodes is None:
        nnodes = _integer(env, "NNODES", len(hosts), at_least=1)
    if nnodes < 1 or nproc_per_node < 1:
        raise _error("at least one host and one rank a host", f"{nnodes} and {nproc_per_node}")
    if len(hosts) != nnodes:
        raise _error(
            f"{nnodes} host names in TPU_WORKER_HOSTNAMES", f"{len(hosts)}: {','.join(hosts)}"
        )
    size = nnodes * nproc_per_node
    base = _integer(env, "TORCH_TPU_BASE_PORT", BASE_PORT, at_least=1)
    made = {
        "WORLD_SIZE": str(size),
        "TORCH_TPU_TOPOLOGY": ",".join(map(str, _bounds(env, size))),
        "TORCH_TPU_SLICEBUILDER_ADDRESSES": ",".join(
            f"{host}:{base + chip}" for host in hosts for chip in range(nproc_per_node)
        ),
    }
    if nnodes > 1:
        made["NNODES"] = str(nnodes)
        made["NODE_RANK"] = str(_node_rank(env, nnodes))
        made["MASTER_ADDR"] = hosts[0]
        made["MASTER_PORT"] = str(MASTER_PORT)
    return {name: value for name, value in made.items() if name not in env}


def rank_env(env: Mapping[str, str]) -> dict[str, str]:
    """What libtpu needs in one rank to take its chip alone; a name in `env` is never in it.

    Args:
        env: the environment of a rank: what `launch_env` makes, and torchrun's RANK, LOCAL_RANK
            and LOCAL_WORLD_SIZE.

    Returns:
        TPU_VISIBLE_DEVICES, TPU_PROCESS_BOUNDS, TPU_CHIPS_PER_PROCESS_BOUNDS,
        TPU_PROCESS_ADDRESSES, TPU_PROCESS_PORT and CLOUD_TPU_TASK_ID.

    Raises:
        ValueError: `env` is not that of a rank, or not of one of those that it describes.
    """
    addresses = env["TORCH_TPU_SLICEBUILDER_ADDRESSES"].split(",")  # launch_env made it
    ranks = len(addresses)
    rank = _integer(env, "RANK", at_least=0)
    local_rank = _integer(env, "LOCAL_RANK", at_least=0)
    local_size = _integer(env, "LOCAL_WORLD_SIZE", at_least=1)
    world_size = _integer(env, "WORLD_SIZE", at_least=1)
    if world_size != ranks:
        raise _error(f"WORLD_SIZE to be {ranks}, the number of addresses", str(world_size))
    if rank >= ranks or local_rank >= local_size:
        raise _error(
            f"RANK below {ranks} and LOCAL_RANK below {local_size}", f"{rank} and {local_rank}"
        )
    host, colon, port = addresses[rank].rpartition(":")
    if not (host and colon and port.isdigit()):
        raise _error("host:port in TORCH_TPU_SLICEBUILDER_ADDRESSES", addresses[rank])
    made = {
        "TPU_VISIBLE_DEVICES": str(local_rank),
        "TPU_PROCESS_BOUNDS": env["TORCH_TPU_TOPOLOGY"],
        "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1",
        "TPU_PROCESS_ADDRESSES": env["TORCH_TPU_SLICEBUILDER_ADDRESSES"],
        "TPU_PROCESS_PORT": port,
        "CLOUD_TPU_TASK_ID": str(rank),
    }
    return {name: value for name, value in made.items() if name not in env}


def _bounds(env: Mapping[str, str], size: int) -> tuple[int, ...]:
    """Chips in x, y and z; one that is in `env` already must have `size` chips too."""
    for name, mark in (("TORCH_TPU_TOPOLOGY", ","), ("TPU_TOPOLOGY", "x")):
        if text := env.get(name):
            parts = text.split(mark)
            if not 1 <= len(parts) <= 3 or not all(part.strip().isdigit() for part in parts):
                raise _error(f"{name} to be up to three numbers with '{mark}' between", repr(text))
            bounds = tuple(int(part) for part in parts)
            if math.prod(bounds) != size:
                raise _error(f"{name} of {size} chips, one for each rank", repr(text))
            return bounds + (1,) * (3 - len(bounds))
    return _ONE_HOST.get(size, (size, 1, 1))


def _node_rank(env: Mapping[str, str], nnodes: int) -> int:
    for name in ("NODE_RANK", "TPU_WORKER_ID", "JOB_COMPLETION_INDEX"):
        if name in env:
            rank = _integer(env, name, at_least=0)
            if rank >= nnodes:
                raise _error(f"{name} below {nnodes}, the number of hosts", str(rank))
            return rank
    raise _error("TPU_WORKER_ID or JOB_COMPLETION_INDEX to say which host this is", "neither")


def _integer(
    env: Mapping[str, str], name: str, default: int | None = None, *, at_least: int
) -> int:
    text = env.get(name, "" if default is None else str(default))
    if not text.strip().isdigit() or int(text) < at_least:
        raise _error(f"{name} to be an integer of at least {at_least}", repr(text))
    return int(text)


def _error(rule: str, values: str) -> ValueError:
    return ValueError(f"set_tpu_launch_env: expected {rule}, got {values}")
