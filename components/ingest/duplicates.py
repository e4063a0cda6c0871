"""Which pairs say the same as another one: claims, and how they are settled.

A claim says that a pair belongs to a group: the pairs with the same source, say,
or with equal hashes in one band of their signatures. Of each group the pair with
the smallest key stays (an order as good as random, and the same whatever the
order of files), of identical ones the first in the inputs. A pair that loses in
any group goes.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator

import numpy as np

from components.ingest import near
from components.ingest.block import Block
from components.ingest.deduplication import Duplicates
from components.ingest.keys import comparable

EQUIVALENT = "equivalent"
NEAR = "near_duplicate"
_SIDES = {
    "pair": ("pair",),
    "source": ("source",),
    "target": ("target",),
    "either": ("source", "target"),
}
# Columns of claims; those of near-duplicates have a sketch after them.
GROUP, RANK, PLACE, HOME = range(4)


@dataclasses.dataclass(frozen=True)
class Drops:
    """Pairs of one bucket that go: their places, and for which rule."""

    places: np.ndarray
    rule: str


def claims(
    block: Block, homes: np.ndarray, task: str, config: Duplicates, seed: int
) -> Iterator[tuple[int, np.ndarray]]:
    """The claims of a block of pairs.

    Args:
      block: Pairs of one task.
      homes: uint64 [n], the bucket of each pair, see `home_of`.
      task: Their task.
      config: What counts as a duplicate.
      seed: Seed of the keys.

    Yields:
      The band (claims of different bands never meet), and uint64 [4 or more,
      claims], the columns `GROUP` to `HOME` and sketches.
    """
    place = np.stack([block.pair_keys, block.places, homes])
    for side in _SIDES.get(config.same, ()):
        salt = _salt("same", side, "" if config.across_tasks else task)
        yield 0, np.vstack([_sentences(block, side) ^ salt, place])
    if config.similarity is None:
        return
    bands = near.bands_of(config.similarity)
    for side in _SIDES[config.near]:
        found = near.signatures(_texts(block, side), seed)
        salt = _salt("near", side, "" if config.across_tasks else task)
        groups = (near.band_keys(found, bands, 0) ^ salt).T
        rest = np.vstack([place, near.sketches(found)])
        for band, group in enumerate(groups):
            yield band, np.vstack([group, rest])


def settle(columns: np.ndarray, similarity: float | None) -> np.ndarray:
    """The claims that are lost.

    Args:
      columns: uint64 [columns, n], claims whose groups are all here.
      similarity: With sketches, how similar a pair must be to one that stays.

    Returns:
      int64 [losers], positions of claims.
    """
    order = np.lexsort((columns[PLACE], columns[RANK], columns[GROUP]))
    groups = columns[GROUP, order]
    fresh = np.ones(len(order), bool)
    fresh[1:] = groups[1:] != groups[:-1]
    if similarity is None:
        return order[~fresh]
    starts = np.flatnonzero(fresh)
    ends = np.append(starts[1:], len(order))
    lost = [
        _similar(columns, order[start:end], similarity)
        for start, end in zip(starts, ends, strict=True)
        if end - start > 1
    ]
    return np.concatenate(lost) if lost else np.zeros(0, np.int64)


def home_of(task_number: int, buckets: np.ndarray) -> np.ndarray:
    """Task and bucket in one number, uint64 [n]."""
    return np.uint64(task_number << 32) | buckets.astype(np.uint64)


def _similar(columns: np.ndarray, group: np.ndarray, similarity: float) -> np.ndarray:
    """Members of a group, by rising rank, that are similar to one that stays."""
    sketches = columns[HOME + 1 :]
    lost = []
    while len(group) > 1:
        first, rest = group[0], group[1:]
        found = near.similarities(sketches[:, first], sketches[:, rest])
        same = columns[PLACE, rest] == columns[PLACE, first]
        lost.append(rest[(found >= similarity) & ~same])
        group = rest[(found < similarity) & ~same]
    return np.concatenate(lost) if lost else np.zeros(0, np.int64)


def _sentences(block: Block, side: str) -> np.ndarray:
    if side == "source":
        return block.source_keys
    if side == "target":
        return block.target_keys
    low = np.minimum(block.source_keys, block.target_keys)
    high = np.maximum(block.source_keys, block.target_keys)
    return low * np.uint64(0x9E3779B97F4A7C15) ^ high


def _texts(block: Block, side: str) -> list[str]:
    if side == "source":
        return comparable(block.sources)
    if side == "target":
        return comparable(block.targets)
    sides = comparable(block.sources), comparable(block.targets)
    return [f"{source} {target}" for source, target in zip(*sides, strict=True)]


def _salt(kind: str, side: str, task: str) -> np.uint64:
    """What keeps groups of different kinds apart. Between tasks a sentence is the
    same on either side."""
    if not task and side != "pair":
        side = "sentence"
    text = f"{kind}/{side}/{task}".encode()
    return np.uint64(
        int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
    )
