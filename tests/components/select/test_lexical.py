"""IBM Model 1 against its equations, written out with dictionaries."""

from __future__ import annotations

import math
import random
from collections import defaultdict

import numpy as np
import pytest

from components.select import lexical
from components.select.lexical import Lexicon, Words, words_of

PAIRS = [
    ("the house", "das haus"),
    ("the book", "das buch"),
    ("a book", "ein buch"),
    ("a small house", "ein kleines haus"),
    ("the small book", "das kleine buch"),
    ("book", "buch"),
]


def tokens(side: int) -> list[list[str]]:
    return [words_of(pair[side]) for pair in PAIRS]


def by_hand(iterations: int, least: int) -> dict[tuple[str, str], float]:
    """t(target word | source word), by Brown et al. (1993), with dictionaries."""
    sides = []
    for side in (0, 1):
        counts: dict[str, int] = defaultdict(int)
        for sentence in tokens(side):
            for word in sentence:
                counts[word] += 1
        sides.append([[w for w in s if counts[w] >= least] for s in tokens(side)])
    t: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        expected: dict[tuple[str, str], float] = defaultdict(float)
        totals: dict[str, float] = defaultdict(float)
        for source, target in zip(*sides, strict=True):
            for f in target:
                given = ["", *source]
                whole = sum(t[e, f] for e in given)
                for e in given:
                    expected[e, f] += t[e, f] / whole
                    totals[e] += t[e, f] / whole
        t = defaultdict(
            float, {(e, f): c / totals[e] for (e, f), c in expected.items()}
        )
    return t


@pytest.mark.parametrize("cells_together", [3, 1 << 20])
def test_expectation_maximisation_is_that_of_the_equations(monkeypatch, cells_together):
    monkeypatch.setattr(lexical, "_CELLS_TOGETHER", cells_together)
    lexicon = Lexicon(tokens(0), tokens(1), iterations=4)
    expected = by_hand(4, least=2)
    numbers = [{**side.numbers, "": 0} for side in lexicon.words]
    checked = 0
    for (e, f), probability in expected.items():
        if probability < 2e-3:
            continue
        cell = np.array([numbers[0][e]]), np.array([numbers[1][f]])
        assert lexicon.forward.look_up(*cell)[0] == pytest.approx(probability, rel=1e-5)
        checked += 1
    assert checked > 8
    assert expected["house", "haus"] > 0.6 > expected["the", "haus"]


def test_the_score_is_the_mean_log_ratio_of_the_known_words():
    lexicon = Lexicon(tokens(0), tokens(1), iterations=4)
    t, shares = by_hand(4, least=2), lexicon.words[1].shares
    numbers = lexicon.words[1].numbers
    found = lexicon.scores([["the", "house"]], [["haus", "unheard", "buch"]])
    gains, information = [], []
    for f in ("haus", "buch"):
        share = shares[numbers[f]]
        likelihood = 0.9 * sum(t[e, f] for e in ("", "the", "house")) / 3 + 0.1 * share
        gains.append(math.log(likelihood / share))
        information.append(-math.log(share))
    assert gains[0] > 0 > gains[1]
    assert found[0, 0] == pytest.approx(np.mean(gains), rel=1e-5)
    assert found[0, 1] == pytest.approx(information[1] / sum(information))


def test_sentences_without_known_words_score_nothing():
    lexicon = Lexicon(tokens(0), tokens(1), iterations=2)
    found = lexicon.scores([["unheard"], [], ["the"]], [["of"], ["haus"], []])
    assert (found[0] == 0).all()
    assert np.isfinite(found).all()
    empty = Lexicon([["one"]], [["eins"]], iterations=2)  # every word is rare
    assert (empty.scores([["one"]], [["eins"]]) == 0).all()


def test_only_as_many_pairs_are_used_as_memory_allows(monkeypatch):
    rng = random.Random(2)
    sides = [
        [rng.choices([f"{side}{i}" for i in range(30)], k=6) for _ in range(200)]
        for side in "ab"
    ]
    monkeypatch.setattr(lexical, "_MOST_CELLS", 100 * 7 * 7)
    bounded = Lexicon(*sides, iterations=2)
    source, target = bounded._encode(*sides)
    assert lexical._affordable(source.lengths, target.lengths) == 100
    exactly = lexical.train(
        lexical._first(source, 100), lexical._first(target, 100),
        (len(bounded.words[0]), len(bounded.words[1])), 2,
    )  # fmt: skip
    assert (exactly.keys == bounded.forward.keys).all()
    assert (exactly.probabilities == bounded.forward.probabilities).all()


def test_words_are_stems_numbers_and_single_ideographs():
    assert words_of("Die Übersetzungen: 3,14!") == ["die", "überse", "3", "14"]
    assert words_of("我们去了NASA。") == ["我", "们", "去", "了", "nasa"]
    assert words_of("Python将安装3个") == ["python", "将", "安", "装", "3", "个"]
    assert words_of("ภาษา") == list("ภาษา")
    assert words_of("…!?") == []
    assert len(words_of("word " * 500)) == lexical._LONGEST_SENTENCE


def test_the_most_frequent_words_are_known_and_rare_ones_are_not():
    known = Words([["b", "a", "c"], ["b", "a", "d"], ["b"]], most=5)
    assert known.numbers == {"b": 1, "a": 2}
    assert known.shares.tolist() == [0, 3 / 5, 2 / 5]
    assert list(Words([["b", "a"], ["b", "a", "a"]], most=1).numbers) == ["a"]
    encoded = known.encode([["a", "z", "b"], [], ["b"]])
    assert encoded.ids.tolist() == [2, 1, 1]
    assert encoded.lengths.tolist() == [2, 0, 1]
    assert encoded.starts.tolist() == [0, 2, 2]
    assert encoded.total(np.array([1.0, 2.0, 4.0])).tolist() == [3, 0, 4]
