"""Tiny models of Transformers and Diffusers under torch.compile, against the same on the CPU."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import tiny_diffusers
import tiny_transformers
import torch
import transformers as hf
from tiny_transformers import DECODERS, bert, llama, minimax, qwen3_moe, seeded, token_ids
from torch import nn


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


def programs() -> int:
    return torch.tpu.stats()["programs"]


def allows_no_graph_breaks(model: nn.Module) -> bool:
    return bool(model._can_compile_fullgraph)


@pytest.mark.parametrize("make", [*DECODERS, bert], ids=lambda make: make.__name__)
def test_forward(make: Callable[[], nn.Module]):
    model = seeded(make)
    compiled = torch.compile(
        copy.deepcopy(model).to("tpu"), fullgraph=allows_no_graph_breaks(model)
    )
    ids = token_ids()
    with torch.no_grad():
        tiny_transformers.assert_close(
            compiled(input_ids=ids.to("tpu"))[0], model(input_ids=ids)[0]
        )
        before = programs()
        again = compiled(input_ids=ids.flip(0).to("tpu"))[0]
        assert programs() == before
        tiny_transformers.assert_close(again, model(input_ids=ids.flip(0))[0])


@pytest.mark.parametrize(
    "make", [m for m in DECODERS if m is not minimax], ids=lambda make: make.__name__
)
def test_generation_with_a_static_cache(make: Callable[[], nn.Module]):
    """Transformers compiles the decode step by itself; minimax has no static cache anywhere."""
    model = seeded(make)
    on_tpu = copy.deepcopy(model).to("tpu")
    ids = token_ids()
    options: dict[str, Any] = dict(max_new_tokens=8, do_sample=False, cache_implementation="static")
    want = model.generate(input_ids=ids, disable_compile=True, **options)
    options["compile_config"] = hf.CompileConfig(
        fullgraph=allows_no_graph_breaks(model), dynamic=False, mode="default"
    )
    got = on_tpu.generate(input_ids=ids.to("tpu"), **options)
    assert got.tolist() == want.tolist()
    before = programs()
    on_tpu.generate(input_ids=ids.flip(0).to("tpu"), **options)
    assert programs() == before


def test_a_decode_of_64_tokens_is_two_graphs():
    model = seeded(llama)
    on_tpu = copy.deepcopy(model).to("tpu")
    ids = token_ids()
    options = dict(max_new_tokens=64, do_sample=False, cache_implementation="static")
    options["disable_compile"] = True  # not once more: the forward below is compiled
    want = model.generate(input_ids=ids, **options)
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    on_tpu.forward = torch.compile(on_tpu.forward, dynamic=False)
    got = on_tpu.generate(input_ids=ids.to("tpu"), **options)
    assert got.tolist() == want.tolist()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] - graphs <= 2
    before = programs()
    on_tpu.generate(input_ids=ids.flip(0).to("tpu"), **options)
    assert programs() == before


def test_a_decode_step_copies_no_cache():
    model = seeded(llama).to("tpu")
    cache = hf.StaticCache(config=model.config, max_cache_len=4096)
    step = torch.compile(model, dynamic=False)
    token = torch.ones(1, 1, dtype=torch.long, device="tpu")
    with torch.no_grad():
        for _ in range(2):
            step(input_ids=token, past_key_values=cache)
        torch.tpu.synchronize()
        torch.tpu.reset_peak_memory_stats()
        held = torch.tpu.memory_allocated()
        step(input_ids=token, past_key_values=cache)
    assert torch.tpu.max_memory_allocated() - held < cache.layers[0].keys.nbytes


def test_layers_that_are_alike_are_compiled_once():
    def compiled_programs(layers: int) -> int:
        torch._dynamo.reset()
        torch.manual_seed(0)
        config = tiny_transformers.decoder(hf.LlamaConfig, num_hidden_layers=layers)
        model = hf.LlamaForCausalLM(config).eval()
        on_tpu = copy.deepcopy(model).to("tpu")
        for layer in on_tpu.model.layers:
            layer.compile(fullgraph=True)
        ids = token_ids()
        before = programs()
        with torch.no_grad():
            got = on_tpu(input_ids=ids.to("tpu"), use_cache=False).logits
            tiny_transformers.assert_close(got, model(input_ids=ids, use_cache=False).logits)
        return programs() - before

    compiled_programs(1)
    assert compiled_programs(6) == 0


def test_repeated_blocks_of_a_diffusers_model():
    torch.manual_seed(0)
    pipe, options = tiny_diffusers.qwen_image()
    with torch.no_grad():
        want = tiny_diffusers.tensors_of(tiny_diffusers.run(pipe, **options))
        pipe.to("tpu")
        pipe.transformer.compile_repeated_blocks(fullgraph=True)
        got = tiny_diffusers.tensors_of(tiny_diffusers.run(pipe, **tiny_diffusers.on_tpu(options)))
    for name in want:
        tiny_diffusers.assert_close(got[name], want[name], name)
    assert torch.tpu.compiler.last().name.startswith("inference graph")


def resnet() -> nn.Module:
    config = hf.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=5
    )
    return hf.ResNetForImageClassification(config)


def vit() -> nn.Module:
    sizes = dict(image_size=16, patch_size=4, hidden_size=32, intermediate_size=64)
    config = hf.ViTConfig(**sizes, num_hidden_layers=2, num_attention_heads=2, num_labels=5)
    return hf.ViTForImageClassification(config)


def training_batch(make: Callable[[], nn.Module], device: str) -> dict[str, torch.Tensor]:
    if make in DECODERS:
        return dict(input_ids=token_ids().to(device), labels=token_ids().to(device))
    generator = torch.Generator().manual_seed(2)
    images = torch.randn(4, 3, 16, 16, generator=generator).to(device)
    return dict(pixel_values=images, labels=torch.arange(4, device=device))


def train(module: nn.Module, batch: dict[str, torch.Tensor], how: str) -> list[float]:
    """Losses of 20 steps. `how`: "eager"; "parts", the model and the optimizer compiled each by
    itself; "whole", the step as one function."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    run, update = module, optimizer.step
    if how == "parts":
        run, update = torch.compile(module), torch.compile(optimizer.step)

    def step() -> torch.Tensor:
        loss = run(**batch).loss
        loss.backward()
        update()
        optimizer.zero_grad()
        return loss.detach()

    if how == "whole":
        step = torch.compile(step)
    losses = []
    for i in range(20):
        before = programs()
        losses.append(step().item())
        assert i < 2 or how == "eager" or programs() == before
    return losses


