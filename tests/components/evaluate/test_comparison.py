"""Differences between trials: the bootstrap, and what a comparison covers."""

from __future__ import annotations

import numpy as np
import pytest

from components.evaluate.comparison import compare, paired_bootstrap
from models.errors import UserError
from tests.components.evaluate import small_sweep

FIRST, SECOND = (trial.id for trial in small_sweep.TRIALS)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """400 pairs of systems whose difference is known: a ratio of sums."""
    rng = np.random.default_rng(7)
    inside = 0
    for k in range(400):
        tokens = rng.integers(3, 40, 250)
        change = 0.03 * tokens + rng.normal(0, 0.3, 250) * np.sqrt(tokens)
        low, high, _ = paired_bootstrap(change, tokens, resamples=400, seed=k)
        inside += low <= 0.03 <= high
    assert 0.92 < inside / 400 < 0.98


def test_pairing_sees_what_independent_samples_cannot():
    """Sentences differ by far more than the systems do."""
    rng = np.random.default_rng(1)
    tokens = rng.integers(5, 30, 500)
    shared = rng.gamma(2, 1.5, 500) * tokens
    other = shared + tokens * (0.02 + rng.normal(0, 0.05, 500))
    low, high, p_value = paired_bootstrap(other - shared, tokens, resamples=999, seed=3)
    assert 0.01 < low < 0.02 < high < 0.03 and p_value == pytest.approx(0.002)
    alone = shared[rng.integers(0, 500, (999, 500))].sum(axis=1) / tokens.sum()
    assert np.ptp(np.quantile(alone, (0.025, 0.975))) > 10 * (high - low)
    same = paired_bootstrap(rng.normal(0, 1, 500), tokens, resamples=999, seed=3)
    assert same[0] < 0 < same[1] and same[2] > 0.05


def test_losses_and_quality_of_every_part(measured):
    found = compare(measured, [FIRST, SECOND], resamples=200, seed=4)
    rows = {(d.task, d.test_set, d.origin, d.metric): d for d in found}
    losses = {key[:3] for key in rows if key[3] == "loss"}
    tests = {(name, o) for name, o in zip(
        ("in_domain", "news", "news", "news"),
        ("mixed", "mixed", "source", "target"), strict=True)}  # fmt: skip
    assert losses == {(task, *one) for task in small_sweep.TASKS for one in tests}
    # Only German was translated by both.
    assert {key[:3] for key in rows if key[3] == "bleu"} == {
        ("en-de", *one) for one in tests
    }
    french = rows["en-fr", "in_domain", "mixed", "loss"]
    assert french.low > 1 and french.p_value < 0.02
    assert french.difference == pytest.approx(french.value - french.baseline_value)
    bleu = rows["en-de", "news", "source", "bleu"]
    assert "bs:200|seed:12345" in bleu.signature and 0 < bleu.p_value <= 1


def test_a_part_of_it_and_what_is_not_there(measured):
    only = compare(measured, [FIRST, SECOND], task="en-de", test_set="news")
    assert {(d.task, d.test_set) for d in only} == {("en-de", "news")}
    with pytest.raises(UserError, match="no sentence losses of nobody; there are"):
        compare(measured, [FIRST, "nobody"])
    with pytest.raises(UserError, match="two trials or more"):
        compare(measured, [FIRST, FIRST])
    with pytest.raises(UserError, match="no losses of en-zh; there are en-de"):
        compare(measured, [FIRST, SECOND], task="en-zh")
