"""BLEURT's loading code against small SavedModels of the published signature."""

from __future__ import annotations

import dataclasses
import io
import json

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from components.evaluate.bleurt import Bleurt
from components.evaluate.config import Quality
from components.evaluate.quality import build_metrics
from components.evaluate.translation import Sentence, Translation
from models.errors import UserError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "##s", "!", "on"]


class Overlap(tf.Module):
    """Share of the candidate's ids that are among the reference's.

    The shape of the inputs is part of the signature, as in published checkpoints.
    """

    def __init__(self, length):
        super().__init__()
        spec = tf.TensorSpec([None, length], tf.int64)
        self.predict = tf.function(self._predict, input_signature=[spec] * 3)

    def _predict(self, input_ids, input_mask, segment_ids):
        is_first = tf.logical_and(segment_ids == 0, input_mask == 1)[:, None]
        is_second = segment_ids == 1
        same = input_ids[:, :, None] == input_ids[:, None]
        found = tf.reduce_any(tf.logical_and(same, is_first), axis=2)
        hits = tf.reduce_sum(tf.cast(tf.logical_and(found, is_second), tf.float32), 1)
        return {"predictions": hits / tf.reduce_sum(tf.cast(is_second, tf.float32), 1)}


def checkpoint(folder, *, length=12, signature_length=12, **config):
    module = Overlap(signature_length)
    tf.saved_model.save(module, str(folder), signatures=module.predict)
    described = {"name": "Overlap-1", "max_seq_length": length, **config}
    (folder / "bleurt_config.json").write_text(json.dumps(described))
    return folder


@pytest.fixture(scope="module")
def word_pieces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert") / "old"
    checkpoint(folder, vocab_file="vocab.txt", do_lower_case=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return folder


@pytest.fixture(scope="module")
def sentence_pieces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spm") / "BLEURT-20-D0"
    checkpoint(
        folder,
        signature_length=None,
        sp_model="sent_piece",
        dynamic_seq_length=True,
        vocab_file=None,
        do_lower_case=None,
    )
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat on a mat"] * 20), model_writer=model,
        vocab_size=16, control_symbols=["[CLS]", "[SEP]"], minloglevel=2,
    )  # fmt: skip
    (folder / "sent_piece.model").write_bytes(model.getvalue())
    (folder / "sent_piece.vocab").write_text("")
    return folder


def test_word_pieces_as_bert_has_them(word_pieces):
    ids, segments = Bleurt(word_pieces).encode("The cats sat!", "cat dog")
    names = [WORDS[i] for i in ids]
    assert names == [
        "[CLS]", "the", "cat", "##s", "sat", "!", "[SEP]", "cat", "[UNK]", "[SEP]"
    ]  # fmt: skip
    assert segments == [0] * 7 + [1] * 3


def test_the_longer_side_is_cut(word_pieces):
    metric = Bleurt(word_pieces)
    ids, segments = metric.encode("the cat sat on the cat", "sat on the cat on")
    # 12 positions less 3: six and five become five and four.
    assert [WORDS[i] for i in ids] == [
        "[CLS]", "the", "cat", "sat", "on", "the", "[SEP]",
        "sat", "on", "the", "cat", "[SEP]",
    ]  # fmt: skip
    assert segments == [0] * 7 + [1] * 5


def test_scores_of_both_kinds_of_checkpoint(word_pieces, sentence_pieces):
    for folder in (word_pieces, sentence_pieces):
        metric = Bleurt(folder)
        pairs = [("the cat", "the cat"), ("the cat", "sat on"), ("cat", "cat on")] * 20
        triples = [("source", *pair) for pair in pairs]
        scores = metric.score_triples(triples)
        np.testing.assert_allclose(scores, np.tile(scores[:3], 20), rtol=1e-6)
        assert scores[0] == pytest.approx(1.0) and scores[1] < scores[2] < 1
    # [SEP] is in both sides: one of three, and two of three.
    np.testing.assert_allclose(
        Bleurt(word_pieces).score_triples(triples[1:3]), [1 / 3, 2 / 3], rtol=1e-6
    )


def test_the_best_reference_counts(word_pieces):
    references = (("the cat", "sat"), ("on",), ("cat", "the"))
    sentences = tuple(
        Sentence("s", own, origin, hypothesis)
        for own, origin, hypothesis in zip(
            references, ("source", "target", "source"), ("sat", "on", ""), strict=True
        )
    )
    translation = Translation("de-en", "x", sentences)
    scores = Bleurt(word_pieces).score(translation)
    assert scores.by_sentence.tolist() == pytest.approx([1, 1, 1])
    worse = tuple(
        dataclasses.replace(one, hypothesis=text)
        for one, text in zip(sentences, ("on", "cat", "the cat"), strict=True)
    )
    scores = Bleurt(word_pieces).score(Translation("de-en", "x", worse))
    assert scores.by_sentence.tolist() == pytest.approx([1 / 2, 1 / 2, 2 / 3])
    assert scores.values["source"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert scores.values["target"] == pytest.approx(1 / 2)
    assert scores.signatures["mixed"] == "model:Overlap-1|refs:max|length:12"


def save_another(folder):
    """A SavedModel of another signature in the place of BLEURT's."""
    module = tf.Module()
    module.run = tf.function(
        lambda words: {"logits": words},
        input_signature=[tf.TensorSpec([None], tf.int64, "words")],
    )
    tf.saved_model.save(module, str(folder), signatures=module.run)


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda f: (f / "bleurt_config.json").unlink(), "expected an unpacked BLEURT"),
        (lambda f: (f / "vocab.txt").unlink(), "vocab.txt: missing"),
        (lambda f: (f / "saved_model.pb").unlink(), "no SavedModel of BLEURT"),
        (
            lambda f: (f / "bleurt_config.json").write_text('{"name": "x"}'),
            "no max_seq_length",
        ),
        (lambda f: (f / "bleurt_config.json").write_text('{"name":'), "not JSON"),
        (lambda f: (f / "vocab.txt").write_text("[SEP]\nthe\n"), r"has no \[CLS\]"),
        (
            lambda f: (f / "saved_model.pb").write_bytes(b"no model"),
            "no SavedModel of BLEURT",
        ),
        (save_another, "a SavedModel from words to logits; BLEURT's is from input_ids"),
    ],
)
def test_a_broken_checkpoint_is_said_and_the_rest_computed(tmp_path, break_it, message):
    folder = checkpoint(tmp_path / "b", vocab_file="vocab.txt", do_lower_case=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    break_it(folder)
    with pytest.raises(UserError, match=message):
        Bleurt(folder)
    config = Quality(metrics=("bleurt", "bleu", "chrf"), bleurt="b")
    metrics, problems = build_metrics(config, tmp_path)
    assert [metric.name for metric in metrics] == ["bleu", "chrf"]
    assert len(problems) == 1 and problems[0].startswith("bleurt is left out: ")