@pytest.mark.parametrize("how", ["parts", "whole"])
@pytest.mark.parametrize("make", [llama, qwen3_moe, resnet, vit], ids=lambda make: make.__name__)
def test_training_follows_the_cpu(make: Callable[[], nn.Module], how: str):
    model = seeded(make).train()
    on_tpu = copy.deepcopy(model).to("tpu")
    want = train(model, training_batch(make, "cpu"), "eager")
    got = train(on_tpu, training_batch(make, "tpu"), how)
    assert got == pytest.approx(want, rel=1e-3)
    assert want[-1] < want[0]


def test_sampling_at_another_temperature_makes_no_program():
    model = seeded(llama).to("tpu")

    @torch.compile
    def sample(ids: torch.Tensor, temperature: float) -> torch.Tensor:
        logits = model(input_ids=ids).logits[:, -1] / temperature
        return torch.multinomial(torch.softmax(logits, -1), 1)

    ids = token_ids().to("tpu")
    with torch.no_grad():
        for temperature in (0.5, 0.7):  # Dynamo makes a number symbolic when it has changed once
            sample(ids, temperature)
        before = programs()
        for temperature in (0.9, 1.3, 2.0):
            sample(ids, temperature)
    assert programs() == before


@pytest.mark.parametrize("make", tiny_diffusers.PIPELINES, ids=lambda make: make.__name__)
def test_pipeline(make: Callable[[], tuple[Any, dict[str, Any]]]):
    torch.manual_seed(0)
    pipe, options = make()
    with torch.no_grad():
        want = tiny_diffusers.tensors_of(tiny_diffusers.run(pipe, **options))
        pipe.to("tpu")
        options = tiny_diffusers.on_tpu(options)
        pipe.transformer.compile(fullgraph=True)
        pipe.vae.decode = torch.compile(pipe.vae.decode)
        got = tiny_diffusers.tensors_of(tiny_diffusers.run(pipe, **options))
        for name in want:
            tiny_diffusers.assert_close(got[name], want[name], name)
        tiny_diffusers.run(pipe, **options)  # from here on the scheduler is copied on the device
        before = programs()
        tiny_diffusers.run(pipe, **options)
        assert programs() == before


def test_parts_of_minimax_h3():
    torch.manual_seed(0)
    model, inputs = tiny_diffusers.minimax_h3()
    with torch.no_grad():
        want = model(*inputs)
        on_tpu = copy.deepcopy(model).to("tpu")
        on_tpu.transformer.compile(fullgraph=True)
        on_tpu.vae.decoder.compile()
        on_tpu.audio_vae.compile()
        got = on_tpu(*tiny_diffusers.on_tpu(inputs))
        for name in want:
            tiny_diffusers.assert_close(got[name], want[name], name)
        before = programs()
        on_tpu(*tiny_diffusers.on_tpu(inputs))
        assert programs() == before
