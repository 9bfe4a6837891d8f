"""Training steps and the gradients of common modules equal those of the CPU."""

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

STEPS = 4


@pytest.fixture(autouse=True)
def no_op_falls_back() -> Iterator[None]:
    torch.tpu.reset_stats()
    yield
    assert torch.tpu.stats()["fallbacks"] == {}


def mlp() -> tuple[nn.Module, Tensor]:
    model = nn.Sequential(
        nn.Linear(6, 16),
        nn.GELU(),
        nn.LayerNorm(16),
        nn.Linear(16, 16),
        nn.Tanh(),
        nn.Linear(16, 3),
    )
    return model, torch.randn(8, 6)


def cnn() -> tuple[nn.Module, Tensor]:
    model = nn.Sequential(
        # No bias: before a norm its gradient is rounding noise, which Adam blows up to whole steps.
        nn.Conv2d(2, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, groups=2),
        nn.GroupNorm(2, 4),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 3),
    )
    return model, torch.randn(8, 2, 8, 8)


class Encoder(nn.Module):
    def __init__(self, norm_first: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 16, padding_idx=0)
        layer = nn.TransformerEncoderLayer(
            16, 2, 32, dropout=0.0, batch_first=True, norm_first=norm_first
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        vectors = self.layers(self.embedding(tokens), src_key_padding_mask=tokens == 0)
        return self.head(vectors.mean(1))


def encoder() -> tuple[nn.Module, Tensor]:
    tokens = torch.randint(1, 20, (8, 5))
    tokens[1, 3:] = 0
    return Encoder(), tokens


def train(
    model: nn.Module, inputs: Tensor, labels: Tensor, optimizer: torch.optim.Optimizer
) -> list[float]:
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def compare_training(
    make: Callable[[], tuple[nn.Module, Tensor]],
    optimizer: Callable[..., torch.optim.Optimizer],
    variant: dict[str, Any],
    options: dict[str, Any],
) -> None:
    torch.manual_seed(0)
    model, inputs = make()
    labels = torch.randint(0, 3, (len(inputs),))
    on_tpu = copy.deepcopy(model).to("tpu")
    ours = optimizer(on_tpu.parameters(), **options, **variant)
    theirs = optimizer(model.parameters(), **options, foreach=False)
    got = train(on_tpu, inputs.to("tpu"), labels.to("tpu"), ours)
    want = train(model, inputs, labels, theirs)
    assert want[-1] < want[0]
    torch.testing.assert_close(torch.tensor(got), torch.tensor(want), rtol=1e-3, atol=1e-5)
    for (name, value), wanted in zip(
        on_tpu.state_dict().items(), model.state_dict().values(), strict=True
    ):
        torch.testing.assert_close(
            value.cpu(), wanted, rtol=1e-3, atol=2e-4, msg=lambda text, name=name: f"{name}: {text}"
        )


VARIANTS = {"plain": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
OPTIMIZERS = {
    "SGD": (torch.optim.SGD, dict(lr=0.1)),
    "SGD, momentum": (
        torch.optim.SGD,
        dict(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    ),
    "Adam": (torch.optim.Adam, dict(lr=0.01)),
    "Adam, amsgrad": (torch.optim.Adam, dict(lr=0.01, amsgrad=True, weight_decay=0.01)),
    "AdamW": (torch.optim.AdamW, dict(lr=0.01, weight_decay=0.1)),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_steps(name: str, variant: str):
    optimizer, options = OPTIMIZERS[name]
    compare_training(mlp, optimizer, VARIANTS[variant], options)


@pytest.mark.parametrize("make", [cnn, encoder], ids=["cnn", "encoder"])
def test_training_of_a_model(make: Callable[[], tuple[nn.Module, Tensor]]):
    # Not Adam: the bias of the keys has no gradient but rounding noise.
    compare_training(make, torch.optim.SGD, {}, dict(lr=0.05, momentum=0.9))


def test_another_learning_rate_or_decay_compiles_nothing():
    torch.manual_seed(0)
    model, inputs = mlp()
    model, inputs = model.to("tpu"), inputs.to("tpu")
    labels = torch.randint(0, 3, (8,)).to("tpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    train(model, inputs, labels, optimizer)
    compiles = torch.tpu.stats()["programs"]
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for group in optimizer.param_groups:
        group["weight_decay"] = 0.07
    for _ in range(3):
        train(model, inputs, labels, optimizer)
        scheduler.step()
    assert torch.tpu.stats()["programs"] == compiles


def test_clipped_gradients():
    torch.manual_seed(0)
    model, inputs = mlp()
    on_tpu = copy.deepcopy(model).to("tpu")
    norms = []
    for m, x in ((model, inputs), (on_tpu, inputs.to("tpu"))):
        m(x).square().sum().backward()
        norms.append(nn.utils.clip_grad_norm_(m.parameters(), 0.5).item())
    assert norms[0] > 0.5
    assert norms[1] == pytest.approx(norms[0], rel=1e-4)
    for ours, theirs in zip(on_tpu.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-3, atol=1e-6)


def gradient_of(model: nn.Module) -> Tensor:
    """All gradients of a model as one vector, on the CPU."""
    return torch.cat([p.grad.flatten().cpu() for p in model.parameters()])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("make", [mlp, cnn, encoder], ids=["mlp", "cnn", "encoder"])
def test_autocast_is_as_exact_as_on_the_cpu(
    make: Callable[[], tuple[nn.Module, Tensor]], dtype: torch.dtype
):
    torch.manual_seed(0)
    model, inputs = make()
    labels = torch.randint(0, 3, (len(inputs),))
    exact = copy.deepcopy(model)
    F.cross_entropy(exact(inputs), labels).backward()
    distances = []
    for device in ("cpu", "tpu"):
        m = copy.deepcopy(model).to(device)
        with torch.autocast(device, dtype=dtype):
            output = m(inputs.to(device))
            loss = F.cross_entropy(output, labels.to(device))
        assert output.dtype == dtype and loss.dtype == torch.float32
        loss.backward()
        assert all(p.grad.dtype == torch.float32 for p in m.parameters())
        distances.append((gradient_of(m) - gradient_of(exact)).norm().item())
    cpu, tpu = distances
    assert 0 < tpu < 1.5 * cpu


@pytest.mark.parametrize("variant", VARIANTS)
def test_grad_scaler_skips_a_step_whose_gradients_overflow(variant: str):
    torch.manual_seed(0)
    model, inputs = mlp()
    on_tpu = copy.deepcopy(model).to("tpu")
    found = []
    for m, x, device, options in (
        (model, inputs, "cpu", VARIANTS["plain"]),
        (on_tpu, inputs.to("tpu"), "tpu", VARIANTS[variant]),
    ):
        optimizer = torch.optim.AdamW(m.parameters(), lr=0.01, **options)
        scaler = torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=2)
        scales = []
        for step in range(5):
            optimizer.zero_grad()
            loss = m(x).square().sum() * (float("inf") if step == 3 else 1.0)
            scaler.scale(loss).backward()
            if step % 2 == 0:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        found.append(scales)
    assert found[0] == found[1]
    assert min(found[1]) < max(found[1])
    for ours, theirs in zip(on_tpu.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-3, atol=2e-4)


def test_checkpointed_layers_drop_the_same_elements_again():
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    layer = nn.Sequential(nn.Linear(6, 32), nn.Dropout(0.5), nn.Linear(32, 4)).to("tpu")
    x = torch.randn(5, 6).to("tpu")
    gradients = []
    for recompute in (False, True):
        torch.manual_seed(3)
        layer.zero_grad()
        out = checkpoint(layer, x, use_reentrant=False) if recompute else layer(x)
        out.square().sum().backward()
        gradients.append([p.grad.cpu() for p in layer.parameters()])
    for plain, recomputed in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, recomputed)


def floats(*shape: int) -> Tensor:
    return torch.randn(shape)


def positive(*shape: int) -> Tensor:
    return torch.rand(shape) + 0.1


def labels(count: int, *shape: int) -> Tensor:
    return torch.randint(0, count, shape)


def signs(*shape: int) -> Tensor:
    return torch.randint(0, 2, shape) * 2.0 - 1


def log_probabilities(*shape: int) -> Tensor:
    return torch.randn(shape).log_softmax(-1)


class WithTarget(nn.Module):
    """A loss whose target takes no gradient."""

    def __init__(self, loss: nn.Module, target: Tensor) -> None:
        super().__init__()
        self.loss = loss
        self.register_buffer("target", target)

    def forward(self, x: Tensor) -> Tensor:
        return self.loss(x, self.target)


Module = tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]]]

