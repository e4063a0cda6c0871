"""Beam search against everything that can be said, and against two other searches."""

import dataclasses

import keras
import numpy as np
import pytest

from models.nmt.beam_search import SearchOptions
from models.nmt.search_options import END_ID
from tests.models.nmt.tiny_decoder import (
    ODD,
    build,
    every_sentence,
    fast_search,
    likelihood,
    next_token_table,
    slow_search,
)

SOURCES = [[3, 2, 4, 4, 1], [2, 1], [4, 2, 3, 2, 3, 3, 1]]
LIMITS = [4, 5, 5]


@pytest.fixture(scope="module")
def model():
    return build()


@pytest.fixture(scope="module")
def tables(model):
    """Of each source: log-probabilities after every beginning of a sentence."""
    return [next_token_table(model, source, 5) for source in SOURCES]


def assert_same(found, expected):
    assert [ids for ids, _ in found] == [ids for ids, *_ in expected]
    np.testing.assert_allclose(
        [total for _, total in found], [total for _, total, *_ in expected], atol=2e-5
    )


@pytest.mark.parametrize("alpha", [0.0, 0.8])
def test_wide_beam_finds_the_best_of_all_sentences(model, tables, alpha):
    options = SearchOptions(beams=60, nbest=15, length_normalisation=alpha)
    found = fast_search(model, options, SOURCES, [4] * 3)
    for table, hypotheses in zip(tables, found, strict=True):
        assert_same(hypotheses, every_sentence(table, 4, alpha)[:15])


@pytest.mark.parametrize("stopping", ["full", "exact"])
@pytest.mark.parametrize("beams", [1, 2, 3, 7])
def test_equals_its_definition_at_any_width(model, tables, beams, stopping):
    options = SearchOptions(beams=beams, nbest=beams, stopping=stopping)
    found = fast_search(model, options, SOURCES, LIMITS)
    for limit, table, hypotheses in zip(LIMITS, tables, found, strict=True):
        assert_same(hypotheses, slow_search(table, options, limit))


def test_exact_stopping_can_find_what_full_misses(tables):
    """So the test above tells the two apart."""
    scores = []
    for stopping in ("full", "exact"):
        options = SearchOptions(beams=2, stopping=stopping)
        ((ids, total),) = slow_search(tables[1], options, LIMITS[1])
        scores.append(total / (len(ids) + 1))
    assert scores[1] > scores[0] + 0.1


def test_width_one_is_greedy(model, tables):
    found = fast_search(model, SearchOptions(beams=1), SOURCES, LIMITS)
    lengths = []
    for limit, table, hypotheses in zip(LIMITS, tables, found, strict=True):
        ids: tuple[int, ...] = ()
        while len(ids) < limit:
            token = END_ID + int(np.argmax(table[ids][END_ID:]))
            if token == END_ID:
                break
            ids = (*ids, token)
        assert hypotheses[0][0] == ids
        lengths.append(len(ids))
    assert min(lengths) < 4 and max(lengths) == 5, "some end and some do not"


@pytest.mark.parametrize("block", ["t5", "vaswani"])
def test_scores_are_the_likelihoods_of_what_was_found(block):
    """Cached, side by side, padded and reordered; against one teacher-forced row."""
    shape = dataclasses.replace(ODD, block=block)
    # Of 150 ids the search's grid has more than one row.
    model = build(vocabulary=150, seed=1, shape=shape)
    sources = [[17, 140, 3, 1], [99, 1], [5, 6, 7, 8, 9, 10, 128, 1]]
    limits = [8, 5, 7]
    options = SearchOptions(beams=5, nbest=5)
    found = fast_search(model, options, sources, limits)
    lengths = set()
    for source, limit, hypotheses in zip(sources, limits, found, strict=True):
        assert len(hypotheses) == 5
        for ids, total in hypotheses:
            target = ids if len(ids) == limit else (*ids, END_ID)
            lengths.add(len(target))
            assert total == pytest.approx(likelihood(model, source, target), abs=1e-4)
    assert len(lengths) > 2


def test_equals_kerashub_when_nothing_ends():
    from keras_hub import samplers

    vocabulary, beams, steps = 30, 4, 5
    model = build(vocabulary, seed=2)
    source = np.array([[9, 4, 21, 1], [12, 28, 3, 1]], np.int32)

    class NeverEnds(samplers.BeamSampler):
        def compute_probabilities(self, logits):
            probabilities = super().compute_probabilities(logits)
            return probabilities * (np.arange(vocabulary) > END_ID)

    def next_logits(prompt, cache, index):
        rows = keras.ops.repeat(source, beams, axis=0)
        target = prompt[:, 1:]
        logits = model(
            rows, keras.ops.ones_like(rows), target, keras.ops.ones_like(target)
        )
        return keras.ops.take(logits, index - 1, axis=1), None, cache

    sampler = NeverEnds(num_beams=beams, return_all_beams=True)
    prompt = keras.ops.zeros((2, steps + 1), "int32")
    expected, totals = sampler(next=next_logits, prompt=prompt, index=1)
    options = SearchOptions(beams=beams, nbest=beams, min_length=steps)
    found = fast_search(model, options, source.tolist(), [steps] * 2)
    for i, hypotheses in enumerate(found):
        theirs = keras.ops.convert_to_numpy(expected[i])[:, 1:].tolist()
        scores = keras.ops.convert_to_numpy(totals[i])
        assert_same(
            hypotheses, [(tuple(t), s) for t, s in zip(theirs, scores, strict=True)]
        )


def test_prefixes_are_forced_and_counted(model, tables):
    prefixes = np.array([[4, 2], [0, 0], [3, 0]], np.int32)
    options = SearchOptions(beams=30, nbest=4)
    found = fast_search(model, options, SOURCES, [4] * 3, prefixes=prefixes)
    for table, prefix, hypotheses in zip(tables, prefixes, found, strict=True):
        wanted = tuple(prefix[prefix > 0].tolist())
        every = every_sentence(table, 4, 1.0)
        begun = [one for one in every if one[0][: len(wanted)] == wanted]
        assert_same(hypotheses, begun[:4])


def test_minimum_length(model, tables):
    options = SearchOptions(beams=3, nbest=3, min_length=2)
    found = fast_search(model, options, SOURCES, LIMITS)
    for limit, table, hypotheses in zip(LIMITS, tables, found, strict=True):
        assert min(len(ids) for ids, _ in hypotheses) >= 2
        assert_same(hypotheses, slow_search(table, options, limit))


def test_half_precision_keeps_scores_in_float32():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = build(vocabulary=40, seed=5)
    finally:
        keras.config.set_dtype_policy("float32")
    ((ids, total),) = fast_search(model, SearchOptions(), SOURCES[:1], [6])[0]
    target = ids if len(ids) == 6 else (*ids, END_ID)
    assert total == pytest.approx(likelihood(model, SOURCES[0], target), rel=0.02)
    assert total != np.float32(keras.ops.cast(total, "bfloat16"))
