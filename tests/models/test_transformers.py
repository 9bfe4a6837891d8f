"""Tiny random models of Transformers on the device against the same models on the CPU."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from torch import Tensor, nn

VOCABULARY = 128
DECODER = dict(
    vocab_size=VOCABULARY,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=16,
    max_position_embeddings=128,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
)
EXPERTS = dict(num_experts_per_tok=2)
HYBRID = dict(
    layer_types=["linear_attention", "full_attention"],
    linear_num_key_heads=2,
    linear_num_value_heads=4,
    linear_key_head_dim=16,
    linear_value_head_dim=16,
    linear_conv_kernel_dim=4,
)
SLIDING = dict(
    layer_types=["sliding_attention", "full_attention"],
    sliding_window=4,
    global_head_dim=16,
    hidden_size_per_layer_input=0,
    num_kv_shared_layers=0,
)


def decoder(config: type, **changes: Any) -> Any:
    return config(**{**DECODER, **changes})


def llama() -> nn.Module:
    return hf.LlamaForCausalLM(decoder(hf.LlamaConfig))


def qwen3() -> nn.Module:
    return hf.Qwen3ForCausalLM(decoder(hf.Qwen3Config))


def qwen3_moe() -> nn.Module:
    config = decoder(hf.Qwen3MoeConfig, **EXPERTS, moe_intermediate_size=32, num_experts=8)
    return hf.Qwen3MoeForCausalLM(config)


def gpt_oss() -> nn.Module:
    experts = dict(**EXPERTS, intermediate_size=32, num_local_experts=4, sliding_window=4)
    return hf.GptOssForCausalLM(decoder(hf.GptOssConfig, **experts))


def qwen3_5() -> nn.Module:
    return hf.Qwen3_5ForCausalLM(decoder(hf.Qwen3_5TextConfig, **HYBRID))


def qwen3_5_moe() -> nn.Module:
    experts = dict(
        **EXPERTS, num_experts=4, moe_intermediate_size=32, shared_expert_intermediate_size=32
    )
    return hf.Qwen3_5MoeForCausalLM(decoder(hf.Qwen3_5MoeTextConfig, **HYBRID, **experts))


def gemma4() -> nn.Module:
    return hf.Gemma4ForCausalLM(decoder(hf.Gemma4TextConfig, **SLIDING))


def gemma4_moe() -> nn.Module:
    experts = dict(enable_moe_block=True, num_experts=4, top_k_experts=2, moe_intermediate_size=32)
    return hf.Gemma4ForCausalLM(decoder(hf.Gemma4TextConfig, **SLIDING, **experts))


def minimax() -> nn.Module:
    hybrid = dict(layer_types=["linear_attention", "full_attention"], block_size=4)
    config = decoder(hf.MiniMaxConfig, **EXPERTS, **hybrid, num_local_experts=4)
    return hf.MiniMaxForCausalLM(config)


def minimax_m2() -> nn.Module:
    config = decoder(hf.MiniMaxM2Config, **EXPERTS, intermediate_size=32, num_local_experts=4)
    return hf.MiniMaxM2ForCausalLM(config)


def minimax_m3() -> nn.Module:
    config = decoder(hf.MiniMaxM3VLTextConfig, **EXPERTS, num_local_experts=4)
    return hf.MiniMaxM3VLForCausalLM(config)


DECODERS = [
    llama,
    qwen3,
    qwen3_moe,
    gpt_oss,
    qwen3_5,
    qwen3_5_moe,
    gemma4,
    gemma4_moe,
    minimax,
    minimax_m2,
    minimax_m3,
]


def bert() -> nn.Module:
    names = ["vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers"]
    sizes = {name: DECODER[name] for name in names}
    return hf.BertModel(hf.BertConfig(**sizes, num_attention_heads=4))


def seeded(make: Any) -> nn.Module:
    torch.manual_seed(0)
    return make().eval()


def token_ids() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(3, 100, (2, 8), generator=generator)


def assert_close(got: Tensor, want: Tensor) -> None:
    assert got.is_tpu
    torch.testing.assert_close(got.cpu(), want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("make", DECODERS, ids=lambda make: make.__name__)
def test_decoder_gives_the_logits_and_tokens_of_the_cpu(make):
    model = seeded(make)
    on_tpu = copy.deepcopy(model).to("tpu")
    ids = token_ids()
    with torch.no_grad():
        assert_close(on_tpu(input_ids=ids.to("tpu")).logits, model(input_ids=ids).logits)
    for cache in ({}, {"cache_implementation": "static", "disable_compile": True}):
        if cache and make is minimax:
            continue  # has no static cache on any device
        options = dict(max_new_tokens=3, do_sample=False, output_logits=True, **cache)
        options["return_dict_in_generate"] = True
        want = model.generate(input_ids=ids, **options)
        got = on_tpu.generate(input_ids=ids.to("tpu"), **options)
        assert got.sequences.tolist() == want.sequences.tolist(), cache
        for ours, theirs in zip(got.logits, want.logits, strict=True):
            assert_close(ours, theirs)


def test_encoder_with_a_padded_batch():
    model = seeded(bert)
    on_tpu = copy.deepcopy(model).to("tpu")
    ids = token_ids()
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    with torch.no_grad():
        want = model(input_ids=ids, attention_mask=mask)
        got = on_tpu(input_ids=ids.to("tpu"), attention_mask=mask.to("tpu"))
    assert_close(got.last_hidden_state, want.last_hidden_state)
    assert_close(got.pooler_output, want.pooler_output)


def test_second_batch_of_the_same_shape_compiles_nothing():
    model = seeded(bert).to("tpu")
    with torch.no_grad():
        model(input_ids=token_ids().to("tpu")).last_hidden_state.cpu()
        compiles = torch.tpu.stats()["programs"]
        model(input_ids=token_ids().flip(0).contiguous().to("tpu")).last_hidden_state.cpu()
    assert torch.tpu.stats()["programs"] == compiles


def test_prompts_padded_on_the_left():
    model = seeded(llama)
    on_tpu = copy.deepcopy(model).to("tpu")
    ids = token_ids()
    ids[0, :3] = DECODER["pad_token_id"]
    options = dict(attention_mask=(ids != 0).long(), max_new_tokens=3, do_sample=False)
    want = model.generate(input_ids=ids, **options)
    assert on_tpu.generate(input_ids=ids, **options).tolist() == want.tolist()


def test_sampled_tokens_follow_the_seed():
    model = seeded(llama).to("tpu")
    options = dict(max_new_tokens=4, do_sample=True, temperature=0.9, top_k=20, top_p=0.95)
    runs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        runs.append(model.generate(input_ids=token_ids().to("tpu"), **options).tolist())
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("make", [llama, qwen3_moe], ids=lambda make: make.__name__)
def test_saved_model_comes_back_on_the_device(make, tmp_path: Path):
    model = seeded(make)
    on_tpu = copy.deepcopy(model).to("tpu")
    on_tpu.save_pretrained(tmp_path)
    for options in ({}, {"dtype": torch.bfloat16}):
        loaded = type(model).from_pretrained(tmp_path, device_map="tpu", **options)
        assert loaded.device.type == "tpu"
        want = model.to(options.get("dtype", torch.float32)).state_dict()
        got = loaded.state_dict()
        assert got.keys() == want.keys()
        for name, value in got.items():
            assert value.is_tpu and torch.equal(value.cpu(), want[name]), name


def test_tied_weights_stay_tied(tmp_path: Path):
    torch.manual_seed(0)
    model = hf.LlamaForCausalLM(decoder(hf.LlamaConfig, tie_word_embeddings=True)).eval()
    on_tpu = copy.deepcopy(model).to("tpu")
    assert on_tpu.lm_head.weight is on_tpu.model.embed_tokens.weight
    on_tpu.save_pretrained(tmp_path)
    loaded = hf.LlamaForCausalLM.from_pretrained(tmp_path, device_map="tpu").eval()
    assert loaded.lm_head.weight is loaded.model.embed_tokens.weight
    ids = token_ids()
    with torch.no_grad():
        assert_close(loaded(input_ids=ids.to("tpu")).logits, model(input_ids=ids).logits)
        loaded.model.embed_tokens.weight.zero_()
    assert loaded.lm_head.weight.count_nonzero().item() == 0


@pytest.mark.parametrize("make", [llama, qwen3_moe], ids=lambda make: make.__name__)
def test_gradients_equal_those_of_the_cpu(make):
    model = seeded(make).train()
    on_tpu = copy.deepcopy(model).to("tpu")
    ids = token_ids()
    want = model(input_ids=ids, labels=ids).loss
    got = on_tpu(input_ids=ids.to("tpu"), labels=ids.to("tpu")).loss
    want.backward()
    got.backward()
    assert_close(got.detach(), want.detach())
    wanted = dict(model.named_parameters())
    for name, parameter in on_tpu.named_parameters():
        if wanted[name].grad is None:
            assert parameter.grad is None, name
        else:
            assert_close(parameter.grad, wanted[name].grad)


@pytest.mark.parametrize("make", DECODERS, ids=lambda make: make.__name__)
def test_compiled_decoder_gives_the_logits_of_the_cpu(make):
    torch._dynamo.reset()
    model = seeded(make)
    compiled = torch.compile(copy.deepcopy(model).to("tpu"))
    ids = token_ids()
    with torch.no_grad():
        assert_close(compiled(input_ids=ids.to("tpu")).logits, model(input_ids=ids).logits)
        programs = torch.tpu.stats()["programs"]
        again = compiled(input_ids=ids.flip(0).to("tpu")).logits
        assert torch.tpu.stats()["programs"] == programs
        assert_close(again, model(input_ids=ids.flip(0)).logits)


@pytest.mark.parametrize("make", [llama, qwen3_moe], ids=lambda make: make.__name__)
def test_compiled_training_follows_the_cpu(make):
    torch._dynamo.reset()
    model = seeded(make).train()
    on_tpu = copy.deepcopy(model).to("tpu")
    compiled = torch.compile(on_tpu)
    ids = token_ids()
    losses = {}
    for name, module, run in (("cpu", model, model), ("tpu", on_tpu, compiled)):
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
        losses[name] = []
        for _ in range(20):
            loss = run(input_ids=ids.to(module.device), labels=ids.to(module.device)).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses[name].append(loss.item())
    assert losses["tpu"] == pytest.approx(losses["cpu"], rel=1e-3)


def test_compiled_generation_with_a_static_cache():
    torch._dynamo.reset()
    model = seeded(llama)
    on_tpu = copy.deepcopy(model).to("tpu")
    ids = token_ids()
    options = dict(max_new_tokens=8, do_sample=False, cache_implementation="static")
    want = model.generate(input_ids=ids, disable_compile=True, **options)
    on_tpu.forward = torch.compile(on_tpu.forward)
    got = on_tpu.generate(input_ids=ids.to("tpu"), disable_compile=True, **options)
    assert got.tolist() == want.tolist()
    programs = torch.tpu.stats()["programs"]
    on_tpu.generate(input_ids=ids.flip(0).to("tpu"), disable_compile=True, **options)
    assert torch.tpu.stats()["programs"] == programs
