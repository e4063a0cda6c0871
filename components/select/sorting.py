"""Pairs into shards: in the order they had, or, for online selection, best first.

Best first: of ``n`` pairs that are kept and ``s`` shards, pair of rank ``r`` goes to
shard ``r s / n``, and a shard is sorted by rank. Rows that are packed from them are of
pairs with nearly the same score, and the best rows come first.
"""

from __future__ import annotations

import dataclasses
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from apache_beam.io.filesystems import FileSystems

from components.artifacts.text_shards import SUFFIX, TRAIN, read_shard, write_records
from components.select import ranking
from components.select.layout import SCORES, SCORES_SUFFIX

Key = tuple[str, int]


@dataclasses.dataclass(frozen=True)
class Job:
    """One shard of training pairs.

    Attributes:
      task: Its task.
      index: Its number.
      count: How many shards the task has.
      source: The shard of ``ingest``.
    """

    task: str
    index: int
    count: int
    source: Path

    @property
    def scores_name(self) -> str:
        """Name of the table of scores beside the shard."""
        stem = self.source.name.removesuffix(SUFFIX).removeprefix(TRAIN)
        return f"{SCORES}{stem}{SCORES_SUFFIX}"


@dataclasses.dataclass(frozen=True, eq=False)
class Ranked:
    """What is known of the pairs of one shard.

    Attributes:
      scores: float32, one a pair.
      ranks: int64, one a pair; within the task, 0 for the best.
      count: How many pairs of the task are kept.
    """

    scores: np.ndarray
    ranks: np.ndarray
    count: int

    @property
    def kept(self) -> np.ndarray:
        """bool, one a pair."""
        return self.ranks < self.count


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """Pairs of one shard that go to one place.

    Attributes:
      ranks: int64, rising.
      records: Their records as JSON, compressed: they wait in memory on one machine.
    """

    ranks: np.ndarray
    records: bytes


def scatter(
    element: tuple[Key, Ranked], jobs: Mapping[Key, Job], output: str
) -> Iterator[tuple[Key, Part]]:
    """The kept pairs of a shard by the shard that they go to; writes its scores."""
    key, ranked = element
    job = jobs[key]
    write_scores(job, ranked, output)
    records = list(read_shard(job.source))
    best = np.argsort(ranked.ranks)[: int(ranked.kept.sum())]
    places = ranked.ranks[best] * job.count // ranked.count
    for place in range(job.count):
        own = best[places == place]
        text = json.dumps([records[i] for i in own.tolist()], ensure_ascii=False)
        packed = zlib.compress(text.encode(), 1)
        yield (job.task, place), Part(ranked.ranks[own], packed)


def gather(
    element: tuple[Key, Iterable[Part]], jobs: Mapping[Key, Job], output: str
) -> tuple[str, int]:
    """Writes one sorted shard; returns the task and how many pairs are in it."""
    key, parts = element
    parts = list(parts)
    ranks = np.concatenate([part.ranks for part in parts])
    records = [r for part in parts for r in json.loads(zlib.decompress(part.records))]
    order = np.argsort(ranks).tolist()
    write_pairs(jobs[key], (records[i] for i in order), output)
    return key[0], len(order)


def write_scores(job: Job, ranked: Ranked, output: str) -> None:
    """Writes the scores of a shard, a row a pair, in the order of ``ingest``."""
    packed = io.BytesIO()
    table = ranking.table(ranked.scores, ranked.kept)
    np.save(packed, table, allow_pickle=False)
    path = FileSystems.join(output, job.task, job.scores_name)
    with FileSystems.create(path, compression_type="uncompressed") as file:
        file.write(packed.getvalue())


def write_pairs(job: Job, records: Iterable[Mapping[str, Any]], output: str) -> None:
    """Writes a shard of training pairs."""
    path = FileSystems.join(output, job.task, job.source.name)
    with FileSystems.create(path, compression_type="uncompressed") as file:
        write_records(file, records)
