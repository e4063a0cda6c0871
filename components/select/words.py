"""Sentences as numbers of words, the way the lexical scores see them."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

# Scripts that are written without spaces give one word a character: Thai to Khmer,
# kana, ideographs (of the supplementary planes too).
_UNSPACED = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    r"\U00020000-\U0003ffff]"
)
_WORD = re.compile(rf"({_UNSPACED}+)|\d+|(?:(?!{_UNSPACED})[^\W\d_])+")
_STEM = 6  # letters of a word that count: inflections of one word are one word
_LONGEST = 60  # words of a sentence that count: cells grow with the product
_RARE = 2  # a word of one sentence tells nothing of another


def words_of(text: str) -> list[str]:
    """The words of a sentence, without case and endings.

    Example:
      >>> words_of("Die kleineren Häuser, 12!")
      ['die', 'kleine', 'häuser', '12']
      >>> words_of("一12个ab")
      ['一', '12', '个', 'ab']
    """
    found: list[str] = []
    for match in _WORD.finditer(text.casefold()):
        word = match[0]
        if match[1] is None or len(word) == 1:
            found.append(word[:_STEM])
        else:
            found += list(word)
    return found[:_LONGEST]


@dataclasses.dataclass(frozen=True, eq=False)
class Ragged:
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
        found = np.array([0, *(-n for n, _ in known)], np.float64)
        self.shares = found / max(1.0, found.sum())

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
