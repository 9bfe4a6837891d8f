"""What the model tests share: settings of the libraries, and a check that no op ran on the CPU."""

import os
from collections.abc import Iterator

import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")


@pytest.fixture(autouse=True)
def no_op_falls_back() -> Iterator[None]:
    """Every op of a model test has a row: nothing of it may run on the CPU."""
    torch.tpu.reset_stats()
    yield
    assert torch.tpu.stats()["fallbacks"] == {}
