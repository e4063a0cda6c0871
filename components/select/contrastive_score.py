"""The contrastive score of sentence pairs, under a stack of models.

Wang et al. (2018), equation 4: the noise score of a pair is the log-likelihood of its
target, per token, under the model fine-tuned on trusted text less that under the
noisy model. With text of a domain in place of trusted text it is a domain score, as
Moore and Lewis (2010) with translation models. Higher is better here.

The noisy model knows good pairs as well as bad ones, and a small one is fine-tuned to
the words of the trusted text before anything else. A model fine-tuned on the same text
corrupted has learned the same words and that targets need not fit: against that one,
what is left of the difference is whether they do.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from components.artifacts import checkpoints
from components.artifacts.test_sets import LONGEST, LongPair, TestSet
from components.engines.tensorflow_start import start_tensorflow
from components.select.config import BOTH, CORRUPTED, IN_DOMAIN, MODELS, NOISY, TRUSTED
from components.tokenize import packing
from components.tokenize.config import Config as Rows
from components.tokenize.packing import Sentences
from components.tokenize.vocabulary import Vocabulary
from models.nmt.sizes import get_shape

if TYPE_CHECKING:
    from components.engines import cross_entropy


@dataclasses.dataclass(frozen=True)
class ContrastiveScore:
    """Scores the pairs of one task; small enough to be sent to a worker.

    Attributes:
      task: The task.
      tag: Its tag in the vocabulary, or None.
      models: Folder with `MODELS`, which every worker can read.
      key: Key of that artifact: a worker keeps its models while it is the same.
      texts: What the models of the stack after the first were fine-tuned on.
      against: See `components.select.config.Contrastive`.
      vocabulary: The serialised vocabulary.
      rows: Lengths of the rows.
    """

    task: str
    tag: str | None
    models: Path
    key: str
    texts: tuple[str, ...]
    against: str
    vocabulary: bytes
    rows: Rows

    def scores(self, sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
        """Noise score and domain score, as far as asked for, float32 [n]."""
        return contrast(self.nats(sources, targets), self.against)

    def nats(
        self, sources: Sequence[str], targets: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Name of each model -> nats per target token of each pair, float64 [n]."""
        losses = _scorer(self.models, self.key).score(self._packed(sources, targets))
        rates = losses.nats / losses.tokens
        return dict(zip((NOISY, *self.texts), rates, strict=True))

    def _packed(self, sources: Sequence[str], targets: Sequence[str]) -> TestSet:
        """The pairs as a test set: packed rows, and what fits in none."""
        vocabulary = _vocabulary(self.vocabulary)
        source = vocabulary.encode(sources, self.tag)
        target = vocabulary.encode(targets)
        plan = packing.plan(
            source.lengths,
            target.lengths,
            source_length=self.rows.source_length,
            target_length=self.rows.target_length,
            window=self.rows.packing_window,
        )
        long = [
            LongPair(i, _sentence(source, i), _sentence(target, i))
            for i in np.flatnonzero(plan.rows < 0).tolist()
        ]
        fields = plan.lay_out(source, target)
        return TestSet(self.task, "train", fields, plan.pairs, tuple(long))


def contrast(nats: Mapping[str, np.ndarray], against: str) -> np.ndarray:
    """What better text saves.

    Example:
      >>> nats = {"noisy": np.array([3.0]), "corrupted": np.array([4.0]),
      ...         "trusted": np.array([2.5]), "in_domain": np.array([2.75])}
      >>> contrast(nats, "noisy"), contrast(nats, "corrupted"), contrast(nats, "both")
      ... # doctest: +NORMALIZE_WHITESPACE
      (array([0.75], dtype=float32), array([1.75], dtype=float32),
       array([1.25], dtype=float32))

    Args:
      nats: Name of each model -> nats per token of each pair, [n].
      against: Which model the one of trusted text is compared with, or ``both``.

    Returns:
      float32 [n], the sum of the noise score and the domain score.
    """
    saved = np.zeros_like(nats[NOISY])
    if TRUSTED in nats:
        worse = (NOISY, CORRUPTED) if against == BOTH else (against,)
        saved += np.mean([nats[name] for name in worse], axis=0) - nats[TRUSTED]
    if IN_DOMAIN in nats:
        saved += nats[NOISY] - nats[IN_DOMAIN]
    return saved.astype(np.float32)


@functools.lru_cache(maxsize=1)
def _scorer(models: Path, key: str) -> cross_entropy.Scorer:
    """The models, loaded once a process for each key."""
    start_tensorflow()
    from components.engines import cross_entropy
    from models.nmt.transformer import Transformer

    arrays, record = checkpoints.load_weights(models / MODELS)
    stack = len(next(iter(arrays.values())))
    shape = get_shape(record.size)
    model = Transformer(shape, record.vocabulary_size, stack=stack)
    model.build()
    for variable in model.trainable_variables:
        variable.assign(arrays[variable.path])
    return cross_entropy.Scorer(model)


@functools.lru_cache(maxsize=1)
def _vocabulary(serialised: bytes) -> Vocabulary:
    return Vocabulary(serialised)


def _sentence(side: Sentences, number: int) -> np.ndarray:
    """Ids of one sentence, of a very long one those at its beginning."""
    start = int(side.lengths[:number].sum())
    return side.ids[start : start + min(int(side.lengths[number]), LONGEST)]


class Scorer(Protocol):
    """What scores the pairs of one task."""

    def scores(self, sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
        """One score a pair, higher is better, float32 [n]."""


@dataclasses.dataclass(frozen=True, eq=False)
class CombinedScore:
    """The sum of scores, each in units of its spread.

    Scores of different kinds have different units, as those that Junczys-Dowmunt (2018)
    multiplies all lie between 0 and 1. The spread is that of the middle half: a score
    may have a few outliers.

    Attributes:
      parts: The scores.
      middles: Median of each.
      spreads: Distance of the quartiles of each.
    """

    parts: tuple[Scorer, ...]
    middles: tuple[float, ...]
    spreads: tuple[float, ...]

    def scores(self, sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
        """Sum of the scores, float32 [n]."""
        total = np.zeros(len(sources))
        rows = zip(self.parts, self.middles, self.spreads, strict=True)
        for part, middle, spread in rows:
            total += (part.scores(sources, targets) - middle) / spread
        return total.astype(np.float32)


def combine(
    parts: Sequence[Scorer], sources: Sequence[str], targets: Sequence[str]
) -> CombinedScore:
    """Combines scores of one task.

    Args:
      parts: The scores.
      sources, targets: A sample of the task's pairs.
    """
    quartiles = [
        np.quantile(part.scores(sources, targets), (0.25, 0.5, 0.75)).tolist()
        for part in parts
    ]
    return CombinedScore(
        tuple(parts),
        tuple(middle for _, middle, _ in quartiles),
        tuple(max(high - low, 1e-6) for low, _, high in quartiles),
    )
