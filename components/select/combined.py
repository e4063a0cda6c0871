"""Several scores of a task as one: what one of them cannot see, another may.

Scores of different kinds have different units, so each counts in units of its own
spread over a sample of the task, as the scores that Junczys-Dowmunt (2018) multiplies
all lie between 0 and 1. The spread is that of the middle half: a score may have a few
values that are far out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Scores(Protocol):
    """What scores the pairs of one task."""

    def scores(self, sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
        """One score a pair, higher is better, float32 [n]."""


@dataclasses.dataclass(frozen=True, eq=False)
class Combined:
    """The sum of scores, each in units of its spread.

    Attributes:
      parts: The scores.
      middles: Median of each.
      spreads: Distance of the quartiles of each.
    """

    parts: tuple[Scores, ...]
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
    parts: Sequence[Scores], sources: Sequence[str], targets: Sequence[str]
) -> Combined:
    """Combines scores of one task.

    Args:
      parts: The scores.
      sources, targets: A sample of the task's pairs.
    """
    quartiles = [
        np.quantile(part.scores(sources, targets), (0.25, 0.5, 0.75)).tolist()
        for part in parts
    ]
    return Combined(
        tuple(parts),
        tuple(middle for _, middle, _ in quartiles),
        tuple(max(high - low, 1e-6) for low, _, high in quartiles),
    )
