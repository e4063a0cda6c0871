"""Duplicates, the held-out test set, and what training may not share with it.

Pure functions of keys. Every choice is by key, never by position, so the
result does not depend on the order of files, lines or workers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from components.ingest.connected import ALONE, Connected


def repetitions(pair_keys: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Which pairs repeat another one, bool [n]: of equal pairs the one that stands
    first in the inputs stays.

    Args:
      pair_keys: uint64 [n], keys of pairs of one task in any order.
      places: uint64 [n], where each was read.
    """
    order = np.lexsort((places, pair_keys))
    keys = pair_keys[order]
    repeated = np.zeros(len(keys), bool)
    repeated[order[1:]] = keys[1:] == keys[:-1]
    return repeated


def bucket_of(source_keys: np.ndarray, buckets: int) -> np.ndarray:
    """The bucket, int64 [n], that deduplicates each pair and holds its source.

    From the low bits of the key: the high bits choose the test set, and every
    bucket should give an equal part of it.
    """
    return (source_keys % np.uint64(buckets)).astype(np.int64)


def candidates(
    source_keys: np.ndarray,
    pair_keys: np.ndarray,
    sentences: int,
    share: float | None,
) -> np.ndarray:
    """The pairs that may become the test set: one for each source, the sources
    with the smallest keys.

    Args:
      source_keys: uint64 [n].
      pair_keys: uint64 [n], each once.
      sentences: How many to take at most.
      share: Where given, only sources whose key lies in the lowest ``share`` of
        all keys.

    Returns:
      Positions of at most ``sentences`` pairs by rising source key; of several
      translations of one source the one with the smallest pair key.
    """
    order = np.lexsort((pair_keys, source_keys))
    keys = source_keys[order]
    first = np.ones(len(keys), bool)
    first[1:] = keys[1:] != keys[:-1]
    order = order[first]
    if share is not None:
        order = order[below(source_keys[order], share)]
    return order[:sentences]


def below(keys: np.ndarray, share: float) -> np.ndarray:
    """Whether each key lies in the lowest ``share`` of all keys, bool [n]."""
    return keys < np.uint64(share * 2.0**64)


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


@dataclasses.dataclass(frozen=True)
class Guard:
    """What training must not share with the test sets, of all tasks together.

    Attributes:
      keys: uint64 [m], rising: every sentence of every test set.
      places: uint64 [k]: where the pairs stand that were taken out for them.
      labels: int64 [j]: components with a test sentence, small enough to go whole.
    """

    keys: np.ndarray
    places: np.ndarray
    labels: np.ndarray


def collect(marks: Sequence[Marks], linked: Connected, largest: int) -> Guard:
    """Puts the marks of all test sets together.

    Args:
      marks: Of each test set.
      linked: The components of the training text.
      largest: Pairs of the largest component that goes whole.
    """
    keys = np.unique(np.concatenate([one.keys for one in marks]))
    labels, sizes = linked.of(keys)
    labels = np.unique(labels[(labels != ALONE) & (sizes <= largest)])
    return Guard(keys, np.concatenate([one.places for one in marks]), labels)


def leaking(
    source_keys: np.ndarray, target_keys: np.ndarray, guard: Guard, linked: Connected
) -> np.ndarray:
    """Whether training on each pair would show a test sentence, bool [n]: one of
    its sides is in a test set, or it belongs to the component of one."""
    shared = np.isin(source_keys, guard.keys) | np.isin(target_keys, guard.keys)
    return shared | np.isin(linked.of(source_keys)[0], guard.labels)
