"""Which pairs are kept: the best share, exactly, whatever their order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from components.select.layout import KEPT, SCORE


def choose(
    scores: Mapping[int, np.ndarray], share: float
) -> tuple[dict[int, np.ndarray], float]:
    """Marks the best share of the pairs of a task.

    Example: scores ``{0: [3, 1], 1: [2, 2]}`` and .5 keep the 3 and the first 2.

    Args:
      scores: Shard -> a score for each of its pairs. A score that is no number
        is the worst.
      share: In (0, 1]; at least one pair is kept.

    Returns:
      Shard -> bool, one a pair; and the score of the worst pair that is kept.
    """
    shards = sorted(scores)
    joined = np.concatenate([scores[shard] for shard in shards])
    joined = np.where(np.isnan(joined), -np.inf, joined)
    count = min(len(joined), max(1, round(share * len(joined))))
    best = np.argsort(-joined, kind="stable")[:count]
    kept = np.zeros(len(joined), bool)
    kept[best] = True
    bounds = np.cumsum([len(scores[shard]) for shard in shards])[:-1]
    parts = np.split(kept, bounds)
    worst = float(joined[best[-1]]) if count else float("nan")
    return dict(zip(shards, parts, strict=True)), worst


def table(scores: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """What is written beside a shard: a row a pair, float32 score and bool."""
    rows = np.empty(len(scores), [(SCORE, "<f4"), (KEPT, "?")])
    rows[SCORE], rows[KEPT] = scores, kept
    return rows
