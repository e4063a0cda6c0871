"""Samples follow the distribution that was asked for."""

import keras
import numpy as np
import pytest

from models.nmt.beam_search import SearchOptions
from models.nmt.sampling import choose
from tests.models.nmt.tiny_decoder import (
    build,
    fast_search,
    likelihood,
    next_token_table,
)

LOGITS = np.array([0.3, -2.0, 1.1, 2.0, -0.4, 0.9], np.float32)


def frequencies(options):
    """How often each token is chosen when the chance runs through [0, 1)."""
    uniform = (np.arange(4000, dtype=np.float32) + 0.5) / 4000
    logits = np.broadcast_to(LOGITS, (4000, 6))
    chosen = keras.ops.convert_to_numpy(choose(options, logits, uniform))
    return np.bincount(chosen, minlength=6) / 4000


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_temperature(temperature):
    expected = softmax(LOGITS / temperature)
    found = frequencies(SearchOptions(temperature=temperature))
    np.testing.assert_allclose(found, expected, atol=5e-4)


def test_top_k_keeps_the_most_probable():
    expected = softmax(np.where(np.isin(np.arange(6), [3, 2, 5]), LOGITS, -np.inf))
    found = frequencies(SearchOptions(temperature=1.0, top_k=3))
    np.testing.assert_allclose(found, expected, atol=5e-4)


def test_top_p_keeps_the_smallest_set_that_reaches_it():
    order = np.argsort(-LOGITS)
    reached = np.cumsum(softmax(LOGITS)[order])
    kept = order[: int(np.searchsorted(reached, 0.75)) + 1]
    assert 1 < len(kept) < 5
    expected = softmax(np.where(np.isin(np.arange(6), kept), LOGITS, -np.inf))
    found = frequencies(SearchOptions(temperature=1.0, top_p=0.75))
    np.testing.assert_allclose(found, expected, atol=5e-4)


def test_the_largest_chance_never_chooses_what_was_dropped():
    uniform = np.array([np.nextafter(np.float32(1), np.float32(0))])
    options = SearchOptions(temperature=0.7, top_p=0.6)
    (chosen,) = keras.ops.convert_to_numpy(choose(options, LOGITS[None], uniform))
    assert chosen in (2, 3)


def test_first_tokens_follow_the_model_and_scores_are_the_models():
    """Samples of one sentence, whose chances run through [0, 1) at the first step."""
    model, source, count = build(), [3, 2, 4, 1], 200
    rng = np.random.default_rng(5)
    uniforms = rng.random((1, count, 4), np.float32)
    uniforms[0, :, 0] = (np.arange(count) + 0.5) / count
    options = SearchOptions(temperature=1.0, nbest=count)
    (found,) = fast_search(model, options, [source], [3], uniforms=uniforms)
    table = next_token_table(model, source, 3)
    assert len(found) == count
    firsts = np.bincount([ids[0] if ids else 1 for ids, _ in found], minlength=5)
    wanted = np.exp(table[()])
    wanted[0] = 0
    np.testing.assert_allclose(firsts / count, wanted / wanted.sum(), atol=0.02)
    for ids, total in found[::20]:
        target = ids if len(ids) == 3 else (*ids, 1)
        assert total == pytest.approx(likelihood(model, source, target), abs=1e-4)
