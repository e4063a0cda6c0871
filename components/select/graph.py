"""The Beam graph of ``select``: train a score, score in batches, keep the best.

One element is one shard of ``ingest``. Scores are 4 bytes a pair; a task's scores,
and nothing else of it, come together in one worker to rank them. What is kept stays in
its shard and in its order or, for online selection, is sorted: of ``n`` pairs that are
kept and ``s`` shards, the pair of rank ``r`` goes to shard ``r s / n``. Rows that are
packed from sorted shards are of pairs with nearly the same score, the best ones first.
"""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.io.filesystems import FileSystems

from components.artifacts.text_shards import (
    TRAIN,
    read_shard,
    shard_name,
    write_records,
)
from components.select.config import Config
from components.select.contrastive_score import Scorer

COUNTS = "counts.json"
_SCORES = "scores"
_BATCH = 4096
_QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


class Scorers(Protocol):
    """What makes the scorer of a task in a worker; it is sent to there."""

    def scorer(self, task: str, shards: Sequence[Path]) -> Scorer:
        """The scorer of the task whose training pairs are in these shards."""


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


@dataclasses.dataclass(frozen=True)
class TaskCounts:
    """One task in ``counts.json``.

    Attributes:
      read: Training pairs of ``ingest``.
      train: Those that are kept.
      threshold: The score of the worst pair that is kept.
      quantiles: Of the scores, by their share.
    """

    read: int
    train: int
    threshold: float
    quantiles: Mapping[str, float]


@dataclasses.dataclass(frozen=True, eq=False)
class Ranked:
    """What is known of the pairs of one shard.

    Attributes:
      job: The shard.
      scores: float32, one a pair.
      ranks: int64, one a pair; within the task, 0 for the best.
      kept: How many pairs of the task are kept.
    """

    job: Job
    scores: np.ndarray
    ranks: np.ndarray
    kept: int


# A sorted shard by task, number and how many the task has; and, of the kept pairs that
# go there from one shard of ``ingest``, the ranks, rising, and the records.
Sorted = tuple[str, int, int]
Batch = tuple[np.ndarray, Sequence[Mapping[str, Any]]]


def build(
    pipeline: beam.Pipeline,
    config: Config,
    scorers: Scorers,
    jobs: Sequence[Job],
    output: str,
) -> None:
    """Adds the whole step to a pipeline.

    Args:
      pipeline: An empty pipeline.
      config: The step's configuration.
      scorers: Makes the scorers.
      jobs: Every shard of training pairs.
      output: Folder that what is kept, the scores and the counts go to.
    """
    by_task: dict[str, list[Path]] = {}
    for job in jobs:
        by_task.setdefault(job.task, []).append(job.source)
    trained = (
        pipeline
        | "Tasks" >> beam.Create(list(by_task.items()))
        | "Spread tasks" >> beam.Reshuffle()
        | "Train"
        >> beam.MapTuple(lambda task, paths: (task, scorers.scorer(task, paths)))
    )
    ranked = (
        pipeline
        | "Shards" >> beam.Create(list(jobs))
        | "Spread" >> beam.Reshuffle()
        | "Score" >> beam.Map(_score, pvalue.AsDict(trained))
        | "By task" >> beam.GroupByKey()
        | "Rank" >> beam.MapTuple(lambda _, scored: rank(scored, config))
    )
    shards = ranked | "Apart" >> beam.FlatMap(iter) | "Spread again" >> beam.Reshuffle()
    _ = shards | "Write scores" >> beam.Map(_write_scores, output)
    if config.online:
        _ = (
            shards
            | "Scatter" >> beam.FlatMap(_scatter)
            | "By shard" >> beam.GroupByKey()
            | "Write sorted" >> beam.Map(_write_sorted, output)
        )
    else:
        _ = shards | "Write kept" >> beam.Map(_write_kept, output)
    counts = ranked | "Count" >> beam.Map(_counts)
    _ = (
        pipeline
        | "Output" >> beam.Create([output])
        | "Write counts" >> beam.Map(_write_counts, pvalue.AsList(counts))
    )


