"""The Hugging Face checkpoint, loaded by transformers."""

import numpy as np
import pytest

from components.serve.checkpoint_formats import export_checkpoint
from models.nmt.sizes import Shape
from models.nmt.transformer import shift_right
from tests.components.serve.random_model import random_model, sentences
from tests.models.nmt.tiny_decoder import pad

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.mark.parametrize(
    "shape",
    [Shape("even", 2, 2, 12, 3, 5, 20), Shape("uneven", 1, 3, 14, 2, 5, 22)],
    ids=lambda shape: shape.name,
)
def test_the_same_logits(tmp_path, shape):
    trained, model = random_model(shape)
    export_checkpoint(trained, "huggingface", tmp_path)
    theirs = transformers.T5ForConditionalGeneration.from_pretrained(str(tmp_path))
    fields = []
    for seed in (1, 2):
        ids = pad(sentences(4, seed), 9)
        fields += [ids, (ids > 0).astype(np.int32)]
    source, source_mask, target, target_mask = fields
    with torch.inference_mode():
        found = theirs.eval()(
            input_ids=torch.from_numpy(source).long(),
            attention_mask=torch.from_numpy(source_mask),
            decoder_input_ids=torch.tensor(
                np.array(shift_right(target, target_mask))
            ).long(),
            decoder_attention_mask=torch.from_numpy(target_mask),
        ).logits.numpy()
    kept = target_mask > 0
    expected = np.array(model(*fields))
    np.testing.assert_allclose(found[kept], expected[kept], atol=1e-4)
