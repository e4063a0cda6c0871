"""Duplicates, the held-out test set, and what training may not share with it.

Pure functions of blocks. Every choice is by key, never by position, so the
result does not depend on the order of files, lines or workers.
"""

from __future__ import annotations

import numpy as np

from components.ingest.block import Block


def first_of_each_pair(block: Block) -> tuple[Block, Block]:
    """Separates the pairs of a block from their repetitions.

    Args:
      block: Pairs of one task in any order.

    Returns:
      One copy of each pair, in the order of the pair keys (an order as good as
      random), and the other copies. The copy that stays is the one that stands
      first in the inputs.
    """
    order = np.lexsort((block.lines, block.files, block.pair_keys))
    keys = block.pair_keys[order]
    first = np.ones(len(keys), bool)
    first[1:] = keys[1:] != keys[:-1]
    return block.take(order[first]), block.take(order[~first])


def bucket_of(source_keys: np.ndarray, buckets: int) -> np.ndarray:
    """The bucket, int64 [n], that deduplicates each pair and holds its source.

    From the low bits of the key: the high bits choose the test set, and every
    bucket should give an equal part of it.
    """
    return (source_keys % np.uint64(buckets)).astype(np.int64)


def held_out_candidates(block: Block, sentences: int, share: float | None) -> Block:
    """The pairs that may become the test set: one for each source, the sources
    with the smallest keys.

    Args:
      block: Pairs of one task, each once.
      sentences: How many to take at most.
      share: Where given, only sources whose key lies in the lowest ``share`` of
        all keys.

    Returns:
      At most ``sentences`` pairs by rising source key; of several translations
      of one source the one with the smallest pair key.
    """
    order = np.lexsort((block.pair_keys, block.source_keys))
    keys = block.source_keys[order]
    first = np.ones(len(keys), bool)
    first[1:] = keys[1:] != keys[:-1]
    order = order[first]
    if share is not None:
        order = order[below(block.source_keys[order], share)]
    return block.take(order[:sentences])


def below(keys: np.ndarray, share: float) -> np.ndarray:
    """Whether each key lies in the lowest ``share`` of all keys, bool [n]."""
    return keys < np.uint64(share * 2.0**64)


def sharing_a_side(block: Block, test_keys: np.ndarray) -> np.ndarray:
    """Whether the source or the target of each pair is in a test set, bool [n].

    Args:
      block: Pairs of one task.
      test_keys: Keys of every source and target of every test set of every
        task, uint64 [m].
    """
    return np.isin(block.source_keys, test_keys) | np.isin(block.target_keys, test_keys)
