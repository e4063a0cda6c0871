"""How well the words of two sentences explain each other: IBM Model 1.

Brown et al. (1993), section 4.2: every word ``f`` of one side comes from a word
``e`` of the other, or from the empty word, with probability ``t(f | e)`` that does
not depend on the positions. Expectation maximisation finds ``t``; where it starts
does not matter, as the likelihood is concave.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

# Scripts that are written without spaces give one word a character: Thai to Khmer,
# kana, ideographs (of the supplementary planes too).
_UNSPACED = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    r"\U00020000-\U0003ffff]"
)
_WORD = re.compile(rf"({_UNSPACED}+)|\d+|(?:(?!{_UNSPACED})[^\W\d_])+")
_STEM = 6  # letters of a word that count: inflections of one word are one word
_LONGEST_SENTENCE = 60  # words of a sentence that count: cells grow with the product
_RARE = 2  # a word of one sentence tells nothing of another
_MOST_WORDS = 40_000
# Pairs of positions that one table is made of: 40 bytes each while it is made.
_MOST_CELLS = 8_000_000
_CELLS_TOGETHER = 1 << 20
_LEAST_PROBABILITY = 1e-3  # smaller ones say nothing and are most of the table
_UNRELATED = 0.1  # share of the words of a translation that come from nowhere


def words_of(text: str) -> list[str]:
    """The words of a sentence, without case and endings.

    Example:
      >>> words_of("Die kleineren Häuser, 12!")
      ['die', 'kleine', 'häuser', '12']
      >>> words_of("一12个ab")
      ['一', '12', '个', 'ab']
    """
    words: list[str] = []
    for match in _WORD.finditer(text.casefold()):
        word = match[0]
        if match[1] is None or len(word) == 1:
            words.append(word[:_STEM])
        else:
            words += list(word)
    return words[:_LONGEST_SENTENCE]


class Ragged(NamedTuple):
    """Numbers of the known words of ``n`` sentences.

    Attributes:
      ids: int32 [sum of lengths], sentence after sentence.
      lengths: int64 [n].
    """

    ids: np.ndarray
    lengths: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """Where each sentence begins in ``ids``, int64 [n]."""
        return np.cumsum(self.lengths) - self.lengths

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sums of one value a word over each sentence, float64 [n]."""
        rows = np.repeat(np.arange(len(self.lengths)), self.lengths)
        return np.bincount(rows, values, minlength=len(self.lengths))


class Words:
    """The words of one language that are known.

    Args:
      sentences: Sentences as words.
      most: Words at most: the most frequent ones.

    Attributes:
      numbers: Word -> its number, from 1; 0 is the empty word.
      shares: float64 [1 + words], share of each among the known; 0 for number 0.
    """

    def __init__(self, sentences: Iterable[Sequence[str]], most: int):
        counts = Counter(itertools.chain.from_iterable(sentences))
        known = [(-n, word) for word, n in counts.items() if n >= _RARE]
        known = sorted(known)[:most]
        self.numbers = {word: i for i, (_, word) in enumerate(known, start=1)}
        counted = np.array([0, *(-n for n, _ in known)], np.float64)
        self.shares = counted / max(1.0, counted.sum())

    def __len__(self) -> int:
        """Known words, the empty one included."""
        return len(self.shares)

    def encode(self, sentences: Sequence[Sequence[str]]) -> Ragged:
        """Numbers of the words of sentences; unknown words leave no trace."""
        number = self.numbers.get
        ids = [[i for i in map(number, words) if i] for words in sentences]
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        flat = np.fromiter(itertools.chain.from_iterable(ids), np.int32, lengths.sum())
        return Ragged(flat, lengths)


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """``t(produced | given)`` where it is not tiny.

    Attributes:
      keys: int64 [entries], rising: ``given * produced words + produced``.
      probabilities: float32 [entries].
      words: Words of the produced side, the empty one included.
    """

    keys: np.ndarray
    probabilities: np.ndarray
    words: int

    def look_up(self, given: np.ndarray, produced: np.ndarray) -> np.ndarray:
        """Probabilities, float32, of pairs of words, int [...] both."""
        if not len(self.keys):
            return np.zeros(given.shape, np.float32)
        keys = given.astype(np.int64) * self.words + produced
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.probabilities[at], 0)


