"""Tensors, modules and storages through torch.save, pickle and deepcopy."""

import copy
import io
import pickle

import pytest
import torch


def through_file(value, **options):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


def test_a_tensor_comes_back_where_it_was():
    x = torch.arange(6.0, device="tpu:1").view(2, 3)
    for y in (through_file(x), pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.device == x.device and torch.equal(x, y)
        y += 1
        assert x[0, 0].item() == 0


@pytest.mark.parametrize(
    "source, target",
    [("cpu", "tpu"), ("tpu", "cpu"), ("tpu:1", "tpu:0"), ("cpu", torch.device("tpu:1"))],
)
def test_map_location_moves(source, target):
    x = torch.arange(4, device=source)
    y = through_file(x, map_location=target)
    assert y.device.type == torch.device(target).type
    assert (y.device.index or 0) == (torch.device(target).index or 0)
    assert torch.equal(x.cpu(), y.cpu())


def test_map_location_as_dict_and_function():
    x = torch.arange(4, device="tpu:1")
    assert through_file(x, map_location={"tpu:1": "tpu:0"}).device == torch.device("tpu:0")
    assert through_file(x, map_location=lambda storage, where: storage).device.type == "cpu"


@pytest.mark.parametrize(
    "dtype",
    [
        torch.bool,
        torch.uint8,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float64,
        torch.complex64,
        torch.complex128,
        torch.float8_e4m3fn,
    ],
)
def test_every_dtype_survives(dtype):
    x = torch.tensor([0, 1, 1, 0]).to(dtype).to("tpu")
    y = through_file(x)
    assert y.dtype == dtype and y.is_tpu
    assert torch.equal(x.cpu().view(torch.uint8), y.cpu().view(torch.uint8))


def test_views_of_one_storage_stay_views_of_one_storage():
    base = torch.zeros(4, device="tpu")
    loaded, part = through_file([base, base[1:3]])
    part += 1
    assert loaded.tolist() == [0, 1, 1, 0]


def test_a_training_state_goes_on_where_it_stopped():
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2).to("tpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

    def step(model, optimizer):
        optimizer.zero_grad()
        model(torch.ones(1, 3, device="tpu")).square().sum().backward()
        optimizer.step()
        return [p.detach().cpu() for p in model.parameters()]

    step(model, optimizer)
    saved = through_file({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    expected = step(model, optimizer)
    other = torch.nn.Linear(3, 2).to("tpu")
    other_optimizer = torch.optim.AdamW(other.parameters(), lr=0.1)
    other.load_state_dict(saved["model"])
    other_optimizer.load_state_dict(saved["optimizer"])
    for a, b in zip(expected, step(other, other_optimizer), strict=True):
        assert torch.equal(a, b)


def test_parameters_keep_their_kind():
    p = torch.nn.Parameter(torch.ones(2, device="tpu"), requires_grad=False)
    for q in (through_file(p, weights_only=False), pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert isinstance(q, torch.nn.Parameter) and q.is_tpu and not q.requires_grad


def test_a_device_that_does_not_exist_is_an_error():
    with pytest.raises(RuntimeError, match="tpu"):
        through_file(torch.ones(2), map_location="tpu:7")


def test_storages_move_and_copy():
    storage = torch.arange(4, dtype=torch.uint8).untyped_storage()
    on_tpu = storage.tpu()
    assert on_tpu.device == torch.device("tpu:0") and on_tpu.tolist() == [0, 1, 2, 3]
    assert on_tpu.tpu() is on_tpu
    clone = copy.deepcopy(on_tpu)
    clone.fill_(7)
    assert on_tpu.cpu().tolist() == [0, 1, 2, 3] and clone.cpu().tolist() == [7] * 4
    on_tpu.resize_(6)
    assert on_tpu.size() == 6 and on_tpu.cpu().tolist()[:4] == [0, 1, 2, 3]
