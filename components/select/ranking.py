"""Which pairs are kept: the best share, exactly, whatever their order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from components.select.layout import KEPT, SCORE


def rank(
    scores: Mapping[int, np.ndarray], share: float
) -> tuple[dict[int, np.ndarray], int]:
    """Ranks the pairs of a task.

    Example: scores ``{0: [3, 1], 1: [2, 2]}`` and .5 give ranks ``{0: [0, 3], 1: [1,
    2]}`` and 2: the 3 and the first 2 are kept.

    Args:
      scores: Shard -> a score for each of its pairs. A score that is no number
        is the worst.
      share: In (0, 1]; at least one pair is kept.

    Returns:
      Shard -> rank of each of its pairs in the task, 0 for the best, int64; and how
      many are kept.
    """
    shards = sorted(scores)
    joined = np.concatenate([scores[shard] for shard in shards])
    joined = np.where(np.isnan(joined), -np.inf, joined)
    ranks = np.empty(len(joined), np.int64)
    ranks[np.argsort(-joined, kind="stable")] = np.arange(len(joined))
    bounds = np.cumsum([len(scores[shard]) for shard in shards])[:-1]
    count = min(len(joined), max(1, round(share * len(joined))))
    return dict(zip(shards, np.split(ranks, bounds), strict=True)), count


def table(scores: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """What is written beside a shard: a row a pair, float32 score and bool."""
    rows = np.empty(len(scores), [(SCORE, "<f4"), (KEPT, "?")])
    rows[SCORE], rows[KEPT] = scores, kept
    return rows
