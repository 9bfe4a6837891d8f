"""A sample's tensors elsewhere, with the strides, offsets and shared storages of the original."""

from typing import Any

import torch
from torch.utils._pytree import tree_map

DEVICE = "tpu"


class Transfer:
    """One sample's journey to `device`: tensors that share a storage here share a new one there.

    `dtypes` says which become others on the way; these share nothing.
    """

    def __init__(
        self, device: str = DEVICE, dtypes: dict[torch.dtype, torch.dtype] | None = None
    ) -> None:
        self.device, self.dtypes = device, dtypes or {}
        self.storages: dict[tuple[int, torch.dtype], torch.Tensor] = {}

    def __call__(self, tree: Any) -> Any:
        """`tree` with a copy of every CPU tensor, and `device` wherever it says "cpu"."""
        return tree_map(self._leaf, tree)

    def _leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return self.tensor(leaf) if leaf.device.type == "cpu" else leaf
        if isinstance(leaf, torch.device) and leaf.type == "cpu":
            return torch.device(self.device)
        if isinstance(leaf, torch.dtype):
            return self.dtypes.get(leaf, leaf)
        if leaf == "cpu" and isinstance(leaf, str):
            return self.device
        return leaf

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        plain = tensor.detach()
        if plain.layout != torch.strided:
            moved = plain.to(self.device, copy=True)
        elif plain.is_conj():
            moved = self.tensor(plain.conj()).conj()
        elif plain.is_neg():
            moved = torch._neg_view(self.tensor(torch._neg_view(plain)))
        else:
            moved = self._strided(plain)
        if plain.dtype in self.dtypes:
            moved = moved.to(self.dtypes[plain.dtype])
        return moved.requires_grad_(tensor.requires_grad)

    def _strided(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        key = (storage.data_ptr(), tensor.dtype)
        length = storage.nbytes() // tensor.element_size()
        if storage.data_ptr() == 0 or tensor.numel() == 0:
            return torch.empty_strided(
                tensor.shape, tensor.stride(), dtype=tensor.dtype, device=self.device
            )
        if key not in self.storages:
            whole = tensor.as_strided((length,), (1,), 0)
            self.storages[key] = whole.to(self.device, copy=True)
        base = self.storages[key]
        if tensor.is_contiguous() and tensor.numel() == length:
            return base.view(tensor.shape)
        return base.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def to_host(tree: Any) -> Any:
    """`tree` with its device tensors on the CPU; AssertionError for one that is there already."""

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        assert value.device.type == DEVICE, f"result on {value.device}"
        return value.detach().cpu()

    return tree_map(leaf, tree)
