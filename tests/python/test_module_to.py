"""Module.to keeps what it keeps on every other accelerator: the objects."""

import copy

import pytest
import torch
from torch import nn


@pytest.mark.parametrize(
    "move", [lambda m: m.to("tpu"), lambda m: m.tpu(), lambda m: m.to("tpu", torch.bfloat16)]
)
def test_parameters_stay_the_same_objects(move):
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    parameters = dict(module.named_parameters())
    move(module)
    for name, parameter in module.named_parameters():
        assert parameter is parameters[name] and parameter.is_tpu
        assert isinstance(parameter, nn.Parameter) and parameter.is_leaf
    assert all(buffer.is_tpu for buffer in module.buffers())
    module.to("cpu")
    assert all(p is parameters[n] and not p.is_tpu for n, p in module.named_parameters())


def test_tied_weights_stay_tied():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(5, 4)
            self.head = nn.Linear(4, 5, bias=False)
            self.head.weight = self.embedding.weight

    model = Tied().to("tpu")
    assert model.head.weight is model.embedding.weight
    with torch.no_grad():
        model.head.weight.fill_(3)
    assert (model.embedding.weight.cpu() == 3).all()
    assert model.to("cpu").head.weight is model.embedding.weight
    other = copy.deepcopy(model.to("tpu"))
    assert other.head.weight is other.embedding.weight


def test_an_optimizer_made_before_the_move_still_steps_the_module():
    module = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    module.to("tpu")
    before = module.weight.detach().cpu().clone()
    module(torch.ones(1, 2, device="tpu")).sum().backward()
    optimizer.step()
    assert torch.equal(module.weight.detach().cpu(), before - 0.5)


def test_gradients_move_along_and_backward_works_on_both_sides():
    module = nn.Linear(2, 1)
    module(torch.ones(1, 2)).sum().backward()
    weight, grad = module.weight, module.weight.grad
    module.to("tpu")
    assert module.weight is weight and module.weight.grad is grad and grad.is_tpu
    module(torch.ones(1, 2, device="tpu")).sum().backward()
    assert module.weight.grad.tolist() == [[2, 2]]
    module.to("cpu")
    module(torch.ones(1, 2)).sum().backward()
    assert module.weight.grad.tolist() == [[3, 3]]


def test_a_move_between_devices_keeps_the_objects():
    module = nn.Linear(2, 1).to("tpu:0")
    weight = module.weight
    assert module.to("tpu:1").weight is weight and weight.device == torch.device("tpu:1")


def test_data_can_be_set_across_devices():
    x = torch.zeros(2)
    alias = x
    x.data = torch.ones(3, device="tpu")
    assert alias.is_tpu and alias.tolist() == [1, 1, 1]


def test_meta_modules_become_real():
    with torch.device("meta"):
        module = nn.Linear(2, 3)
    module.to_empty(device="tpu")
    assert module.weight.is_tpu and module.weight.shape == (3, 2)