# What makes the module, and what makes its inputs. Gradients flow into all inputs that are floats.
MODULES: dict[str, Module] = {
    "Linear": (lambda: nn.Linear(5, 3), lambda: (floats(2, 4, 5),)),
    "Bilinear": (lambda: nn.Bilinear(4, 5, 3), lambda: (floats(6, 4), floats(6, 5))),
    "Embedding": (lambda: nn.Embedding(9, 4, padding_idx=2), lambda: (labels(9, 3, 5),)),
    "Embedding, max_norm": (lambda: nn.Embedding(9, 4, max_norm=1.0), lambda: (labels(9, 3, 5),)),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(9, 4, mode="mean"), lambda: (labels(9, 3, 5),)),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1), lambda: (floats(2, 4, 9),)),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, dilation=2, groups=2), lambda: (floats(2, 4, 9, 8),)),
    "Conv2d, same": (lambda: nn.Conv2d(3, 4, 3, padding="same"), lambda: (floats(2, 3, 5, 6),)),
    "Conv3d": (lambda: nn.Conv3d(2, 4, 2), lambda: (floats(2, 2, 4, 5, 6),)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 2, 3, stride=2), lambda: (floats(2, 4, 5),)),
    "ConvTranspose2d": (
        lambda: nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1, output_padding=1, groups=2),
        lambda: (floats(2, 4, 4, 5),),
    ),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(2, 3, 2), lambda: (floats(1, 2, 3, 3, 4),)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), lambda: (floats(6, 4),)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), lambda: (floats(2, 3, 4, 5),)),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(2), lambda: (floats(2, 2, 3, 4, 3),)),
    "BatchNorm2d, eval": (lambda: nn.BatchNorm2d(3).eval(), lambda: (floats(2, 3, 4, 5),)),
    "LayerNorm": (lambda: nn.LayerNorm([4, 5]), lambda: (floats(3, 4, 5),)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), lambda: (floats(3, 4, 5),)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, affine=True), lambda: (floats(2, 3, 4, 5),)),
    "RMSNorm": (lambda: nn.RMSNorm(5), lambda: (floats(3, 5),)),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2), lambda: (floats(2, 4, 3, 3),)),
    "MaxPool1d": (lambda: nn.MaxPool1d(3, 2), lambda: (floats(2, 3, 9),)),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), lambda: (floats(2, 3, 8, 7),)),
    "MaxPool3d": (lambda: nn.MaxPool3d(2), lambda: (floats(1, 2, 4, 4, 5),)),
    "AvgPool1d": (lambda: nn.AvgPool1d(3, 2, 1), lambda: (floats(2, 3, 9),)),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1), lambda: (floats(2, 3, 8, 7),)),
    "AvgPool3d": (lambda: nn.AvgPool3d(2), lambda: (floats(1, 2, 4, 4, 4),)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((3, 2)), lambda: (floats(2, 3, 7, 5),)),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d((3, 2)), lambda: (floats(2, 3, 7, 5),)),
    "LPPool2d": (lambda: nn.LPPool2d(2, 2), lambda: (positive(2, 3, 4, 6),)),
    "Upsample, nearest": (lambda: nn.Upsample(scale_factor=2), lambda: (floats(2, 3, 4, 5),)),
    "Upsample, bilinear": (
        lambda: nn.Upsample(size=(7, 6), mode="bilinear", align_corners=False),
        lambda: (floats(2, 3, 4, 5),),
    ),
    "Upsample, bicubic": (
        lambda: nn.Upsample(scale_factor=2, mode="bicubic"),
        lambda: (floats(1, 2, 4, 5),),
    ),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), lambda: (floats(2, 8, 3, 3),)),
    "Unfold": (lambda: nn.Unfold(2), lambda: (floats(2, 3, 4, 4),)),
    "Fold": (lambda: nn.Fold((4, 5), 2), lambda: (floats(2, 12, 12),)),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d(2), lambda: (floats(2, 3, 4, 5),)),
    "ReplicationPad3d": (lambda: nn.ReplicationPad3d(1), lambda: (floats(1, 2, 3, 3, 3),)),
    "CircularPad1d": (lambda: nn.CircularPad1d(2), lambda: (floats(2, 3, 6),)),
    "ConstantPad2d": (lambda: nn.ConstantPad2d((1, -1, 2, 0), 3.5), lambda: (floats(2, 3, 4),)),
    "RNN": (lambda: nn.RNN(4, 5, nonlinearity="relu"), lambda: (floats(6, 2, 4),)),
    "LSTM": (
        lambda: nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True),
        lambda: (floats(2, 6, 4),),
    ),
    "GRU": (lambda: nn.GRU(4, 5, batch_first=True), lambda: (floats(2, 6, 4),)),
    "LSTMCell": (lambda: nn.LSTMCell(4, 5), lambda: (floats(3, 4),)),
    "MultiheadAttention": (
        lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        lambda: (floats(2, 5, 8), floats(2, 6, 8), floats(2, 6, 8)),
    ),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
        lambda: (floats(2, 5, 8), floats(2, 6, 8)),
    ),
    "PReLU": (lambda: nn.PReLU(4), lambda: (floats(3, 4, 5),)),
    "GLU": (lambda: nn.GLU(), lambda: (floats(3, 6),)),
    "Softmax": (lambda: nn.Softmax(1), lambda: (floats(3, 4, 5),)),
    "CosineSimilarity": (lambda: nn.CosineSimilarity(), lambda: (floats(4, 6), floats(4, 6))),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(), lambda: (floats(4, 6), floats(4, 6))),
    "weight norm": (
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(5, 3)),
        lambda: (floats(4, 5),),
    ),
    "spectral norm": (
        lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(5, 3)),
        lambda: (floats(4, 5),),
    ),
    "CrossEntropyLoss": (
        lambda: nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=1),
        lambda: (floats(6, 4), labels(4, 6)),
    ),
    "CrossEntropyLoss, weights": (
        lambda: nn.CrossEntropyLoss(torch.tensor([0.2, 0.5, 1.0])),
        lambda: (floats(2, 3, 4, 5), labels(3, 2, 4, 5)),
    ),
    "NLLLoss": (lambda: nn.NLLLoss(), lambda: (log_probabilities(6, 4), labels(4, 6))),
    "MSELoss": (lambda: nn.MSELoss(), lambda: (floats(3, 4), floats(3, 4))),
    "L1Loss": (lambda: nn.L1Loss(reduction="none"), lambda: (floats(3, 4), floats(3, 4))),
    "SmoothL1Loss": (lambda: nn.SmoothL1Loss(beta=0.5), lambda: (floats(3, 4), floats(3, 4))),
    "HuberLoss": (lambda: nn.HuberLoss(), lambda: (floats(3, 4), floats(3, 4))),
    "BCELoss": (lambda: nn.BCELoss(), lambda: (torch.rand(3, 4), labels(2, 3, 4).float())),
    "BCEWithLogitsLoss": (
        lambda: nn.BCEWithLogitsLoss(pos_weight=torch.rand(4)),
        lambda: (floats(3, 4), labels(2, 3, 4).float()),
    ),
    "KLDivLoss": (
        lambda: nn.KLDivLoss(reduction="batchmean", log_target=True),
        lambda: (log_probabilities(3, 4), log_probabilities(3, 4)),
    ),
    "CTCLoss": (
        lambda: nn.CTCLoss(),
        lambda: (log_probabilities(7, 2, 5), labels(4, 2, 3) + 1, (7, 6), (3, 2)),
    ),
    "PoissonNLLLoss": (lambda: nn.PoissonNLLLoss(), lambda: (floats(3, 4), positive(3, 4))),
    "GaussianNLLLoss": (
        lambda: nn.GaussianNLLLoss(),
        lambda: (floats(3, 4), floats(3, 4), positive(3, 4)),
    ),
    "HingeEmbeddingLoss": (lambda: nn.HingeEmbeddingLoss(), lambda: (floats(3, 4), signs(3, 4))),
    "MarginRankingLoss": (
        lambda: nn.MarginRankingLoss(0.3),
        lambda: (floats(6), floats(6), signs(6)),
    ),
    "MultiMarginLoss": (lambda: nn.MultiMarginLoss(), lambda: (floats(6, 4), labels(4, 6))),
    "MultiLabelMarginLoss": (
        lambda: nn.MultiLabelMarginLoss(),
        lambda: (floats(2, 4), torch.tensor([[3, 0, -1, 1], [1, -1, 0, 2]])),
    ),
    "SoftMarginLoss": (
        lambda: WithTarget(nn.SoftMarginLoss(), signs(3, 4)),
        lambda: (floats(3, 4),),
    ),
    "CosineEmbeddingLoss": (
        lambda: nn.CosineEmbeddingLoss(0.1),
        lambda: (floats(5, 4), floats(5, 4), signs(5)),
    ),
    "TripletMarginLoss": (
        lambda: nn.TripletMarginLoss(),
        lambda: (floats(5, 4), floats(5, 4), floats(5, 4)),
    ),
}
ACTIVATIONS = [
    "ReLU",
    "ReLU6",
    "LeakyReLU",
    "ELU",
    "SELU",
    "CELU",
    "GELU",
    "SiLU",
    "Mish",
    "Softplus",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Sigmoid",
    "LogSigmoid",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "Hardshrink",
    "Softshrink",
    "Threshold",
]
for activation in ACTIVATIONS:
    arguments = (0.1, 0.5) if activation == "Threshold" else ()
    MODULES[activation] = (
        functools.partial(getattr(nn, activation), *arguments),
        lambda: (floats(3, 5),),
    )


