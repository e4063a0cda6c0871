"""What the cheap score learns from: corruption, folds and a logistic regression."""

from __future__ import annotations

import random

import numpy as np
import pytest

from components.select import baseline, corruption
from components.select.features import NAMES, features
from components.select.lexical import Lexicon
from components.select.words import words_of
from tests.components.select.noisy_text import pairs


def clean(count: int = 300) -> tuple[list[str], list[str]]:
    rows = [row for row in pairs("en-de", 2 * count, seed=3) if row[2] == "clean"]
    return [row[0] for row in rows[:count]], [row[1] for row in rows[:count]]


def test_misaligned_targets_are_all_there_and_none_is_where_it_was():
    _, targets = clean()
    targets = list(dict.fromkeys(targets))
    moved = corruption.misaligned(targets, np.random.default_rng(0))
    assert sorted(moved) == sorted(targets)
    assert all(a != b for a, b in zip(moved, targets, strict=True))
    sizes = np.array([len(text) for text in targets])
    apart = np.abs(sizes - [len(text) for text in moved]).mean()
    shuffled = np.abs(sizes - np.random.default_rng(1).permutation(sizes)).mean()
    assert apart < shuffled / 2
    assert corruption.misaligned(["a", "bcd"], np.random.default_rng(1)) == ["bcd", "a"]


@pytest.mark.parametrize("gap", [" ", ""])
def test_rewritten_targets_have_some_words_of_the_other(gap):
    rng = random.Random(4)
    own, other = (
        [gap.join(rng.choices(letters, k=12)) for _ in range(400)]
        for letters in ("abcdef", "uvwxyz")
    )
    found = corruption.rewritten(own, other, np.random.default_rng(0))
    assert all(a != b for a, b in zip(found, own, strict=True))
    sizes = np.array([[sum(c in s for c in text) for s in ("abcdef", "uvwxyz")]
                      for text in found])  # fmt: skip
    kept, added = sizes[:, 0] / 12, sizes[:, 1] / 12
    assert kept.min() >= 1 / 3 - 0.05 and added.max() <= 2 / 3 + 0.05
    assert 0.6 < kept.mean() < 0.72 and 0.28 < added.mean() < 0.4
    assert np.std(kept + added) > 0.15  # longer and shorter
    short = corruption.rewritten(["x"] * 50, ["y"] * 50, np.random.default_rng(2))
    assert all(short)


def test_markup_is_lost_where_there_is_some():
    rng = np.random.default_rng(0)
    sources = ["use `x`", "plain", "<b>bold</b>", "`"]
    targets = ["nimm `x`", "schlicht", "<b>fett</b>", "`"]
    kept, found = corruption.without_marks(sources, targets, rng)
    assert kept == ["use `x`", "<b>bold</b>"]
    assert found[0] == "nimm x"
    assert found[1] != targets[2] and set(found[1]) < set(targets[2])


def test_no_pair_is_scored_by_words_that_were_counted_in_it():
    sources, targets = clean()
    trained = baseline.train(sources, targets, ("en", "de"), iterations=3, seed=1)
    before = trained.scores(sources[:40], targets[:40])
    folds = baseline.folds_of(sources)
    first = int(np.flatnonzero(folds[:40] == 0)[0])
    # Other targets of its own fold change how no pair of the fold is counted.
    changed = [t if folds[i] else t[::-1] for i, t in enumerate(targets)]
    other = baseline.train(sources, changed, ("en", "de"), iterations=3, seed=1)
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
    mean, scale, weights, bias = baseline._fit(seen, good)
    x = (seen - mean) / scale
    guess = 1 / (1 + np.exp(-(x @ weights + bias)))
    importance = np.where(good, 0.5 / good.mean(), 0.5 / (~good).mean())
    slope = x.T @ (importance * (guess - good)) + weights
    assert np.abs(slope).max() < 1e-6
    assert abs((importance * (guess - good)).sum()) < 1e-6
    assert weights[2] > 5 * np.abs(np.delete(weights, 2)).max()
    assert weights[4] == 0


def test_features_are_what_they_say():
    sources, targets = clean()
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
    sources, targets = clean(12)
    with pytest.raises(ValueError, match="12 pairs are too few"):
        baseline.train(sources, targets, ("en", "de"), iterations=2, seed=0)
