"""Our weights as a CTranslate2 model.

CTranslate2 (https://opennmt.net/CTranslate2) decodes on CPUs and GPUs. Its
Transformer has the options of both of our blocks but one: it does not clip logits
(`Shape.logit_clip`), see `components.serve.translator`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import Activation, LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import (
    TransformerDecoderSpec,
    TransformerEncoderSpec,
)

from models.nmt.sizes import RELATIVE_MAX_DISTANCE, Shape

Weights = Mapping[str, np.ndarray]
POSITIONS = 4096  # longest sentence with sinusoids; relative positions have no end
NORM_EPSILON = 1e-6


def save_model(
    folder: Path, shape: Shape, weights: Weights, pieces: Sequence[str]
) -> None:
    """Writes a CTranslate2 model in float32.

    Args:
      folder: An existing folder, which gets ``model.bin``, ``config.json`` and
        ``shared_vocabulary.json``.
      shape: The model's shape.
      weights: Path of each variable of `models.nmt.transformer.Transformer` -> array.
      pieces: The vocabulary by id; padding first, then the end of sentence and the
        unknown piece. Sentences end with the end of sentence.
    """
    arrays = {path.partition("/")[2]: array for path, array in weights.items()}
    t5 = shape.block == "t5"
    options = {
        "activation": Activation.GELUTanh if t5 else Activation.RELU,
        "ffn_glu": t5,
        "rms_norm": t5,
        "relative_attention_bias": t5,
        "head_dim": shape.head_dim,
    }
    encoder = TransformerEncoderSpec(shape.enc_layers, shape.heads, **options)
    decoder = TransformerDecoderSpec(shape.dec_layers, shape.heads, **options)
    _set_side(encoder, "encoder", arrays, shape)
    _set_side(decoder, "decoder", arrays, shape)
    encoder.embeddings[0].weight = arrays["embedding/table"]
    decoder.embeddings.weight = arrays.get(
        "target_embedding/table", arrays["embedding/table"]
    )
    _set_linear(decoder.projection, arrays, "softmax")
    spec = TransformerSpec(encoder, decoder)
    spec.config.bos_token = spec.config.decoder_start_token = pieces[0]
    spec.config.eos_token, spec.config.unk_token = pieces[1], pieces[2]
    spec.config.layer_norm_epsilon = NORM_EPSILON
    spec.register_source_vocabulary(list(pieces))
    spec.register_target_vocabulary(list(pieces))
    spec.validate()
    spec.optimize()
    spec.save(str(folder))


def _set_side(
    spec: TransformerEncoderSpec | TransformerDecoderSpec,
    side: str,
    arrays: Weights,
    shape: Shape,
) -> None:
    """Sets all weights of the encoder or the decoder but the tables."""
    spec.scale_embeddings = False
    if shape.block == "vaswani":
        spec.position_encodings.encodings = _sinusoids(shape.d_model)
    _set_norm(spec.layer_norm, arrays, f"{side}_norm")
    for i, layer in enumerate(spec.layer):
        name = f"{side}_{i}"
        _set_attention(layer.self_attention, arrays, f"{name}/attention", shape)
        _set_norm(layer.self_attention.layer_norm, arrays, f"{name}/attention_norm")
        if shape.block == "t5":
            layer.self_attention.relative_attention_bias = arrays[f"{side}_bias/table"]
            layer.self_attention.relative_attention_max_distance = np.int32(
                RELATIVE_MAX_DISTANCE
            )
        if side == "decoder":
            _set_attention(layer.attention, arrays, f"{name}/cross_attention", shape)
            _set_norm(layer.attention.layer_norm, arrays, f"{name}/cross_norm")
        _set_norm(layer.ffn.layer_norm, arrays, f"{name}/feedforward_norm")
        _set_linear(layer.ffn.linear_1, arrays, f"{name}/feedforward/down")
        if shape.block == "t5":
            _set_linear(layer.ffn.linear_0, arrays, f"{name}/feedforward/gate")
            _set_linear(layer.ffn.linear_0_noact, arrays, f"{name}/feedforward/up")
        else:
            _set_linear(layer.ffn.linear_0, arrays, f"{name}/feedforward/up")


def _set_attention(
    spec: MultiHeadAttentionSpec, arrays: Weights, name: str, shape: Shape
) -> None:
    """Self-attention has query, key and value in one matrix, else key and value."""
    if shape.block == "t5":
        spec.queries_scale = 1.0  # the default is head_dim ** -0.5
    query, *memory = (f"{name}/{part}" for part in ("query", "key", "value"))
    if len(spec.linear) == 2:
        _set_linear(spec.linear[0], arrays, query, *memory)
    else:
        _set_linear(spec.linear[0], arrays, query)
        _set_linear(spec.linear[1], arrays, *memory)
    _set_linear(spec.linear[-1], arrays, f"{name}/output")


def _set_linear(spec: LinearSpec, arrays: Weights, *names: str) -> None:
    """CTranslate2's matrices are outputs x inputs."""
    kernels = [arrays[f"{name}/kernel"].T for name in names]
    spec.weight = np.ascontiguousarray(np.concatenate(kernels))
    if f"{names[0]}/bias" in arrays:
        spec.bias = np.concatenate([arrays[f"{name}/bias"] for name in names])


def _set_norm(spec: LayerNormSpec, arrays: Weights, name: str) -> None:
    spec.gamma = arrays[f"{name}/scale"]
    if f"{name}/shift" in arrays:
        spec.beta = arrays[f"{name}/shift"]


def _sinusoids(d: int) -> np.ndarray:
    """`models.nmt.layers.sinusoids` of all positions, float32 ``[POSITIONS, d]``."""
    half = (d + 1) // 2
    wavelengths = 10_000.0 ** (np.arange(half) / max(half - 1, 1))
    positions = np.arange(POSITIONS, dtype=np.float32)
    angles = positions[:, None] / wavelengths.astype(np.float32)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)[:, :d]
