"""What the data card is made of: measures of every shard, and samples.

A measure is a count like any other, ``((task, split, "measure:value"), n)``, so
that Beam adds it up; samples are the pairs with the smallest digests.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from components.ingest import pair_tables
from components.ingest.cleaning.scripts import SCRIPTS, script_letters
from components.ingest.duplicates.keys import pair_keys
from components.ingest.layout import LENGTH_ENDS

Names = tuple[str, str, str]  # task, split, what
Sample = list[tuple[int, str, str]]  # digest, source, target
SAMPLES = 5
_ROWS_TOGETHER = 4096
_SIDES = ("source", "target")


def measure(
    task: str, split: str, pairs: pa.Table, order: np.ndarray
) -> Iterator[tuple[Names, int]]:
    """Lengths in characters and letters by script, of both sides.

    Args:
      task: Task of the pairs.
      split: Their split.
      pairs: The pairs.
      order: int64 [n], those to look at.
    """
    counts: Counter[str] = Counter()
    rows = pair_tables.rows(pairs, order, _SIDES)
    while together := list(itertools.islice(rows, _ROWS_TOGETHER)):
        for side, texts in zip(_SIDES, zip(*together, strict=True), strict=True):
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


def sample(task: str, pairs: pa.Table, order: np.ndarray, seed: int) -> Sample:
    """A sample of the pairs at these positions: those with the smallest digests."""
    drawn: Sample = []
    rows = pair_tables.rows(pairs, order, _SIDES)
    while together := list(itertools.islice(rows, _ROWS_TOGETHER)):
        sources, targets = zip(*together, strict=True)
        keys = pair_keys(task, sources, targets, seed).tolist()
        drawn = smallest([drawn, zip(keys, sources, targets, strict=True)])
    return drawn


def smallest(drawn: Iterable[Iterable[tuple[int, str, str]]]) -> Sample:
    """The sample that several give together."""
    return heapq.nsmallest(SAMPLES, itertools.chain.from_iterable(drawn))
