"""Processes that test together: each is a rank of its own with one device."""

import os
import sys
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.testing._internal.common_distributed import MultiProcContinuousTest

import torch_tpu  # noqa: F401


class Ranks(MultiProcContinuousTest):
    """Every test runs on all ranks at once, in processes that live as long as the class.

    Tensors on the CPU go through Gloo, which serves as the reference.
    """

    world_size = 4
    timeout = timedelta(seconds=30)

    @classmethod
    def device_type(cls):
        return "tpu"

    @classmethod
    def backend_str(cls):
        return "cpu:gloo,tpu:tpu_dist"

    @classmethod
    def _init_pg(cls, rank, world_size, rdvz_file):
        os.environ["TORCH_TPU_NUM_DEVICES"] = "1"
        torch.set_num_threads(1)
        super()._init_pg(rank, world_size, rdvz_file)

    @classmethod
    def _run_test_given_id(cls, test_id, **kwargs):
        try:
            super()._run_test_given_id(test_id, **kwargs)
        except BaseException:
            # The report shows one rank, which may only have waited for another that failed first.
            print(f"rank {cls.rank}: {traceback.format_exc(limit=-3)}", file=sys.stderr)
            raise

    def check(self, run, *tensors, **tolerances):
        """Runs ``run(*tensors)`` on the CPU and on tpu and compares what it returns."""
        want = run(*(t.clone() for t in tensors))
        got = run(*(t.to("tpu") for t in tensors))
        torch.tpu.synchronize()
        want, got = ([x] if isinstance(x, torch.Tensor) else x for x in (want, got))
        assert len(want) == len(got)
        for a, b in zip(got, want, strict=True):
            assert a.device.type == "tpu"
            torch.testing.assert_close(a.cpu(), b, **tolerances)


def mine(*shape, dtype=torch.float32, seed=0):
    """Values that differ from rank to rank and are the same at every call."""
    generator = torch.Generator().manual_seed(1000 * seed + dist.get_rank())
    if dtype == torch.bool:
        return torch.rand(*shape, generator=generator) > 0.4
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.randint(0, 5, shape, generator=generator).to(dtype)
    real = torch.rand(*shape, generator=generator, dtype=torch.float64) + 0.5
    return (real + 0.25j * real if dtype.is_complex else real).to(dtype)
