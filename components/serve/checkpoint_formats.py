"""Our weights as checkpoints of other libraries.

The T5 block is that of T5 1.1 with a softmax table of its own, so that
``transformers.T5ForConditionalGeneration`` and ``keras_hub.models.T5Backbone`` compute
the same logits. Neither has the block of Vaswani et al.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from components.artifacts.token_index import VOCABULARY
from components.serve.trained import Trained
from models.errors import UserError
from models.nmt.sizes import RELATIVE_BUCKETS, RELATIVE_MAX_DISTANCE, Shape

# Our names within a layer -> Hugging Face's, in encoder and decoder.
_PROJECTIONS = {"query": "q", "key": "k", "value": "v", "output": "o"}
_FEEDFORWARD = {"gate": "wi_0", "up": "wi_1", "down": "wo"}


def export_checkpoint(trained: Trained, format: str, out: Path) -> None:
    """Writes a model and its vocabulary to a new folder.

    Args:
      trained: The model.
      format: ``ctranslate2``, ``huggingface`` or ``keras-hub``.
      out: The folder; it is made.

    Raises:
      UserError: The folder holds something, or the format cannot hold the model.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"--out {out}: is not empty; name a new folder")
    if format != "ctranslate2" and trained.shape.block != "t5":
        raise UserError(
            f"--format {format}: has no block {trained.shape.block}, which "
            f"{trained.name} is made of; choose ctranslate2 or saved-model"
        )
    out.mkdir(parents=True, exist_ok=True)
    if format == "ctranslate2":
        from components.serve.ctranslate2_model import save_model

        save_model(out, trained.shape, trained.weights, trained.vocabulary.pieces)
    elif format == "huggingface":
        _save_hugging_face(trained, out)
    else:
        _save_keras_hub(trained, out)
    (out / VOCABULARY).write_bytes(trained.vocabulary.serialised)


def _save_hugging_face(trained: Trained, out: Path) -> None:
    shape = trained.shape
    config = {
        "architectures": ["T5ForConditionalGeneration"],
        "model_type": "t5",
        "vocab_size": trained.vocabulary.size,
        "d_model": shape.d_model,
        "d_kv": shape.head_dim,
        "d_ff": shape.ff,
        "num_layers": shape.enc_layers,
        "num_decoder_layers": shape.dec_layers,
        "num_heads": shape.heads,
        "relative_attention_num_buckets": RELATIVE_BUCKETS,
        "relative_attention_max_distance": RELATIVE_MAX_DISTANCE,
        "feed_forward_proj": "gated-gelu",
        "layer_norm_epsilon": 1e-6,
        "tie_word_embeddings": False,
        "is_encoder_decoder": True,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
        "torch_dtype": "float32",
    }
    text = json.dumps(config, indent=1)
    (out / "config.json").write_text(text + "\n", encoding="utf-8")
    _save_safetensors(out / "model.safetensors", dict(hugging_face_weights(trained)))


def hugging_face_weights(trained: Trained) -> Iterator[tuple[str, np.ndarray]]:
    """Name in ``T5ForConditionalGeneration`` -> float32 array.

    PyTorch's matrices are outputs x inputs, ours inputs x outputs.
    """
    arrays = {path.partition("/")[2]: array for path, array in trained.weights.items()}
    yield "shared.weight", arrays["embedding/table"]
    yield "lm_head.weight", arrays["softmax/kernel"].T
    for side, layers in _sides(trained.shape).items():
        bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        yield bias, arrays[f"{side}_bias/table"]
        yield f"{side}.final_layer_norm.weight", arrays[f"{side}_norm/scale"]
        parts = [("attention", "attention", "SelfAttention")]
        if side == "decoder":
            parts.append(("cross_attention", "cross", "EncDecAttention"))
        for i in range(layers):
            own, block = f"{side}_{i}", f"{side}.block.{i}.layer"
            for place, (attention, norm, name) in enumerate(parts):
                yield (
                    f"{block}.{place}.layer_norm.weight",
                    arrays[f"{own}/{norm}_norm/scale"],
                )
                for ours, theirs in _PROJECTIONS.items():
                    kernel = arrays[f"{own}/{attention}/{ours}/kernel"]
                    yield f"{block}.{place}.{name}.{theirs}.weight", kernel.T
            place = len(parts)
            scale = arrays[f"{own}/feedforward_norm/scale"]
            yield f"{block}.{place}.layer_norm.weight", scale
            for ours, theirs in _FEEDFORWARD.items():
                kernel = arrays[f"{own}/feedforward/{ours}/kernel"]
                yield f"{block}.{place}.DenseReluDense.{theirs}.weight", kernel.T


def _sides(shape: Shape) -> dict[str, int]:
    return {"encoder": shape.enc_layers, "decoder": shape.dec_layers}


def _save_safetensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes float32 arrays in the format of https://github.com/huggingface/safetensors.

    Eight bytes with the length of a JSON header, the header, the arrays.
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + 4 * array.size
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array, "<f4").tobytes())


def _save_keras_hub(trained: Trained, out: Path) -> None:
    """A preset of KerasHub."""
    from components.engines.tensorflow_start import start_tensorflow

    shape = trained.shape
    if shape.enc_layers != shape.dec_layers:
        raise UserError(
            f"--format keras-hub: T5Backbone has one depth for both sides; "
            f"{trained.name} has {shape.enc_layers} encoder and {shape.dec_layers} "
            "decoder layers; choose huggingface"
        )
    start_tensorflow()
    import keras
    import keras_hub

    backbone = keras_hub.models.T5Backbone(
        vocabulary_size=trained.vocabulary.size,
        num_layers=shape.enc_layers,
        num_heads=shape.heads,
        hidden_dim=shape.d_model,
        intermediate_dim=shape.ff,
        key_value_dim=shape.head_dim,
        dropout=0.0,
        activation=keras.saving.get_registered_object("keras_hub>gelu_approximate"),
        use_gated_activation=True,
        tie_embedding_weights=False,
    )
    for variable, array in zip(
        backbone.weights, keras_hub_weights(trained), strict=True
    ):
        variable.assign(array)
    backbone.save_to_preset(str(out))


def keras_hub_weights(trained: Trained) -> Iterator[np.ndarray]:
    """The weights in the order of ``T5Backbone.weights``."""
    arrays = {path.partition("/")[2]: array for path, array in trained.weights.items()}
    yield arrays["embedding/table"]
    yield arrays["softmax/kernel"]
    for side, layers in _sides(trained.shape).items():
        yield arrays[f"{side}_bias/table"]
        attentions = {"attention": "attention_norm"}
        if side == "decoder":
            attentions["cross_attention"] = "cross_norm"
        for i in range(layers):
            layer = f"{side}_{i}"
            for attention, norm in attentions.items():
                for name in _PROJECTIONS:
                    yield arrays[f"{layer}/{attention}/{name}/kernel"]
                yield arrays[f"{layer}/{norm}/scale"]
            for name in _FEEDFORWARD:
                yield arrays[f"{layer}/feedforward/{name}/kernel"]
            yield arrays[f"{layer}/feedforward_norm/scale"]
        yield arrays[f"{side}_norm/scale"]
