"""The feature score: what a pair looks like, weighed on the corpus itself.

No feature needs a neural model. A logistic regression tells the pairs of the corpus
from pairs that are corrupted on purpose; most of the corpus is taken to be good, and
the rest is what a logistic regression takes for noise in its labels. The words are
counted in one half of the sample for the other half, so that no pair speaks for itself.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from components.ingest.cleaning import alignment
from components.ingest.cleaning.pairs import Pairs
from components.select import corruption
from components.select.config import Config
from components.select.corruption import MARKS
from components.select.lexical import Lexicon, words_of
from components.select.sampling import sample

_T = TypeVar("_T")
FOLDS = 2
_FITTED = 6000  # pairs of the sample that the regression sees
_RIDGE = 1.0
_NEWTON_STEPS = 30
_LEAST = 10  # pairs of a fold: nothing can be learned from fewer
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


@dataclasses.dataclass(frozen=True, eq=False)
class FeatureScore:
    """A trained score.

    Attributes:
      languages: Of the source and of the target.
      lexicons: One for each fold, trained on the others.
      mean, scale: Of the features, float64 [len(NAMES)].
      weights: Of the standardised features, float64 [len(NAMES)].
      bias: Score of the average.
    """

    languages: tuple[str, str]
    lexicons: tuple[Lexicon, ...]
    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    bias: float

    def scores(self, sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
        """Log odds of each pair being a translation, float32 [n]."""
        scores = np.zeros(len(sources), np.float32)
        folds = folds_of(sources)
        for fold, lexicon in enumerate(self.lexicons):
            members = np.flatnonzero(folds == fold)
            if len(members):
                values = features(
                    *_take(sources, targets, members), self.languages, lexicon
                )
                standardised = (values - self.mean) / self.scale
                scores[members] = standardised @ self.weights + self.bias
        return scores


@dataclasses.dataclass(frozen=True)
class FeatureScores:
    """Trains the feature score of each task on a sample of it.

    Attributes:
      config: The step's configuration.
    """

    config: Config

    def scorer(self, task: str, shards: Sequence[Path]) -> FeatureScore:
        """See `components.select.graph.Scorers`."""
        sources, targets = sample(shards, self.config.sample, self.config.seed)
        source_language, _, target_language = task.partition("-")
        return train(
            sources,
            targets,
            (source_language, target_language),
            iterations=self.config.iterations,
            seed=self.config.seed,
        )


def folds_of(sources: Sequence[str]) -> np.ndarray:
    """The fold of each pair, int64 [n]: pairs with one source are in one fold."""
    digests = (hashlib.blake2b(s.encode(), digest_size=1).digest() for s in sources)
    return np.fromiter((d[0] % FOLDS for d in digests), np.int64, len(sources))


def train(
    sources: Sequence[str],
    targets: Sequence[str],
    languages: tuple[str, str],
    *,
    iterations: int,
    seed: int,
) -> FeatureScore:
    """Trains the score of one task.

    Args:
      sources, targets: A sample of the task's pairs, in random order.
      languages: Codes of the two languages.
      iterations: Of expectation maximisation.
      seed: Of the corruption.

    Raises:
      ValueError: There are too few pairs.
    """
    folds = folds_of(sources)
    if np.bincount(folds, minlength=FOLDS).min() < _LEAST:
        raise ValueError(f"{len(sources)} pairs are too few to learn what fits")
    words = [words_of(text) for text in sources], [words_of(text) for text in targets]
    lexicons, seen, good = [], [], []
    rng = np.random.default_rng(seed)
    for fold in range(FOLDS):
        others = np.flatnonzero(folds != fold)
        lexicon = Lexicon(*_take(*words, others), iterations)
        lexicons.append(lexicon)
        members = np.flatnonzero(folds == fold)[: _FITTED // FOLDS]
        pairs = _take(sources, targets, members)
        bad = corruption.corrupted(*pairs, rng)
        for is_good, texts in ((True, pairs), *((False, texts) for texts in bad)):
            if not texts[0]:
                continue
            seen.append(features(*texts, languages, lexicon))
            good.append(np.full(len(texts[0]), is_good))
    fitted = _fit(np.concatenate(seen), np.concatenate(good))
    return FeatureScore(languages, tuple(lexicons), *fitted)


def _fit(
    seen: np.ndarray, good: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Logistic regression with a small ridge; good and bad weigh the same.

    Args:
      seen: float64 [n, len(NAMES)].
      good: bool [n].

    Returns:
      Mean and scale of the features, their weights, and the bias.
    """
    mean, scale = seen.mean(axis=0), seen.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    x = np.column_stack([(seen - mean) / scale, np.ones(len(seen))])
    importance = np.where(good, 0.5 / good.mean(), 0.5 / (~good).mean())
    ridge = np.append(np.full(len(NAMES), _RIDGE), 0.0)
    weights = np.zeros(x.shape[1])
    for _ in range(_NEWTON_STEPS):
        guess = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (importance * (guess - good)) + ridge * weights
        curve = (x.T * (importance * guess * (1 - guess))) @ x + np.diag(ridge)
        step = np.linalg.solve(curve + 1e-9 * np.eye(len(curve)), slope)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    return mean, scale, weights[:-1], float(weights[-1])


def _take(
    sources: Sequence[_T], targets: Sequence[_T], chosen: np.ndarray
) -> tuple[list[_T], list[_T]]:
    numbers = chosen.tolist()
    return [sources[i] for i in numbers], [targets[i] for i in numbers]


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
    shares = np.zeros((len(sources), len(COPIES)))
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        both = Counter(source) & Counter(target)
        copied = sum(both.values()) / max(1, len(target))
        letters = sum(len(word) * n for word, n in both.items())
        shares[i] = copied, copied >= _COPIED, letters / max(1, sum(map(len, target)))
    return shares


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
