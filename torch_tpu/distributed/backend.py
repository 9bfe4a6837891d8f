"""Makes the process groups that ``torch.distributed`` asks the backend ``tpu_dist`` for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from torch_tpu import _C


def make(name: str, options: Any, _backend_options: Any) -> dist.Backend:
    """The backend of one group; called once by each of its ranks.

    ``options`` is PyTorch's ``_DistributedBackendOptions``: store, rank, size, timeout, group name
    and the global ranks of the members. A group of one rank connects to nobody.
    """
    torch.tpu.init()  # DeviceMesh chooses a device of its own where none is in use yet
    size, rank = options.group_size, options.group_rank
    timeout = options.timeout
    if not isinstance(timeout, timedelta):
        timeout = timedelta(seconds=timeout)
    gloo = None
    if size > 1:
        gloo = dist.ProcessGroupGloo(
            dist.PrefixStore("tpu_dist", options.store), rank, size, timeout=timeout
        )
    return _C.make_process_group(
        rank,
        size,
        options.store,
        gloo,
        list(options.global_ranks_in_group),
        _C.ProcessGroupOptions(name, timeout, options.group_id),
    )


def set_default(group: dist.ProcessGroup) -> None:
    """Makes the backend of tpu the default one of a group that has it."""
    if torch.device("tpu") in group._device_types:
        group._set_default_backend(dist.ProcessGroup.BackendType.CUSTOM)
