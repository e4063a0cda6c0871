"""A random sample of the training pairs of one task, the same on every machine."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

from components.artifacts.text_shards import read_shard

Pair = tuple[str, str]


def sample(shards: Iterable[Path], most: int, seed: int) -> list[Pair]:
    """The pairs with the smallest hashes, smallest first.

    Args:
      shards: Shards of training pairs; no more than ``most`` pairs are held.
      most: How many pairs at most.
      seed: Of the hash.
    """
    salt = seed.to_bytes(8, "little")
    # The largest hash is on top of the heap of negated ones.
    held: list[tuple[int, str, str]] = []
    for source, target in pairs_of(shards):
        text = f"{source}\n{target}".encode()
        digest = hashlib.blake2b(text, digest_size=8, salt=salt).digest()
        entry = -int.from_bytes(digest, "big"), source, target
        if len(held) < most:
            heapq.heappush(held, entry)
        elif entry > held[0]:
            heapq.heapreplace(held, entry)
    held.sort(key=lambda entry: (-entry[0], entry[1:]))
    return [(source, target) for _, source, target in held]


def pairs_of(shards: Iterable[Path]) -> Iterator[Pair]:
    """The pairs of shards, one after the other."""
    for shard in shards:
        for record in read_shard(shard):
            yield record["source"], record["target"]
