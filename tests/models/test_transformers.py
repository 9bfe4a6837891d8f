"""Tiny random models of Transformers on the device against the same models on the CPU."""

import copy
from pathlib import Path

import pytest
import torch
import transformers as hf
from tiny_transformers import (
    DECODER,
    DECODERS,
    assert_close,
    bert,
    decoder,
    llama,
    minimax,
    qwen3_moe,
    seeded,
    token_ids,
)


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


def test_a_growing_cache_compiles_for_buckets_of_lengths():
    """The default cache of ``generate`` grows by a token each time."""
    config = decoder(hf.Qwen3Config, max_position_embeddings=512)
    model = seeded(lambda: hf.Qwen3ForCausalLM(config))
    ids = token_ids()[:1, :5]
    options = dict(max_new_tokens=256, min_new_tokens=256, do_sample=False)
    want = model.generate(input_ids=ids, **options)
    on_tpu = copy.deepcopy(model).to("tpu")
    on_tpu.generate(input_ids=ids.to("tpu"), do_sample=False, max_new_tokens=8, min_new_tokens=8)
    torch.tpu.reset_stats()
    got = on_tpu.generate(input_ids=ids.to("tpu"), **options)
    assert got.tolist() == want.tolist()
    stats = torch.tpu.stats()
    assert stats["programs"] <= 60
    assert stats["padded_launches"] > 2000