def outputs_and_gradients(module: nn.Module, inputs: tuple[Any, ...]) -> dict[str, Tensor]:
    """Every float tensor that comes out, and the gradients of a fixed mix of them."""
    leaves = [x for x in inputs if isinstance(x, Tensor) and x.is_floating_point()]
    for leaf in leaves:
        leaf.requires_grad_()
    result, _ = torch.utils._pytree.tree_flatten(module(*inputs))
    outputs = [x for x in result if isinstance(x, Tensor) and x.requires_grad]
    found = {f"output {i}": x.detach() for i, x in enumerate(outputs)}
    total = 0
    for x in outputs:
        mix = torch.linspace(-1, 1.5, x.numel()).view(x.shape).to(x.device)
        total = total + (x * mix).sum()
    total.backward()
    found |= {f"gradient of input {i}": x.grad for i, x in enumerate(leaves) if x.grad is not None}
    found |= {f"gradient of {n}": p.grad for n, p in module.named_parameters()}
    found |= {f"buffer {n}": b for n, b in module.named_buffers() if b.is_floating_point()}
    return found


@pytest.mark.parametrize("name", MODULES)
def test_module_and_its_gradients(name: str):
    torch.manual_seed(0)
    make_module, make_inputs = MODULES[name]
    module, inputs = make_module(), make_inputs()
    on_tpu = copy.deepcopy(module).to("tpu")
    moved = tuple(x.to("tpu") if isinstance(x, Tensor) else x for x in inputs)
    want = outputs_and_gradients(module, inputs)
    got = outputs_and_gradients(on_tpu, moved)
    assert got.keys() == want.keys() and len(want) > 1
    for key, value in got.items():
        assert value.is_tpu
        torch.testing.assert_close(
            value.cpu(), want[key], rtol=1e-4, atol=1e-5, msg=lambda text, key=key: f"{key}: {text}"
        )
