"""Tiny random models of Transformers."""

from typing import Any

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
