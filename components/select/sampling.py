"""A random sample of the training pairs of one task, the same on every machine."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

from components.artifacts.text_shards import read_shard

Pair = tuple[str, str]


def sample(shards: Iterable[Path], most: int, seed: int) -> tuple[list[str], list[str]]:
    """Sources and targets of the pairs with the smallest hashes, smallest first.

    Args:
      shards: Shards of training pairs; no more than ``most`` pairs are held.
      most: How many pairs at most.
      seed: Of the hash.
    """
    salt = seed.to_bytes(8, "little")

    def hashed(pair: Pair) -> tuple[bytes, Pair]:
        text = "\n".join(pair).encode()
        return hashlib.blake2b(text, digest_size=8, salt=salt).digest(), pair

    held = heapq.nsmallest(most, map(hashed, pairs_of(shards)))
    return [source for _, (source, _) in held], [target for _, (_, target) in held]


def pairs_of(shards: Iterable[Path]) -> Iterator[Pair]:
    """The pairs of shards, one after the other."""
    for shard in shards:
        for record in read_shard(shard):
            yield record["source"], record["target"]
