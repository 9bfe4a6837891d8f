"""Optimizers: foreach and fused steps are CPU's steps, in one program each."""

import pytest
import torch

SETTINGS = [
    (torch.optim.SGD, {"lr": 0.1}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    (torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1}),
    (torch.optim.Adam, {"lr": 0.01, "amsgrad": True, "maximize": True}),
    (torch.optim.AdamW, {"lr": 0.01}),
    (torch.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
]
FOREACH_ONLY = [
    (torch.optim.RMSprop, {"lr": 0.01, "momentum": 0.9, "centered": True}),
    (torch.optim.Adadelta, {"lr": 0.1}),
    (torch.optim.NAdam, {"lr": 0.01}),
    (torch.optim.RAdam, {"lr": 0.01}),
    (torch.optim.Adamax, {"lr": 0.01}),
    (torch.optim.ASGD, {"lr": 0.01}),
    (torch.optim.Rprop, {"lr": 0.01}),
]


def train(device, optimizer, steps=5, **options):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    x, y = torch.randn(16, 4), torch.randn(16, 2)
    model, x, y = model.to(device), x.to(device), y.to(device)
    optimizer = optimizer(model.parameters(), **options)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return torch.cat([p.detach().cpu().flatten() for p in model.parameters()])


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("optimizer, options", SETTINGS)
def test_agrees_with_cpu(optimizer, options, fused):
    expected = train("cpu", optimizer, foreach=False, **options)
    kind = {"fused": True} if fused else {"foreach": True}
    actual = train("tpu", optimizer, **kind, **options)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("optimizer, options", FOREACH_ONLY)
def test_foreach_agrees_with_cpu(optimizer, options):
    expected = train("cpu", optimizer, foreach=False, **options)
    actual = train("tpu", optimizer, foreach=True, **options)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def test_a_new_learning_rate_compiles_nothing():
    p = torch.nn.Parameter(torch.ones(8, device="tpu"))
    optimizer = torch.optim.AdamW([p], lr=0.1, fused=True)

    def step(lr):
        optimizer.param_groups[0]["lr"] = lr
        p.grad = torch.ones_like(p)
        optimizer.step()
        torch.tpu.synchronize()

    step(0.1)
    before = torch.tpu.stats()["programs"]
    for k in range(1, 4):
        step(0.1 / k)
    assert torch.tpu.stats()["programs"] == before


@pytest.mark.parametrize("found", [0.0, 1.0])
def test_scaled_gradients_and_skipped_steps(found):
    def step(device):
        p, g, m, v = (torch.full((3,), c, device=device) for c in (1.0, 8.0, 0.5, 0.25))
        torch._fused_adamw_(
            [p],
            [g],
            [m],
            [v],
            [],
            [torch.tensor(3.0, device=device)],
            lr=0.1,
            beta1=0.9,
            beta2=0.99,
            weight_decay=0.1,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
            grad_scale=torch.tensor(4.0, device=device),
            found_inf=torch.tensor(found, device=device),
        )
        return torch.stack([p, g, m, v]).cpu()

    torch.testing.assert_close(step("tpu"), step("cpu"))


def test_foreach_call_is_one_launch():
    xs = [torch.ones(k + 1, device="tpu") for k in range(5)]
    torch._foreach_add_(xs, 2.0)
    torch.tpu.synchronize()
    before = torch.tpu.stats()["launches"]
    torch._foreach_add_(xs, 3.0)
    assert torch.tpu.stats()["launches"] == before + 1
    assert [x.sum().item() for x in xs] == [6.0 * (k + 1) for k in range(5)]


def test_foreach_lists_of_unequal_length():
    with pytest.raises(RuntimeError):
        torch._foreach_add([torch.ones(2, device="tpu")], [torch.ones(2, device="tpu")] * 2)
