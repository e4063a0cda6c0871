"""The loss of a test set against a loop over its sentences, one by one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from components.artifacts.test_sets import LongPair
from components.artifacts.trial import Trial
from components.engines.cross_entropy import FIELDS, Scorer, TestSet, sum_by_segment
from components.train.curves import curve_rows
from models.nmt.sizes import count_parameters, get_shape
from models.nmt.transformer import Transformer

VOCABULARY = 29
LENGTH = 14


@pytest.fixture(scope="module")
def model():
    model = Transformer(get_shape("5k"), VOCABULARY, stack=2)
    model.build()
    model.initialise([3, 4])
    for layer in (model.softmax, model.embedding):  # losses far from uniform
        for weight in layer.trainable_variables:
            weight.assign(weight * 1.7)
    return model


def pairs(rng, count, longest=LENGTH // 2):
    """Sentence pairs of all lengths, both sides different."""
    lengths = rng.integers(1, longest + 1, (count, 2))
    return [[rng.integers(3, VOCABULARY, n) for n in two] for two in lengths]


def packed(sentences, rng, *, long=(), origins=()):
    """Two sentences a row in another order than their numbers."""
    rows = -(-len(sentences) // 2)
    fields = {name: np.zeros((rows, LENGTH), "int32") for name in FIELDS}
    numbers = np.full((rows, 2), -1)
    packed_numbers = [n for n in range(len(sentences) + len(long)) if n not in long]
    order = rng.permutation(len(sentences))
    for place, index in enumerate(order):
        row, segment = divmod(place, 2)
        numbers[row, segment] = packed_numbers[index]
        for side, ids in zip(("source", "target"), sentences[index], strict=True):
            start = int((fields[f"{side}_segments"][row] > 0).sum())
            fields[f"{side}_ids"][row, start : start + len(ids)] = ids
            fields[f"{side}_segments"][row, start : start + len(ids)] = segment + 1
    extra = tuple(LongPair(n, *(np.array(s) for s in long[n])) for n in long)
    return TestSet("en-de", "news", fields, numbers, extra, tuple(origins))


def one_by_one(model, sentences):
    """Nats of each sentence, alone in its row, float64 ``[stack, sentences]``."""
    found = []
    for source, target in sentences:
        source = np.tile(source, (2, 1, 1))
        target = np.tile(target, (2, 1, 1))
        inputs = source, np.ones_like(source), target, np.ones_like(target)
        logits = np.asarray(model(*inputs, training=False), np.float64)[:, 0]
        logits -= logits.max(axis=-1, keepdims=True)
        log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        chosen = np.take_along_axis(log_p, target[:, 0, :, None], axis=-1)
        found.append(-chosen[..., 0].sum(axis=-1))
    return np.stack(found, axis=1)


def test_equal_to_a_loop_over_sentences(model):
    """77 sentences: a whole number of neither rows nor batches; two test sets, one
    with sentences that fit in no row."""
    rng = np.random.default_rng(11)
    first, second = pairs(rng, 77), pairs(rng, 31)
    long = {4: [rng.integers(3, VOCABULARY, n) for n in (40, 23)],
            30: [rng.integers(3, VOCABULARY, n) for n in (5, 71)]}  # fmt: skip
    sets = packed(first, rng), packed(second, rng, long=long)
    scored = Scorer(model).score_all(sets)
    whole = list(second)
    for number in sorted(long):
        whole.insert(number, long[number])
    for losses, sentences in zip(scored, (first, whole), strict=True):
        expected = one_by_one(model, sentences)
        tokens = [len(target) for _, target in sentences]
        assert losses.tokens.tolist() == tokens
        assert losses.nats.dtype == np.float64
        np.testing.assert_allclose(losses.nats, expected, rtol=5e-6)
        truth = expected.sum(axis=1) / sum(tokens)
        np.testing.assert_allclose(losses.loss, truth, rtol=1e-6)
        assert abs(truth[0] - truth[1]) > 0.01


def test_test_sets_of_which_no_sentence_fits_in_a_row(model):
    """Alone and beside one that has rows."""
    rng = np.random.default_rng(21)
    far = [[rng.integers(3, VOCABULARY, n) for n in two] for two in ((20, 9), (6, 31))]
    long_only = packed([], rng, long=dict(enumerate(far)))
    others = pairs(rng, 5)
    for sets in ([long_only], [packed(others, rng), long_only], [long_only, long_only]):
        losses = Scorer(model).score_all(sets)[-1]
        assert losses.tokens.tolist() == [9, 31]
        np.testing.assert_allclose(losses.nats, one_by_one(model, far), rtol=5e-6)


def test_another_batch_is_the_same_loss(model, monkeypatch):
    rng = np.random.default_rng(5)
    sets = packed(pairs(rng, 40), rng), packed(pairs(rng, 9), rng)
    together = Scorer(model).score_all(sets)
    monkeypatch.setattr("components.engines.cross_entropy.BATCH_ROWS", 7)
    alone = [Scorer(model).score(test_set) for test_set in sets]
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_allclose(a.nats, b.nats, rtol=5e-6)
        np.testing.assert_allclose(a.loss, b.loss, rtol=1e-6)


def test_sums_are_in_float64():
    """A million and a small number survive each other."""
    losses = np.array([[[1e8, 0.25, 3.0, 5.0]]], "float32")
    sums, counts = sum_by_segment(losses, np.array([[1, 1, 2, 0]]), 3)
    assert sums.tolist() == [[[1e8 + 0.25, 3.0, 0.0]]]
    assert counts.tolist() == [[2, 1, 0]]


def test_halves_by_original_language_are_rows_of_their_own(model):
    rng = np.random.default_rng(8)
    sentences = pairs(rng, 12)
    origins = ["source", "target", "target", "source", "mixed", "target"] * 2
    test_set = packed(sentences, rng, origins=origins)
    losses = Scorer(model).score(test_set)
    trial = Trial("en-xx", "5k", (("en-de", 0.3), ("en-fr", 0.7)), 1)
    counts = count_parameters(get_shape("5k"), VOCABULARY)
    rows = curve_rows(
        trial, 1, counts, 70, [test_set], [losses], {"en-de": (9, 80), "en-fr": (1, 2)}
    )
    found = {row.origin: row for row in rows}
    assert list(found) == ["mixed", "source", "target"]
    expected = one_by_one(model, sentences)[1]
    tokens = np.array([len(target) for _, target in sentences])
    for origin, row in found.items():
        own = np.array([origin in (name, "mixed") for name in origins])
        assert row.sentence_count == own.sum()
        assert row.token_count == tokens[own].sum()
        assert row.loss == pytest.approx(expected[own].sum() / tokens[own].sum())
    one = dataclasses.replace(test_set, origins=("source",) * 12)
    assert list(one.parts()) == ["source"]
    assert list(dataclasses.replace(test_set, origins=()).parts()) == ["mixed"]


def test_sum_by_segment_worked_example():
    sums, counts = sum_by_segment(
        np.array([[[1.0, 2.0, 4.0, 8.0]]]), np.array([[1, 1, 2, 0]]), 2
    )
    np.testing.assert_array_equal(sums, [[[3.0, 4.0]]])
    np.testing.assert_array_equal(counts, [[2, 1]])
