"""A sample's tensors on the device, with the strides, offsets and shared storages of the CPU's."""

from typing import Any

import torch
from torch.utils._pytree import tree_map

DEVICE = "tpu"


class Transfer:
    """One sample's journey: tensors that share a storage here share one there."""

    def __init__(self) -> None:
        self.storages: dict[tuple[int, torch.dtype], torch.Tensor] = {}

    def __call__(self, tree: Any) -> Any:
        """`tree` with every tensor, and every mention of the CPU as a device, on the device."""
        return tree_map(self._leaf, tree)

    def _leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return self.tensor(leaf)
        if isinstance(leaf, torch.device) and leaf.type == "cpu":
            return torch.device(DEVICE)
        if leaf == "cpu" and isinstance(leaf, str):
            return DEVICE
        return leaf

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        plain = tensor.detach()
        if plain.layout != torch.strided:
            moved = plain.to(DEVICE)
        elif plain.is_conj():
            moved = self.tensor(plain.conj()).conj()
        elif plain.is_neg():
            moved = torch._neg_view(self.tensor(torch._neg_view(plain)))
        else:
            moved = self._strided(plain)
        return moved.requires_grad_(tensor.requires_grad)

    def _strided(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        key = (storage.data_ptr(), tensor.dtype)
        length = storage.nbytes() // tensor.element_size()
        if storage.data_ptr() == 0 or tensor.numel() == 0:
            return torch.empty_strided(
                tensor.shape, tensor.stride(), dtype=tensor.dtype, device=DEVICE
            )
        if key not in self.storages:
            self.storages[key] = tensor.as_strided((length,), (1,), 0).to(DEVICE)
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
