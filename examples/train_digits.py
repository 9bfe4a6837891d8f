"""Trains a small CNN on scikit-learn's handwritten digits (real data) on `tpu`.

Draws the loss curve into a PNG. With --compare-cpu, the same training runs on the CPU from the same
initial weights, and the first losses are compared. Exits with status 1 when a target is missed.
"""

import copy
import time
from pathlib import Path

import matplotlib
import torch
import torch.nn.functional as F
import typer
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from tqdm import tqdm

matplotlib.use("agg")
from matplotlib import pyplot as plt

ACCURACY_TARGET = 0.97
COMPARED_STEPS = 20
LOSS_TOLERANCE = 0.01

console = Console()


def load() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images (N, 1, 8, 8) in 0..1 and labels: for training, then for the test."""
    digits = load_digits()
    images = (digits.images / 16).astype("float32")[:, None]
    parts = train_test_split(
        images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
    )
    train_images, test_images, train_labels, test_labels = map(torch.from_numpy, parts)
    return train_images, train_labels, test_images, test_labels


def make_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def batches_of(count: int, batch_size: int, epochs: int, seed: int) -> list[Tensor]:
    """Index tensors of whole batches, shuffled anew for each epoch; the same ones for a seed."""
    generator = torch.Generator().manual_seed(seed)
    whole = count - count % batch_size
    return [
        batch
        for _ in range(epochs)
        for batch in torch.randperm(count, generator=generator)[:whole].split(batch_size)
    ]


def train(
    model: nn.Module, images: Tensor, labels: Tensor, batches: list[Tensor], device: str
) -> list[float]:
    """Trains the model where it is; the loss of each step."""
    images, labels = images.to(device), labels.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    model.train()
    losses = []
    with tqdm(batches, desc=f"training on {device}", unit="step") as progress:
        for batch in progress:
            batch = batch.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
            if len(losses) % 20 == 0:
                progress.set_postfix(loss=f"{loss.item():.4f}")
    return torch.stack(losses).tolist()


def accuracy_of(model: nn.Module, images: Tensor, labels: Tensor, device: str) -> float:
    model.eval()
    with torch.inference_mode():
        predicted = model(images.to(device)).argmax(-1)
        return (predicted == labels.to(device)).float().mean().item()


def draw(curves: dict[str, list[float]], accuracy: float, path: Path) -> None:
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    styles = [{"linewidth": 2.2, "alpha": 0.8}, {"linewidth": 1, "linestyle": "--"}]
    for (name, losses), style in zip(curves.items(), styles, strict=False):
        axes.plot(range(1, len(losses) + 1), losses, label=name, **style)
    axes.set(xlabel="step", ylabel="cross entropy", yscale="log")
    axes.set_title(f"Digits, small CNN: {accuracy:.1%} of the test images right")
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(
    epochs: int = typer.Option(8, help="Passes over the training images."),
    batch_size: int = typer.Option(64),
    seed: int = typer.Option(0, help="For the initial weights and the order of the images."),
    output: Path = typer.Option(Path("digits"), help="Folder for the picture of the loss curve."),
    compare_cpu: bool = typer.Option(
        False, help=f"Train on the CPU too and compare the first {COMPARED_STEPS} losses."
    ),
) -> None:
    train_images, train_labels, test_images, test_labels = load()
    torch.manual_seed(seed)
    model = make_model()
    twin = copy.deepcopy(model)
    batches = batches_of(len(train_images), batch_size, epochs, seed)

    model.to("tpu")
    torch.tpu.reset_stats()
    start = time.perf_counter()
    curves = {"tpu": train(model, train_images, train_labels, batches, "tpu")}
    seconds = time.perf_counter() - start
    accuracy = accuracy_of(model, test_images, test_labels, "tpu")
    stats = torch.tpu.stats()

    targets = [("test accuracy", f"{accuracy:.1%}", accuracy >= ACCURACY_TARGET)]
    fallbacks = stats["fallbacks"]
    targets.append(
        ("ops that ran on the CPU", ", ".join(sorted(fallbacks)) or "none", not fallbacks)
    )
    if compare_cpu:
        curves["cpu"] = train(twin, train_images, train_labels, batches, "cpu")
        pairs = zip(curves["tpu"][:COMPARED_STEPS], curves["cpu"][:COMPARED_STEPS], strict=True)
        difference = max(abs(a - b) / b for a, b in pairs)
        name = f"largest difference of the first {COMPARED_STEPS} losses from the CPU's"
        targets.append((name, f"{difference:.2%}", difference <= LOSS_TOLERANCE))
    path = output / "loss.png"
    draw(curves, accuracy, path)

    report = Table(title=f"Digits on {torch.tpu.get_device_name()}, eager")
    report.add_column("")
    report.add_column("value", justify="right")
    report.add_column("target", justify="center")
    for name, value, is_met in targets:
        report.add_row(name, value, "[green]met[/]" if is_met else "[bold red]missed[/]")
    report.add_row("steps", str(len(batches)), "")
    report.add_row("training time, compiling included", f"{seconds:.1f} s", "")
    report.add_row("compiles", f"{stats['compiles']} in {stats['compile_seconds']:.1f} s", "")
    report.add_row("loss curve", str(path), "")
    console.print(report)
    if not all(is_met for _, _, is_met in targets):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
