"""Tiny random image, video and audio pipelines of Diffusers.

Text encoders and tokenizers cannot be had without a download: prompts are random embeddings.
"""

from typing import Any

import diffusers as hf
import torch
from diffusers.pipelines.ltx2 import LTX2TextConnectors, LTX2Vocoder
from torch import Tensor, nn
from torch.utils._pytree import tree_map

hf.utils.logging.set_verbosity_error()

Outputs = dict[str, Tensor]
STEPS = 2


def run(pipe: Any, **options: Any) -> Any:
    pipe.set_progress_bar_config(disable=True)
    generator = torch.Generator("cpu").manual_seed(0)
    return pipe(num_inference_steps=STEPS, generator=generator, output_type="pt", **options)


def pipeline(kind: type, transformer: Any, vae: Any, **others: Any) -> Any:
    """A pipeline without text encoder: its prompts come embedded."""
    parts = dict(
        scheduler=hf.FlowMatchEulerDiscreteScheduler(),
        text_encoder=None,
        tokenizer=None,
    )
    return kind(transformer=transformer.eval(), vae=vae.eval(), **{**parts, **others})


def qwen_image() -> tuple[Any, dict[str, Any]]:
    transformer = hf.QwenImageTransformer2DModel(
        patch_size=2,
        in_channels=16,
        out_channels=4,
        num_layers=2,
        attention_head_dim=16,
        num_attention_heads=4,
        joint_attention_dim=16,
        guidance_embeds=False,
        axes_dims_rope=(8, 4, 4),
    )
    vae = hf.AutoencoderKLQwenImage(
        base_dim=24,
        z_dim=4,
        dim_mult=[1, 2, 4],
        num_res_blocks=1,
        temperal_downsample=[False, True],
        latents_mean=[0.0] * 4,
        latents_std=[1.0] * 4,
    )
    pipe = pipeline(hf.QwenImagePipeline, transformer, vae)
    return pipe, dict(
        prompt_embeds=torch.randn(1, 8, 16),
        prompt_embeds_mask=torch.ones(1, 8, dtype=torch.long),
        true_cfg_scale=1.0,
        height=32,
        width=32,
    )


def flux() -> tuple[Any, dict[str, Any]]:
    transformer = hf.FluxTransformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=4,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=[4, 4, 8],
    )
    vae = hf.AutoencoderKL(
        sample_size=32,
        in_channels=3,
        out_channels=3,
        block_out_channels=(4,),
        layers_per_block=1,
        latent_channels=1,
        norm_num_groups=1,
        use_quant_conv=False,
        use_post_quant_conv=False,
        shift_factor=0.0609,
        scaling_factor=1.5035,
    )
    pipe = pipeline(hf.FluxPipeline, transformer, vae, text_encoder_2=None, tokenizer_2=None)
    return pipe, dict(
        prompt_embeds=torch.randn(1, 16, 32),
        pooled_prompt_embeds=torch.randn(1, 32),
        height=8,
        width=8,
    )


def flux2() -> tuple[Any, dict[str, Any]]:
    transformer = hf.Flux2Transformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=4,
        joint_attention_dim=16,
        timestep_guidance_channels=256,
        axes_dims_rope=[4, 4, 4, 4],
    )
    vae = hf.AutoencoderKLFlux2(
        sample_size=32,
        in_channels=3,
        out_channels=3,
        down_block_types=("DownEncoderBlock2D",),
        up_block_types=("UpDecoderBlock2D",),
        block_out_channels=(4,),
        layers_per_block=1,
        latent_channels=1,
        norm_num_groups=1,
        use_quant_conv=False,
        use_post_quant_conv=False,
    )
    pipe = pipeline(hf.Flux2Pipeline, transformer, vae)
    return pipe, dict(prompt_embeds=torch.randn(1, 8, 16), height=8, width=8)


def wan() -> tuple[Any, dict[str, Any]]:
    transformer = hf.WanTransformer3DModel(
        patch_size=(1, 2, 2),
        num_attention_heads=2,
        attention_head_dim=12,
        in_channels=16,
        out_channels=16,
        text_dim=32,
        freq_dim=256,
        ffn_dim=32,
        num_layers=2,
        cross_attn_norm=True,
        qk_norm="rms_norm_across_heads",
        rope_max_seq_len=32,
    )
    vae = hf.AutoencoderKLWan(
        base_dim=3,
        z_dim=16,
        dim_mult=[1, 1, 1, 1],
        num_res_blocks=1,
        temperal_downsample=[False, True, True],
    )
    pipe = pipeline(
        hf.WanPipeline, transformer, vae, scheduler=hf.FlowMatchEulerDiscreteScheduler(shift=7.0)
    )
    return pipe, dict(
        prompt_embeds=torch.randn(1, 16, 32),
        negative_prompt_embeds=torch.randn(1, 16, 32),
        height=16,
        width=16,
        num_frames=9,
    )


