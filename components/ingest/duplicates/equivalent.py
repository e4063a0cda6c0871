"""Pairs that say the same as another one, although they are not equal to it.

Every pair is a member of groups: the pairs with the same source, say, or with equal
hashes in one band of their signatures. Of each group the pair with the smallest key
stays (an order as good as random, and the same whatever the order of files), of
identical ones the first in the inputs. A pair that loses in any group goes. Only
keys are grouped, never text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from components.ingest import pair_tables
from components.ingest.duplicates import near
from components.ingest.duplicates.config import Duplicates
from components.ingest.duplicates.keys import comparable

_SIDES = {
    "pair": ("pair",),
    "source": ("source",),
    "target": ("target",),
    "either": ("source", "target"),
}
# Columns of memberships; those of near-duplicates have a sketch after them.
GROUP, RANK, PLACE, BUCKET = range(4)
_WIDTH = 4


def memberships(
    pairs: pa.Table, buckets: np.ndarray, task: str, config: Duplicates, seed: int
) -> Iterator[tuple[int, np.ndarray]]:
    """The groups of some pairs.

    Args:
      pairs: ``n`` pairs of one task, see `components.ingest.pair_tables`.
      buckets: uint64 [n], the number of each pair's bucket.
      task: Their task.
      config: What counts as a duplicate.
      seed: Seed of the keys.

    Yields:
      The band (groups of different bands never meet), and uint64 [4 or more, n],
      the columns `GROUP` to `BUCKET` and sketches.
    """
    member = [
        pair_tables.column(pairs, "pair_key"),
        pair_tables.column(pairs, "place"),
        buckets,
    ]
    for side in _SIDES.get(config.same, ()):
        salt = _salt("same", side, "" if config.across_tasks else task)
        yield 0, np.vstack([_sentences(pairs, side) ^ salt, *member])
    if config.similarity is None:
        return
    bands = near.bands_of(config.similarity)
    for side in _SIDES[config.near]:
        found = near.signatures(_texts(pairs, side), seed)
        salt = _salt("near", side, "" if config.across_tasks else task)
        rest = np.vstack([*member, near.sketches(found)])
        for band, group in enumerate(near.band_keys(found, bands) ^ salt):
            yield band, np.vstack([group, rest])


def losers(members: np.ndarray, config: Duplicates) -> tuple[str, np.ndarray]:
    """The members that go.

    Args:
      members: uint64 [columns, n]; their groups are all here.
      config: What counts as a duplicate.

    Returns:
      The rule, and int64 [losers], positions of members.
    """
    order = np.lexsort((members[PLACE], members[RANK], members[GROUP]))
    groups = members[GROUP, order]
    fresh = np.ones(len(order), bool)
    fresh[1:] = groups[1:] != groups[:-1]
    if len(members) == _WIDTH:
        return "equivalent", order[~fresh]
    starts = np.flatnonzero(fresh)
    ends = np.append(starts[1:], len(order))
    lost = [np.zeros(0, np.int64)]
    for start, end in zip(starts, ends, strict=True):
        if end - start > 1:
            lost += _similar(members, order[start:end], config.similarity)
    return "near_duplicate", np.concatenate(lost)


def _similar(
    members: np.ndarray, group: np.ndarray, similarity: float
) -> Iterator[np.ndarray]:
    """Members of a group, by rising rank, that are similar to one that stays."""
    sketches = members[_WIDTH:]
    while len(group) > 1:
        first, rest = group[0], group[1:]
        found = near.similarities(sketches[:, first], sketches[:, rest])
        same = members[PLACE, rest] == members[PLACE, first]
        yield rest[(found >= similarity) & ~same]
        group = rest[(found < similarity) & ~same]


def _sentences(pairs: pa.Table, side: str) -> np.ndarray:
    if side != "pair":
        return pair_tables.column(pairs, f"{side}_key")
    keys = (
        pair_tables.column(pairs, "source_key"),
        pair_tables.column(pairs, "target_key"),
    )
    return np.minimum(*keys) * np.uint64(0x9E3779B97F4A7C15) ^ np.maximum(*keys)


def _texts(pairs: pa.Table, side: str) -> list[str]:
    if side != "pair":
        return comparable(pairs[side].to_pylist())
    sides = (comparable(pairs[name].to_pylist()) for name in ("source", "target"))
    return [f"{source} {target}" for source, target in zip(*sides, strict=True)]


def _salt(kind: str, side: str, task: str) -> np.uint64:
    """What keeps groups of different kinds apart. Between tasks a sentence is the
    same on either side."""
    if not task and side != "pair":
        side = "sentence"
    digest = hashlib.blake2b(f"{kind}/{side}/{task}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "big"))
