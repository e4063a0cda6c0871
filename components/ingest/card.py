"""What the data card is made of: measures of every shard, and samples.

A measure is a count like any other, ``((task, split, "measure:value"), n)``, so
that Beam adds it up; samples are the pairs with the smallest digests.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from components.ingest import spill
from components.ingest.cleaning.scripts import SCRIPTS, script_letters
from components.ingest.keys import pair_keys
from components.ingest.layout import LENGTH_ENDS

SAMPLES = 5
_TOGETHER = 4096


def measure(
    task: str, split: str, packed: spill.Packed, order: np.ndarray
) -> Iterator[tuple[tuple[str, str, str], int]]:
    """Lengths in characters and letters by script, of both sides.

    Args:
      task: Task of the pairs.
      split: Their split.
      packed: The pairs.
      order: int64 [n], those to look at.
    """
    counts: Counter[str] = Counter()
    for start in range(0, len(order), _TOGETHER):
        rows = list(packed.pairs(order[start : start + _TOGETHER]))
        for side, texts in (
            ("source", [source for _, source, _ in rows]),
            ("target", [target for _, _, target in rows]),
        ):
            lengths = np.fromiter(map(len, texts), np.int64, len(texts))
            counts[f"{side}_characters:"] += int(lengths.sum())
            places = np.searchsorted(LENGTH_ENDS, lengths, side="right") - 1
            for place, count in enumerate(np.bincount(places).tolist()):
                counts[f"{side}_length:{LENGTH_ENDS[place]}"] += count
            for script, count in zip(SCRIPTS, script_letters(texts), strict=True):
                counts[f"{side}_script:{script}"] += int(count)
    for what, count in sorted(counts.items()):
        if count:
            yield (task, split, what), count


def draw(
    task: str, packed: spill.Packed, positions: Sequence[int], seed: int
) -> list[tuple[int, str, str]]:
    """A sample of the pairs at these positions: those with the smallest digests."""
    drawn: list[tuple[int, str, str]] = []
    for start in range(0, len(positions), _TOGETHER):
        index = np.array(positions[start : start + _TOGETHER])
        rows = [(source, target) for _, source, target in packed.pairs(index)]
        sources, targets = zip(*rows, strict=True)
        keys = pair_keys(task, sources, targets, seed).tolist()
        found = zip(keys, sources, targets, strict=True)
        drawn = heapq.nsmallest(SAMPLES, [*drawn, *found])
    return drawn