def ltx() -> tuple[Any, dict[str, Any]]:
    transformer = hf.LTXVideoTransformer3DModel(
        in_channels=8,
        out_channels=8,
        patch_size=1,
        patch_size_t=1,
        num_attention_heads=4,
        attention_head_dim=8,
        cross_attention_dim=32,
        num_layers=1,
        caption_channels=32,
    )
    vae = hf.AutoencoderKLLTXVideo(
        in_channels=3,
        out_channels=3,
        latent_channels=8,
        block_out_channels=(8, 8, 8, 8),
        decoder_block_out_channels=(8, 8, 8, 8),
        layers_per_block=(1,) * 5,
        decoder_layers_per_block=(1,) * 5,
        spatio_temporal_scaling=(True, True, False, False),
        decoder_spatio_temporal_scaling=(True, True, False, False),
        decoder_inject_noise=(False,) * 5,
        upsample_residual=(False,) * 4,
        upsample_factor=(1,) * 4,
        timestep_conditioning=False,
        patch_size=1,
        patch_size_t=1,
        encoder_causal=True,
        decoder_causal=False,
    )
    vae.use_framewise_encoding = vae.use_framewise_decoding = False
    pipe = pipeline(hf.LTXPipeline, transformer, vae)
    return pipe, dict(
        prompt_embeds=torch.randn(1, 16, 32),
        prompt_attention_mask=torch.ones(1, 16),
        negative_prompt_embeds=torch.randn(1, 16, 32),
        negative_prompt_attention_mask=torch.ones(1, 16),
        height=32,
        width=32,
        num_frames=9,
    )


def ltx2() -> tuple[Any, dict[str, Any]]:
    """Video and audio in one pipeline."""
    text_width, text_layers = 16, 2
    transformer = hf.LTX2VideoTransformer3DModel(
        in_channels=4,
        out_channels=4,
        patch_size=1,
        patch_size_t=1,
        num_attention_heads=2,
        attention_head_dim=8,
        cross_attention_dim=16,
        audio_in_channels=4,
        audio_out_channels=4,
        audio_num_attention_heads=2,
        audio_attention_head_dim=4,
        audio_cross_attention_dim=8,
        num_layers=2,
        qk_norm="rms_norm_across_heads",
        caption_channels=text_width,
        rope_double_precision=False,
        rope_type="split",
    )
    connectors = LTX2TextConnectors(
        caption_channels=text_width,
        text_proj_in_factor=text_layers + 1,
        video_connector_num_attention_heads=2,
        video_connector_attention_head_dim=8,
        video_connector_num_layers=1,
        video_connector_num_learnable_registers=None,
        audio_connector_num_attention_heads=2,
        audio_connector_attention_head_dim=8,
        audio_connector_num_layers=1,
        audio_connector_num_learnable_registers=None,
        connector_rope_base_seq_len=32,
        rope_theta=10000.0,
        rope_double_precision=False,
        causal_temporal_positioning=False,
        rope_type="split",
    )
    vae = hf.AutoencoderKLLTX2Video(
        in_channels=3,
        out_channels=3,
        latent_channels=4,
        block_out_channels=(8,),
        decoder_block_out_channels=(8,),
        layers_per_block=(1,),
        decoder_layers_per_block=(1, 1),
        spatio_temporal_scaling=(True,),
        decoder_spatio_temporal_scaling=(True,),
        decoder_inject_noise=(False, False),
        downsample_type=("spatial",),
        upsample_residual=(False,),
        upsample_factor=(1,),
        timestep_conditioning=False,
        patch_size=1,
        patch_size_t=1,
        encoder_causal=True,
        decoder_causal=False,
    )
    vae.use_framewise_encoding = vae.use_framewise_decoding = False
    audio_vae = hf.AutoencoderKLLTX2Audio(
        base_channels=4,
        output_channels=2,
        ch_mult=(1,),
        num_res_blocks=1,
        attn_resolutions=None,
        in_channels=2,
        resolution=32,
        latent_channels=2,
        norm_type="pixel",
        causality_axis="height",
        dropout=0.0,
        mid_block_add_attention=False,
        sample_rate=16000,
        mel_hop_length=160,
        is_causal=True,
        mel_bins=8,
    )
    vocoder = LTX2Vocoder(
        in_channels=16,
        hidden_channels=32,
        out_channels=2,
        upsample_kernel_sizes=[4, 4],
        upsample_factors=[2, 2],
        resnet_kernel_sizes=[3],
        resnet_dilations=[[1, 3, 5]],
        leaky_relu_negative_slope=0.1,
        output_sampling_rate=16000,
    )
    pipe = pipeline(
        hf.LTX2Pipeline,
        transformer,
        vae,
        audio_vae=audio_vae.eval(),
        connectors=connectors.eval(),
        vocoder=vocoder.eval(),
    )
    return pipe, dict(
        prompt_embeds=torch.randn(1, 16, text_width * (text_layers + 1)),
        prompt_attention_mask=torch.ones(1, 16, dtype=torch.long),
        guidance_scale=1.0,
        stg_scale=0.0,
        modality_scale=1.0,
        guidance_rescale=0.0,
        audio_guidance_scale=1.0,
        audio_stg_scale=0.0,
        audio_modality_scale=1.0,
        audio_guidance_rescale=0.0,
        spatio_temporal_guidance_blocks=None,
        use_cross_timestep=False,
        height=32,
        width=32,
        num_frames=5,
        frame_rate=25.0,
    )


