"""What a metric of translation quality is."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from components.evaluate.translation import Translation


@dataclasses.dataclass(frozen=True)
class Scores:
    """Scores of one translation under one metric.

    Attributes:
      values: Part of the test set (``mixed``, ``source``, ``target``) -> score.
      signatures: The same -> what the score was computed with, to the version.
      by_sentence: Score of each sentence, where the metric has one.
    """

    values: Mapping[str, float]
    signatures: Mapping[str, str]
    by_sentence: np.ndarray | None = None


class Metric(Protocol):
    """A metric of translation quality.

    Attributes:
      name: As configurations name it.
      column: Of the metrics table.
    """

    name: str
    column: str

    def score(self, translation: Translation) -> Scores:
        """Scores a translation and its halves by original language."""

    def problem(self, language: str) -> str:
        """What makes the scores in a language less than usual; mostly nothing."""


class SentenceMetric(abc.ABC):
    """A metric that scores sentences; a test set has the mean of its sentences.

    Of several references of a sentence the best counts.

    Attributes:
      name: Also its column in the metrics table.
      signature: What the scores are computed with.
    """

    name: str
    signature: str

    @property
    def column(self) -> str:
        """See `Metric`."""
        return self.name

    @abc.abstractmethod
    def score_triples(self, triples: Sequence[tuple[str, str, str]]) -> np.ndarray:
        """Scores of (source, reference, hypothesis), float64 ``[triples]``."""

    def score(self, translation: Translation) -> Scores:
        """See `Metric`."""
        numbered = [
            (i, (sentence.source, reference, sentence.hypothesis))
            for i, sentence in enumerate(translation.sentences)
            for reference in sentence.references
        ]
        found = self.score_triples([triple for _, triple in numbered])
        best = np.full(len(translation.sentences), -np.inf)
        np.maximum.at(best, [i for i, _ in numbered], found)
        parts = translation.parts()
        values = {part: float(best[own].mean()) for part, own in parts.items()}
        return Scores(values, dict.fromkeys(values, self.signature), best)

    def problem(self, language: str) -> str:
        """Nothing: it has one tokenizer for all languages."""
        return ""
