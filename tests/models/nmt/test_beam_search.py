"""Beam search against everything that can be said, and against two other searches."""

import dataclasses

import keras
import numpy as np
import pytest

from models.nmt.search_options import END_ID, SearchOptions
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
        [score for _, score in found], [one[-1] for one in expected], atol=2e-5
    )


@pytest.mark.parametrize("alpha", [0.0, 0.8])
def test_a_wide_beam_finds_the_best_of_all_sentences(model, tables, alpha):
    options = SearchOptions(beams=120, nbest=15, length_normalisation=alpha)
    found = fast_search(model, options, SOURCES, [4] * 3)
    for table, hypotheses in zip(tables, found, strict=True):
        assert_same(hypotheses, every_sentence(table, 4, alpha)[:15])


@pytest.mark.parametrize("beams", [1, 2, 3, 7])
def test_equals_its_definition_at_any_width(model, tables, beams):
    options = SearchOptions(beams=beams, nbest=beams)
    found = fast_search(model, options, SOURCES, LIMITS)
    for limit, table, hypotheses in zip(LIMITS, tables, found, strict=True):
        assert_same(hypotheses, slow_search(table, options, limit))


def test_width_one_is_greedy(model, tables):
    found = fast_search(model, SearchOptions(beams=1), SOURCES, LIMITS)
    lengths = []
    for limit, table, hypotheses in zip(LIMITS, tables, found, strict=True):
        ids: tuple[int, ...] = ()
        while len(ids) < limit and (token := int(np.argmax(table[ids]))) != END_ID:
            ids = (*ids, token)
        assert hypotheses[0][0] == ids
        lengths.append(len(ids))
    assert min(lengths) < 4 and max(lengths) == 5, "some end and some do not"


@pytest.mark.parametrize("block", ["t5", "vaswani"])
def test_scores_are_the_likelihoods_of_what_was_found(block):
    """Cached, side by side, padded and reordered; against one teacher-forced row."""
    shape = dataclasses.replace(ODD, block=block)
    model = build(vocabulary=150, seed=1, shape=shape)
    sources = [[17, 140, 3, 1], [99, 1], [5, 6, 7, 8, 9, 10, 128, 1]]
    limits = [8, 5, 7]
    options = SearchOptions(beams=5, nbest=5)
    found = fast_search(model, options, sources, limits)
    lengths = set()
    for source, limit, hypotheses in zip(sources, limits, found, strict=True):
        assert len(hypotheses) == 5
        for ids, score in hypotheses:
            target = ids if len(ids) == limit else (*ids, END_ID)
            lengths.add(len(target))
            expected = likelihood(model, source, target) / len(target)
            assert score == pytest.approx(expected, abs=1e-4)
    assert len(lengths) > 2


def test_prefixes_are_forced_and_count_in_the_length_only(model, tables):
    prefixes = np.array([[4, 2], [0, 0], [3, 0]], np.int32)
    options = SearchOptions(beams=100, nbest=4)
    found = fast_search(model, options, SOURCES, [4] * 3, prefixes=prefixes)
    for table, padded, hypotheses in zip(tables, prefixes, found, strict=True):
        prefix = tuple(padded[padded > 0].tolist())
        given = sum(table[prefix[:n]][t] for n, t in enumerate(prefix))
        expected = [
            (ids, (total - given) / (len(ids) + 1))
            for ids, total, _ in every_sentence(table, 4, 1.0)
            if ids[: len(prefix)] == prefix
        ]
        expected.sort(key=lambda one: -one[1])
        assert_same(hypotheses, expected[:4])


@pytest.mark.usefixtures("bfloat16")
def test_half_precision_keeps_scores_in_float32():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = build(vocabulary=40, seed=5)
    finally:
        keras.config.set_dtype_policy("float32")
    ((ids, score),) = fast_search(model, SearchOptions(), SOURCES[:1], [6])[0]
    target = ids if len(ids) == 6 else (*ids, END_ID)
    expected = likelihood(model, SOURCES[0], target) / len(target)
    assert score == pytest.approx(expected, rel=0.02)
    assert score != np.float32(keras.ops.cast(score, "bfloat16"))
