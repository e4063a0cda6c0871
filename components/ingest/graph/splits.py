"""The held-out test set, and what training may not share with a test set.

Pure functions of tables. Every choice is by key, never by position, so the result
does not depend on the order of files, lines or workers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from components.ingest import pair_tables
from components.ingest.config import Config
from components.ingest.duplicates import near
from components.ingest.duplicates.keys import comparable, sentence_keys

_ROWS_TOGETHER = 4096
# Not a rule that rejects: the pair stands in a test set.
TESTED = "tested"
# Why a pair is not trained on, by precedence.
REASONS = (
    "duplicate",
    TESTED,
    "equivalent",
    "near_duplicate",
    "overlaps_test",
    "resembles_test",
    "held_out",
)
_NONE = len(REASONS)


def bucket_of(keys: np.ndarray, buckets: int) -> np.ndarray:
    """The bucket of each key, int64 [n]; of source keys, the shard of each pair.

    From the low bits of the key: the high bits choose the test set, and every
    bucket should give an equal part of it.
    """
    return (keys % np.uint64(buckets)).astype(np.int64)


def candidates(
    pairs: pa.Table, sentences: int | None, share: float | None = None
) -> np.ndarray:
    """The pairs that may become the test set: one for each source, the sources
    with the smallest keys.

    Args:
      pairs: Pairs of one task.
      sentences: How many to take at most; None for all.
      share: Where given, only sources whose key lies in the lowest ``share`` of
        all keys.

    Returns:
      Positions of pairs by rising source key; of several translations of one
      source the one with the smallest pair key, of equal pairs the first read.
    """
    source_keys = pair_tables.column(pairs, "source_key")
    ranks = pair_tables.column(pairs, "place"), pair_tables.column(pairs, "pair_key")
    order = np.lexsort((*ranks, source_keys))
    order = order[_first_of_each(source_keys[order])]
    if share is not None:
        order = order[_below(source_keys[order], share)]
    return order[:sentences]


class Marks(NamedTuple):
    """What a test set is known by.

    Attributes:
      keys: uint64 [m], of both sides and of every further reference.
      places: uint64 [k], where its pairs stand.
      signatures: uint32 [m, HASHES], of the same sentences; without rows where
        near-duplicates do not count.
    """

    keys: np.ndarray
    places: np.ndarray
    signatures: np.ndarray


def marks_of(packed: bytes, config: Config) -> Marks:
    """What a test set is known by: both sides, every reference, and its places."""
    tests = pair_tables.unpack([packed], pair_tables.ACCEPTED)
    known = [
        json.loads(details) for details in tests["details"].drop_null().to_pylist()
    ]
    further = [text for details in known for text in details.get("references", ())[1:]]
    keys = [pair_tables.column(tests, name) for name in ("source_key", "target_key")]
    texts: list[str] = []
    if config.duplicates.similarity is not None:
        sides = [tests[name].to_pylist() for name in ("source", "target")]
        texts = comparable([*sides[0], *sides[1], *further])
    return Marks(
        np.concatenate([*keys, sentence_keys(further, config.seed)]),
        pair_tables.column(tests, "place"),
        near.signatures(texts, config.seed),
    )


def reasons(
    pairs: pa.Table,
    losers: Mapping[str, np.ndarray],
    marks: Sequence[Marks],
    config: Config,
) -> np.ndarray:
    """Why each pair is not trained on.

    Args:
      pairs: ``n`` pairs of one task, among them all with the same sources.
      losers: Rule -> places of pairs that lose to an equivalent pair.
      marks: Of the test sets of all tasks.
      config: The step's configuration.

    Returns:
      int64 [n], positions in `REASONS`, or ``len(REASONS)`` where training may
      use the pair.
    """
    found = np.full(len(pairs), _NONE)

    def give(reason: str, where: np.ndarray) -> None:
        found[where & (found == _NONE)] = REASONS.index(reason)

    nothing = Marks(*np.zeros((2, 0), np.uint64), near.signatures([], config.seed))
    tests = Marks(*map(np.concatenate, zip(nothing, *marks, strict=True)))
    places = pair_tables.column(pairs, "place")
    give("duplicate", _repeated(pair_tables.column(pairs, "pair_key"), places))
    give(TESTED, np.isin(places, tests.places))
    for rule in sorted(losers):
        give(rule, np.isin(places, losers[rule]))
    source_keys = pair_tables.column(pairs, "source_key")
    give("overlaps_test", np.isin(source_keys, tests.keys))
    give("overlaps_test", np.isin(pair_tables.column(pairs, "target_key"), tests.keys))
    if (similarity := config.duplicates.similarity) is not None:
        index = near.Index.of(tests.signatures, similarity, config.seed)
        give("resembles_test", _resembling(pairs, found == _NONE, index))
    if config.test_share is not None:
        give("held_out", _below(source_keys, config.test_share))
    return found


def _repeated(pair_keys: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Which pairs repeat another one, bool [n]: of equal pairs the one that was read
    first stays."""
    order = np.lexsort((places, pair_keys))
    repeated = np.empty(len(order), bool)
    repeated[order] = ~_first_of_each(pair_keys[order])
    return repeated


def _first_of_each(rising: np.ndarray) -> np.ndarray:
    first = np.ones(len(rising), bool)
    first[1:] = rising[1:] != rising[:-1]
    return first


def _below(keys: np.ndarray, share: float) -> np.ndarray:
    """Whether each key lies in the lowest ``share`` of all keys, bool [n]."""
    return keys < np.uint64(share * 2.0**64)


def _resembling(pairs: pa.Table, asked: np.ndarray, index: near.Index) -> np.ndarray:
    """Which of the pairs that are asked about have a side that is similar to a
    sentence of the index, bool [n]."""
    found = np.zeros(len(pairs), bool)
    order = np.flatnonzero(asked)
    for start in range(0, len(order), _ROWS_TOGETHER):
        part = order[start : start + _ROWS_TOGETHER]
        for side in ("source", "target"):
            found[part] |= index.similar(pairs[side].take(part).to_pylist())
    return found
