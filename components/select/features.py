"""What a pair of sentences looks like, in numbers that need no neural model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from components.ingest import alignment
from components.ingest.pairs import Pairs
from components.select.lexical import Lexicon
from components.select.words import words_of

_COPIED = 0.8
LEXICAL = (
    "target_explained",
    "target_unexplained",
    "source_explained",
    "source_unexplained",
)
COPIES = ("copied_words", "mostly_copied", "copied_letters")
NAMES = (*LEXICAL, *COPIES, *alignment.WEIGHTS)


def features(
    sources: Sequence[str],
    targets: Sequence[str],
    languages: tuple[str, str],
    lexicon: Lexicon,
) -> np.ndarray:
    """The features of ``n`` pairs, float64 [n, len(NAMES)]."""
    words = [words_of(text) for text in sources], [words_of(text) for text in targets]
    return np.concatenate(
        [
            lexicon.scores(*words),
            _copies(*words),
            alignment.features(Pairs(sources, targets, languages)),
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
