"""Exported checkpoints compute what the model computes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from components.serve.checkpoint_formats import export_checkpoint
from models.errors import UserError
from models.nmt.sizes import Shape
from models.nmt.transformer import shift_right
from tests.components.serve.random_model import (
    VOCABULARY,
    random_model,
    sentences,
)
from tests.models.nmt.tiny_decoder import pad

EVEN = Shape("even", 2, 2, 12, 3, 5, 20)
UNEVEN = Shape("uneven", 1, 3, 14, 2, 5, 22)


@pytest.fixture
def fields():
    """Source and target with their segments, a sentence a row."""
    sides = []
    for seed in (1, 2):
        ids = pad(sentences(4, seed), 9)
        sides += [ids, (ids > 0).astype(np.int32)]
    return sides


def test_keras_hub(tmp_path, fields):
    import keras_hub

    trained, model = random_model(EVEN)
    export_checkpoint(trained, "keras-hub", tmp_path / "out")
    backbone = keras_hub.models.T5Backbone.from_preset(str(tmp_path / "out"))
    source, source_mask, target, target_mask = fields
    found = backbone(
        {
            "encoder_token_ids": source,
            "encoder_padding_mask": source_mask,
            "decoder_token_ids": np.array(shift_right(target, target_mask)),
            "decoder_padding_mask": target_mask,
        }
    )
    logits = backbone.token_embedding(found["decoder_sequence_output"], reverse=True)
    kept = target_mask > 0
    expected = np.array(model(*fields))
    np.testing.assert_allclose(np.array(logits)[kept], expected[kept], atol=1e-4)


def test_ctranslate2(tmp_path):
    import ctranslate2

    trained, _ = random_model(UNEVEN)
    export_checkpoint(trained, "ctranslate2", tmp_path / "out")
    pieces = trained.vocabulary.pieces
    found = ctranslate2.Translator(str(tmp_path / "out")).translate_batch(
        [[pieces[i] for i in (7, 9, 1)]], beam_size=2, max_decoding_length=5
    )
    assert len(found[0].hypotheses[0]) > 0
    assert (tmp_path / "out" / "vocabulary.model").is_file()


def test_the_safetensors_file_holds_every_weight(tmp_path):
    """`tests/peers` loads it with transformers."""
    trained, _ = random_model(UNEVEN)
    export_checkpoint(trained, "huggingface", tmp_path)
    content = (tmp_path / "model.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert header.pop("__metadata__") == {"format": "pt"}
    sizes = [int(np.prod(one["shape"])) for one in header.values()]
    assert sum(sizes) == sum(array.size for array in trained.weights.values())
    assert len(content) == 8 + length + 4 * sum(sizes)
    begin, end = header["lm_head.weight"]["data_offsets"]
    data = np.frombuffer(content[8 + length :][begin:end], np.float32)
    expected = trained.weights["transformer/softmax/kernel"].T
    np.testing.assert_array_equal(data.reshape(VOCABULARY, -1), expected)
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["num_layers"], config["num_decoder_layers"]) == (1, 3)


def test_what_a_format_cannot_hold_is_refused(tmp_path):
    clipped, _ = random_model(Shape("clipped", 1, 1, 12, 2, 5, 20, "vaswani"))
    with pytest.raises(UserError, match="huggingface: has no block vaswani"):
        export_checkpoint(clipped, "huggingface", tmp_path / "a")
    with pytest.raises(UserError, match="one depth for both sides"):
        export_checkpoint(random_model(UNEVEN)[0], "keras-hub", tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mine.txt").touch()
    with pytest.raises(UserError, match="is not empty"):
        export_checkpoint(clipped, "ctranslate2", tmp_path / "c")
