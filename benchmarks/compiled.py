"""What torch.compile costs: a call, and the first call by number of layers.

    python benchmarks/compiled.py [--layers 4 8 16 32]

Caches are off, so that compile times are real. Times are the least of several runs; compare within
one run only.
"""

import argparse
import copy
import os
import time
import timeit

os.environ["TORCH_TPU_DISK_CACHE"] = "0"

import torch
import transformers as hf
from torch import nn


def microseconds(f, number: int = 2000) -> float:
    return min(timeit.repeat(f, number=number, repeat=7)) / number * 1e6


def call_overhead() -> None:
    x = torch.ones(8, 8, device="tpu")
    compiled = torch.compile(torch.add)
    compiled(x, x)
    eager, graph = microseconds(lambda: torch.add(x, x)), microseconds(lambda: compiled(x, x))
    print(f"8x8 add: eager {eager:.1f} us, compiled {graph:.1f} us, {graph - eager:.1f} us more")


def llama(layers: int) -> nn.Module:
    sizes = dict(vocab_size=128, hidden_size=64, intermediate_size=128, head_dim=16)
    heads = dict(num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128)
    return hf.LlamaForCausalLM(hf.LlamaConfig(**sizes, **heads, num_hidden_layers=layers)).eval()


def first_call(model: nn.Module, ids: torch.Tensor) -> tuple[float, float, int]:
    """Seconds, those of them in XLA, and how many programs were compiled."""
    before = torch.tpu.stats()
    start = time.perf_counter()
    model(input_ids=ids, use_cache=False).logits.cpu()
    seconds = time.perf_counter() - start
    after = torch.tpu.stats()
    in_xla = after["compile_seconds"] - before["compile_seconds"]
    return seconds, in_xla, after["programs"] - before["programs"]


def compile_times(layers: list[int]) -> None:
    ids = torch.arange(16, device="tpu").view(2, 8)
    print("layers | whole graph: s, of them in XLA, programs | each layer by itself: the same")
    for count in [1, *layers]:  # the first one warms everything up
        torch.tpu.reset_stats()
        model = llama(count).to("tpu")
        with torch.no_grad():
            model(input_ids=ids, use_cache=False)  # eager programs are not what is measured
            torch._dynamo.reset()
            whole = first_call(torch.compile(model), ids)
            torch._dynamo.reset()
            by_layer = copy.deepcopy(model)
            for layer in by_layer.model.layers:
                layer.compile()
            regional = first_call(by_layer, ids)
        texts = [f"{s:.2f}, {xla:.2f}, {programs}" for s, xla, programs in (whole, regional)]
        print(f"{count} | {texts[0]} | {texts[1]}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, nargs="*", default=[4, 8, 16, 32])
    arguments = parser.parse_args()
    call_overhead()
    compile_times(arguments.layers)
