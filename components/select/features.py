"""What a pair of sentences looks like, in numbers that need no neural model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from components.ingest.cleaning import alignment
from components.ingest.cleaning.pairs import Pairs
from components.select.corruption import MARKS
from components.select.lexical import Lexicon
from components.select.words import words_of

_COPIED = 0.8
_ADDED = 2  # so that short sentences may differ more
LEXICAL = (
    "target_explained",
    "target_unexplained",
    "source_explained",
    "source_unexplained",
)
COPIES = ("copied_words", "mostly_copied", "copied_letters")
# With its square, a ratio may be usual at any value; that of words beside that of
# characters tells where a word is missing from one where a word is long.
LENGTHS = ("characters", "characters_squared", "words", "words_squared")
SYMBOLS = ("symbols_differ", "share_of_symbols_differs")
NAMES = (*LEXICAL, *COPIES, *LENGTHS, *SYMBOLS, *alignment.WEIGHTS)


def features(
    sources: Sequence[str],
    targets: Sequence[str],
    languages: tuple[str, str],
    lexicon: Lexicon,
) -> np.ndarray:
    """The features of ``n`` pairs, float64 [n, len(NAMES)]."""
    words = [words_of(text) for text in sources], [words_of(text) for text in targets]
    pairs = Pairs(sources, targets, languages)
    return np.concatenate(
        [
            lexicon.scores(*words),
            _copies(*words),
            _lengths(pairs, *words),
            _symbols(pairs),
            alignment.features(pairs),
        ],
        axis=1,
    )


def _copies(
    sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> np.ndarray:
    """Shares of words and of their letters that are on both sides, [n, 3]."""
    found = np.zeros((len(sources), len(COPIES)))
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        both = Counter(source) & Counter(target)
        copied = sum(both.values()) / max(1, len(target))
        letters = sum(len(word) * n for word, n in both.items())
        found[i] = copied, copied >= _COPIED, letters / max(1, sum(map(len, target)))
    return found


def _lengths(
    pairs: Pairs, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> np.ndarray:
    """Logarithms of the ratios of the lengths, and their squares, [n, 4]."""
    columns = []
    characters = pairs.source.lengths, pairs.target.lengths
    counts = [np.fromiter(map(len, side), np.int64) for side in (sources, targets)]
    for source, target in (characters, counts):
        ratio = np.log((target + _ADDED) / (source + _ADDED))
        columns += [ratio, ratio**2]
    return np.stack(columns, axis=1)


def _symbols(pairs: Pairs) -> np.ndarray:
    """Marks of markup and code that are on one side only, [n, 2]."""
    counts = np.stack(
        [
            [side.total(side.points == ord(mark)) for mark in MARKS]
            for side in pairs.sides
        ]
    )  # [sides, marks, n]
    differ = np.abs(counts[0] - counts[1]).sum(axis=0)
    most = counts.sum(axis=1).max(axis=0)
    return np.stack([np.log1p(differ), differ / (1 + most)], axis=1)