class Lexicon:
    """Model 1 in both directions, trained on sentence pairs.

    Args:
      sources, targets: Sentences as words. Only so many of the first pairs are used
        as the memory for it, some hundred megabytes, allows.
      iterations: Of expectation maximisation.
    """

    def __init__(
        self,
        sources: Sequence[Sequence[str]],
        targets: Sequence[Sequence[str]],
        iterations: int,
    ):
        self.words = Words(sources, _MOST_WORDS), Words(targets, _MOST_WORDS)
        source, target = self._encode(sources, targets)
        count = _affordable(source.lengths, target.lengths)
        source, target = _first(source, count), _first(target, count)
        sizes = len(self.words[0]), len(self.words[1])
        self.forward = train(source, target, sizes, iterations)
        self.backward = train(target, source, sizes[::-1], iterations)

    def scores(
        self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
    ) -> np.ndarray:
        """How far each side of ``n`` pairs is explained by the other.

        Returns:
          float64 [n, 4]: for the target, then for the source: the mean over its
          known words of log p(word | other side) / p(word), and the share of its
          information that the other side makes no likelier.
        """
        source, target = self._encode(sources, targets)
        there = explained(self.forward, source, target, self.words[1].shares)
        back = explained(self.backward, target, source, self.words[0].shares)
        return np.concatenate([there, back], axis=1)

    def _encode(
        self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
    ) -> tuple[Ragged, Ragged]:
        return self.words[0].encode(sources), self.words[1].encode(targets)


def train(
    given: Ragged, produced: Ragged, sizes: tuple[int, int], iterations: int
) -> Table:
    """Expectation maximisation from equal probabilities.

    Args:
      given, produced: The two sides of ``n`` pairs.
      sizes: Words of each side, the empty one included.
      iterations: How often to go through the pairs.

    Returns:
      The table, without the probabilities below .001.
    """
    before, repeats = _cells(given, produced)
    keys = before.astype(np.int64) * sizes[1]
    keys += np.repeat(produced.ids, repeats)
    keys, slots = np.unique(keys, return_inverse=True)
    slots = slots.astype(np.int32)
    givens = keys // sizes[1]
    probabilities = np.ones(len(keys))
    bounds = _bounds(repeats)
    for _ in range(iterations):
        counts = np.zeros(len(keys))
        for first, last in bounds:
            block = repeats[first:last]
            start = int(repeats[:first].sum())
            cells = slots[start : start + int(block.sum())]
            parts = probabilities[cells]
            sums = np.add.reduceat(parts, np.cumsum(block) - block)
            parts /= np.repeat(sums, block)
            counts += np.bincount(cells, parts, minlength=len(keys))
        totals = np.bincount(givens, counts, minlength=sizes[0])
        probabilities = counts / totals[givens]
    likely = probabilities >= _LEAST_PROBABILITY
    return Table(keys[likely], probabilities[likely].astype(np.float32), sizes[1])


def explained(
    table: Table, given: Ragged, produced: Ragged, shares: np.ndarray
) -> np.ndarray:
    """Two columns of `Lexicon.scores`, for the ``produced`` side.

    Args:
      table: ``t(produced | given)``.
      given, produced: The two sides of ``n`` pairs.
      shares: p(word) of each produced word.

    Returns:
      float64 [n, 2]; zeros for a sentence without known words.
    """
    before, repeats = _cells(given, produced)
    parts = table.look_up(before, np.repeat(produced.ids, repeats))
    expected = shares[produced.ids]
    sums = np.zeros(0)
    if len(repeats):
        sums = np.add.reduceat(parts, np.cumsum(repeats) - repeats, dtype=np.float64)
    likelihoods = (1 - _UNRELATED) * sums / repeats + _UNRELATED * expected
    gains = np.log(likelihoods / expected)
    information = -np.log(expected)
    known = np.maximum(produced.lengths, 1)
    whole = np.maximum(produced.total(information), 1e-9)
    lost = produced.total(np.where(gains <= 0, information, 0))
    return np.stack([produced.total(gains) / known, lost / whole], axis=1)


def _cells(given: Ragged, produced: Ragged) -> tuple[np.ndarray, np.ndarray]:
    """The words that may have produced each produced word.

    Returns:
      Given words of every pair of positions, int32 [cells], the empty word first;
      and how many there are for each produced word, int64 [produced words].
    """
    lengths = np.repeat(given.lengths, produced.lengths)
    starts = np.repeat(given.starts, produced.lengths)
    repeats = lengths + 1
    within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    at = np.repeat(starts, repeats) + within - 1
    ids = np.append(given.ids, 0)  # a given side without words has the empty one
    return np.where(within > 0, ids[at], 0).astype(np.int32), repeats


def _bounds(repeats: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of produced words with about a million cells each."""
    blocks = np.cumsum(repeats) // _CELLS_TOGETHER
    changes = np.flatnonzero(np.diff(blocks)) + 1
    edges = [0, *changes.tolist(), len(repeats)]
    return [(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if b > a]


def _affordable(source_lengths: np.ndarray, target_lengths: np.ndarray) -> int:
    """How many of the first pairs have no more cells than memory is meant for."""
    cells = (source_lengths + 1) * (target_lengths + 1)
    return int(np.searchsorted(np.cumsum(cells), _MOST_CELLS, side="right"))


def _first(side: Ragged, count: int) -> Ragged:
    lengths = side.lengths[:count]
    return Ragged(side.ids[: lengths.sum()], lengths)
