"""Tiny random pipelines of Diffusers on the device against the CPU."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tiny_diffusers import PIPELINES, assert_close, minimax_h3, on_tpu, run, tensors_of


@pytest.mark.parametrize("make", PIPELINES, ids=lambda make: make.__name__)
def test_pipeline_gives_what_it_gives_on_the_cpu(make: Callable[[], tuple[Any, dict[str, Any]]]):
    torch.manual_seed(0)
    pipe, options = make()
    with torch.no_grad():
        want = tensors_of(run(pipe, **options))
        pipe.to("tpu")
        options = on_tpu(options)
        got = tensors_of(run(pipe, **options))
    assert got.keys() == want.keys() and want
    for name in want:
        assert_close(got[name], want[name], name)


def test_parts_of_minimax_h3_give_what_they_give_on_the_cpu():
    torch.manual_seed(0)
    model, inputs = minimax_h3()
    with torch.no_grad():
        want = model(*inputs)
        got = copy.deepcopy(model).to("tpu")(*on_tpu(inputs))
    for name in want:
        assert_close(got[name], want[name], name)
