"""What TorchDynamo does for the devices that it knows by name, done for tpu too."""

from __future__ import annotations

import functools

import torch

from torch_tpu._autoload import NAME


@functools.cache
def install() -> None:
    """Tells it; a second call does nothing."""
    _keep_step_counts_on_the_device()
    _let_grouped_mm_take_any_float()


def _let_grouped_mm_take_any_float() -> None:
    """PyTorch's shape rule for the op refuses all but bfloat16, which is CUDA's limit."""
    from torch._subclasses.fake_impls import register_op_impl

    @register_op_impl(torch.ops.aten._grouped_mm.default)
    def grouped_mm(fake_mode, func, mat_a, mat_b, offs=None, bias=None, out_dtype=None):
        if mat_a.device.type != NAME:
            return NotImplemented
        rows, columns = mat_a.shape[-2], mat_b.shape[-1]
        batch = mat_a.shape[:-2]
        if mat_a.dim() == mat_b.dim() == 2:
            batch = offs.shape
        elif mat_a.dim() != mat_b.dim():
            batch = ()
        with fake_mode:
            dtype = out_dtype or mat_a.dtype
            return torch.empty((*batch, rows, columns), dtype=dtype, device=mat_a.device)


def _keep_step_counts_on_the_device() -> None:
    """An optimizer whose step is compiled becomes capturable, as on CUDA."""
    from torch._dynamo.variables.optimizer import OptimizerVariable

    known = OptimizerVariable._set_capturable

    @functools.wraps(known)
    def set_capturable(self, tx):
        for group in self.value.param_groups:
            parameters = group["params"]
            if "capturable" in group and all(
                p.device.type == NAME and p not in self.value.state for p in parameters
            ):
                group["capturable"] = True
        return known(self, tx)

    OptimizerVariable._set_capturable = set_capturable