def rank(scored: Iterable[tuple[Job, np.ndarray]], config: Config) -> list[Ranked]:
    """Ranks the pairs of a task; the best share is kept, exactly.

    Example: scores ``[3, 1]`` and ``[2, 2]`` of two shards get the ranks ``[0, 3]`` and
    ``[1, 2]``; of a share of .5 the 3 and the first 2 are kept.

    Args:
      scored: Every shard of the task, with the scores of its pairs. A score that is not
        a number is the worst.
      config: What share is kept; at least one pair.
    """
    parts = sorted(scored, key=lambda part: part[0].index)
    joined = np.concatenate([scores for _, scores in parts])
    joined = np.where(np.isnan(joined), -np.inf, joined)
    ranks = np.empty(len(joined), np.int64)
    ranks[np.argsort(-joined, kind="stable")] = np.arange(len(joined))
    bounds = np.cumsum([len(scores) for _, scores in parts])[:-1]
    share = config.share(parts[0][0].task)
    kept = min(len(joined), max(1, round(share * len(joined))))
    return [
        Ranked(job, scores, own_ranks, kept)
        for (job, scores), own_ranks in zip(parts, np.split(ranks, bounds), strict=True)
    ]


def _score(job: Job, scorers: Mapping[str, Scorer]) -> tuple[str, tuple]:
    """The scores of a shard, a batch at a time."""
    scorer = scorers[job.task]
    records = read_shard(job.source)
    parts = [np.zeros(0, np.float32)]
    while batch := list(itertools.islice(records, _BATCH)):
        sources = [record["source"] for record in batch]
        targets = [record["target"] for record in batch]
        parts.append(scorer.scores(sources, targets).astype(np.float32))
    return job.task, (job, np.concatenate(parts))


def _write_scores(shard: Ranked, output: str) -> None:
    """A table beside the shard: a row a pair, in the order of ``ingest``."""
    table = np.empty(len(shard.scores), [("score", "<f4"), ("kept", "?")])
    table["score"], table["kept"] = shard.scores, shard.ranks < shard.kept
    packed = io.BytesIO()
    np.save(packed, table, allow_pickle=False)
    job = shard.job
    name = shard_name(_SCORES, job.index, job.count, ".npy")
    _write(FileSystems.join(output, job.task, name), packed.getvalue())


def _write_kept(shard: Ranked, output: str) -> None:
    """Writes what is kept of a shard, in its order."""
    kept = (shard.ranks < shard.kept).tolist()
    records = itertools.compress(read_shard(shard.job.source), kept)
    job = shard.job
    _write_pairs((job.task, job.index, job.count), records, output)


def _scatter(shard: Ranked) -> Iterator[tuple[Sorted, Batch]]:
    """The kept pairs of a shard for each sorted shard, also where there are none."""
    job, kept = shard.job, int((shard.ranks < shard.kept).sum())
    records = list(read_shard(job.source))
    best = np.argsort(shard.ranks)[:kept]
    places = shard.ranks[best] * job.count // shard.kept
    for place in range(job.count):
        chosen = best[places == place]
        batch = [records[i] for i in chosen.tolist()]
        yield (job.task, place, job.count), (shard.ranks[chosen], batch)


def _write_sorted(gathered: tuple[Sorted, Iterable[Batch]], output: str) -> None:
    key, batches = gathered
    ranks, records = zip(*batches, strict=True)
    joined = list(itertools.chain.from_iterable(records))
    order = np.argsort(np.concatenate(ranks)).tolist()
    _write_pairs(key, (joined[i] for i in order), output)


def _counts(shards: Sequence[Ranked]) -> tuple[str, TaskCounts]:
    scores = np.concatenate([shard.scores for shard in shards])
    ranks = np.concatenate([shard.ranks for shard in shards])
    kept = shards[0].kept
    quantiles = np.quantile(scores, _QUANTILES).tolist()
    return shards[0].job.task, TaskCounts(
        read=len(ranks),
        train=kept,
        threshold=round(float(scores[ranks == kept - 1][0]), 4),
        quantiles={
            f"{share:g}": round(score, 4)
            for share, score in zip(_QUANTILES, quantiles, strict=True)
        },
    )


def _write_counts(output: str, counts: Sequence[tuple[str, TaskCounts]]) -> None:
    record = {task: dataclasses.asdict(counted) for task, counted in sorted(counts)}
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    _write(FileSystems.join(output, COUNTS), text.encode())


def _write_pairs(
    shard: Sorted, records: Iterable[Mapping[str, Any]], output: str
) -> None:
    task, index, count = shard
    path = FileSystems.join(output, task, shard_name(TRAIN, index, count))
    with FileSystems.create(path, compression_type="uncompressed") as file:
        write_records(file, records)


def _write(path: str, content: bytes) -> None:
    with FileSystems.create(path, compression_type="uncompressed") as file:
        file.write(content)
