"""What a metric of translation quality says."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from components.evaluate.hypotheses import Translation


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

    def score(
        self, translation: Translation, parts: Mapping[str, np.ndarray]
    ) -> Scores:
        """Scores a translation and parts of it, bool ``[sentences]`` each."""

    def problem(self, language: str) -> str:
        """What makes the scores in a language less than usual; mostly nothing."""


def mean_scores(
    by_sentence: np.ndarray, parts: Mapping[str, np.ndarray], signature: str
) -> Scores:
    """Scores of a metric whose corpus score is the mean over sentences."""
    values = {part: float(by_sentence[own].mean()) for part, own in parts.items()}
    return Scores(values, dict.fromkeys(values, signature), by_sentence)
