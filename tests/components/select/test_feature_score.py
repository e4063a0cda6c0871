"""What the feature score learns from: folds, features and a logistic regression."""

from __future__ import annotations

import numpy as np
import pytest

from components.select import feature_score
from components.select.feature_score import NAMES, features
from components.select.lexical import Lexicon, words_of
from tests.components.select.noisy_text import clean_texts


def test_no_pair_is_scored_by_words_that_were_counted_in_it():
    sources, targets = clean_texts()
    trained = feature_score.train(sources, targets, ("en", "de"), iterations=3, seed=1)
    before = trained.scores(sources[:40], targets[:40])
    folds = feature_score.folds_of(sources)
    first = int(np.flatnonzero(folds[:40] == 0)[0])
    # Other targets of its own fold change how no pair of the fold is counted.
    changed = [t if folds[i] else t[::-1] for i, t in enumerate(targets)]
    other = feature_score.train(sources, changed, ("en", "de"), iterations=3, seed=1)
    pair = words_of(sources[first]), words_of(targets[first])
    one, two = (
        model.lexicons[0].scores([pair[0]], [pair[1]]) for model in (trained, other)
    )
    np.testing.assert_array_equal(one, two)
    assert (trained.lexicons[1].forward.keys.size) != 0
    assert np.isfinite(before).all()


def test_the_regression_is_where_its_gradient_is_nothing():
    rng = np.random.default_rng(5)
    good = rng.random(500) < 0.3
    seen = rng.normal(size=(500, len(NAMES)))
    seen[:, 2] += 1.5 * good
    seen[:, 4] = 7.0  # tells nothing and varies not at all
    mean, scale, weights, bias = feature_score._fit(seen, good)
    x = (seen - mean) / scale
    guess = 1 / (1 + np.exp(-(x @ weights + bias)))
    importance = np.where(good, 0.5 / good.mean(), 0.5 / (~good).mean())
    slope = x.T @ (importance * (guess - good)) + weights
    assert np.abs(slope).max() < 1e-6
    assert abs((importance * (guess - good)).sum()) < 1e-6
    assert weights[2] > 5 * np.abs(np.delete(weights, 2)).max()
    assert weights[4] == 0


def test_features_are_what_they_say():
    sources, targets = clean_texts()
    words = [[words_of(text) for text in side] for side in (sources, targets)]
    lexicon = Lexicon(*words, iterations=3)
    texts = ["the `x` is 12 pages"] * 3, ["the `x` is 12 pages", "<b>kurz", "x"]
    found = features(*texts, ("en", "de"), lexicon)
    named = [dict(zip(NAMES, row, strict=True)) for row in found]
    assert [row["copied_words"] for row in named] == [1, 0, 1]
    assert [row["mostly_copied"] for row in named] == [1, 0, 1]
    assert named[0]["symbols_differ"] == 0
    assert named[1]["symbols_differ"] == pytest.approx(np.log1p(4))  # ` ` < >
    assert named[2]["share_of_symbols_differs"] == pytest.approx(2 / 3)
    assert named[1]["characters"] == pytest.approx(np.log(9 / 21))
    assert named[1]["characters_squared"] == pytest.approx(np.log(9 / 21) ** 2)
    assert named[2]["words"] == pytest.approx(np.log(3 / 7))
    assert np.isfinite(found).all()


def test_too_few_pairs_teach_nothing():
    sources, targets = clean_texts(12)
    with pytest.raises(ValueError, match="12 pairs are too few"):
        feature_score.train(sources, targets, ("en", "de"), iterations=2, seed=0)