PIPELINES = [qwen_image, flux, flux2, wan, ltx, ltx2]


def on_tpu(inputs: Any) -> Any:
    return tree_map(lambda v: v.to("tpu") if isinstance(v, Tensor) else v, inputs)


def tensors_of(output: Any) -> Outputs:
    return {name: value for name, value in output.items() if isinstance(value, Tensor)}


def assert_close(got: Tensor, want: Tensor, name: str) -> None:
    assert got.is_tpu, name
    torch.testing.assert_close(
        got.cpu(), want, rtol=1e-3, atol=1e-3, msg=lambda text: f"{name}: {text}"
    )


class MiniMaxH3(nn.Module):
    """Video and audio; its pipeline is modular and needs a text encoder, so its parts run here."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer = hf.MiniMaxH3Transformer3DModel(
            num_attention_heads=2,
            attention_head_dim=16,
            hidden_size=24,
            num_layers=2,
            num_refiner_layers=2,
            ffn_dim=32,
            in_channels=4,
            audio_in_channels=6,
            patch_size=(1, 2, 2),
            text_dim=8,
            freq_dim=8,
            time_embed_hidden_dim=24,
            time_embed_dim=16,
            rope_freq_dim=2,
        )
        self.vae = hf.AutoencoderKLMiniMaxH3(
            in_channels=3,
            out_channels=3,
            latent_channels=4,
            block_out_channels=(8, 16),
            layers_per_block=1,
            spatial_downsample_factors=(2, 2),
            temporal_downsample_factors=(2, 2),
            norm_num_groups=8,
            decoder_num_layers=2,
            decoder_num_attention_heads=2,
            decoder_attention_head_dim=8,
            decoder_num_register_tokens=2,
            decoder_ffn_mult=2,
            clip_length=17,
            token_drop=3,
            latents_mean=(0.0,) * 4,
            latents_std=(1.0,) * 4,
        )
        self.audio_vae = hf.AutoencoderKLMiniMaxH3Audio(
            encoder_dim=4,
            encoder_rates=(2, 2),
            latent_dim=32,
            latent_channels=8,
            num_attention_heads=2,
            decoder_dim=16,
            decoder_rates=(2, 2),
            decoder_kernel_sizes=(4, 4),
            resblock_kernel_sizes=(3, 7),
            resblock_dilation_sizes=((1, 3), (1, 3)),
            sampling_rate=32000,
            latents_mean=[0.0] * 8,
            latents_std=[1.0] * 8,
        )

    def forward(self, inputs: dict[str, Tensor], video: Tensor, audio: Tensor) -> Outputs:
        moved = self.transformer(**inputs)
        latents = self.vae.encode(video, return_dict=False)[0].mode()
        return {
            "sample": moved.sample,
            "audio_sample": moved.audio_sample,
            "latents": latents,
            "video": self.vae.decode(latents, return_dict=False)[0],
            "audio": self.audio_vae(audio, return_dict=False)[0],
        }


def minimax_h3() -> tuple[nn.Module, tuple[Any, ...]]:
    """The model and what it is called with."""
    model = MiniMaxH3().eval()
    text, audio, video = 4, 6, 8
    count = text + audio + video
    tags = torch.ones(count, dtype=torch.long)
    tags[text : text + audio] = 2
    tags[text + audio :] = 0
    times = torch.zeros(count, dtype=torch.long)
    times[text : text + audio] = 1
    positions = torch.zeros(count, 3)
    positions[:, 0] = torch.arange(count)
    inputs = dict(
        hidden_states=torch.randn(2, video, 16),
        audio_hidden_states=torch.randn(2, audio, 6),
        encoder_hidden_states=torch.randn(2, text, 8),
        timestep=torch.tensor([0.7, 0.3]),
        timestep_indices=times,
        token_tags=tags,
        position_ids=positions,
        video_indices=torch.arange(text + audio, count),
        audio_indices=torch.arange(text, text + audio),
        text_indices=torch.arange(text),
    )
    clip, wave = torch.randn(1, 3, 22, 8, 8), torch.randn(2, 1, 32)
    return model, (inputs, clip, wave)
