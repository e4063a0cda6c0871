"""The Beam graph of ``select``: train a score, score in batches, keep the best.

One element is one shard of ``ingest``. Scores are 4 bytes a pair; a task's scores,
and nothing else of it, come together in one worker to find where to cut.
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

from components.select import ranking
from components.select.config import Config
from components.select.layout import SCORES, SCORES_SUFFIX
from components.text_shards import SUFFIX, TRAIN, read_shard, write_records

_BATCH = 4096


class Scores(Protocol):
    """What scores the pairs of one task."""

    def scores(self, sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
        """One score a pair, higher is better, float32 [n]."""


class Trains(Protocol):
    """What makes the scorer of a task in a worker; it is sent to there."""

    def scorer(self, task: str, shards: Sequence[Path]) -> Scores:
        """The scorer of the task whose training pairs are in these shards."""


@dataclasses.dataclass(frozen=True)
class Job:
    """One shard of training pairs.

    Attributes:
      task: Its task.
      index: Its number.
      source: The shard of ``ingest``.
    """

    task: str
    index: int
    source: Path

    @property
    def scores_name(self) -> str:
        """Name of the table of scores beside the shard."""
        stem = self.source.name.removesuffix(SUFFIX).removeprefix(TRAIN)
        return f"{SCORES}{stem}{SCORES_SUFFIX}"


Key = tuple[str, int]


def build(
    pipeline: beam.Pipeline,
    config: Config,
    trainer: Trains,
    jobs: Sequence[Job],
    output: str,
    report: str,
) -> None:
    """Adds the whole step to a pipeline.

    Args:
      pipeline: An empty pipeline.
      config: The step's configuration.
      trainer: Makes the scorers.
      jobs: Every shard of training pairs.
      output: Folder of the results.
      report: File that the counts of each task go to, a JSON object.
    """
    by_task: dict[str, list[Path]] = {}
    for job in jobs:
        by_task.setdefault(job.task, []).append(job.source)
    scorers = (
        pipeline
        | "Tasks" >> beam.Create(list(by_task.items()))
        | "Spread tasks" >> beam.Reshuffle()
        | "Train" >> beam.MapTuple(lambda task, own: (task, trainer.scorer(task, own)))
    )
    scores = (
        pipeline
        | "Shards" >> beam.Create(list(jobs))
        | "Spread" >> beam.Reshuffle()
        | "Score" >> beam.Map(_score, pvalue.AsDict(scorers))
    )
    cuts = (
        scores | "By task" >> beam.GroupByKey() | "Choose" >> beam.Map(_choose, config)
    )
    sources = {(job.task, job.index): job for job in jobs}
    counts = (
        cuts
        | "Apart" >> beam.FlatMap(lambda cut: cut.shards())
        | "Spread again" >> beam.Reshuffle()
        | "Write" >> beam.Map(_write_shard, sources, output)
    )
    _ = (
        pipeline
        | "Output" >> beam.Create([report])
        | "Report" >> beam.Map(_report, pvalue.AsList(cuts), pvalue.AsList(counts))
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Cut:
    """What is kept of one task.

    Attributes:
      task: The task.
      scores: Shard -> scores, float32.
      kept: Shard -> bool, one a pair.
      threshold: Score of the worst pair that is kept.
    """

    task: str
    scores: Mapping[int, np.ndarray]
    kept: Mapping[int, np.ndarray]
    threshold: float

    def shards(self) -> Iterator[tuple[Key, np.ndarray]]:
        """The table of scores of every shard."""
        for index, kept in self.kept.items():
            yield (self.task, index), ranking.table(self.scores[index], kept)

    def described(self) -> dict[str, Any]:
        """Numbers for ``counts.json``."""
        joined = np.concatenate(list(self.scores.values()))
        places = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
        found = np.quantile(joined, places).tolist()
        return {
            "threshold": round(self.threshold, 4),
            "quantiles": {
                f"{place:g}": round(score, 4)
                for place, score in zip(places, found, strict=True)
            },
        }


def _score(job: Job, scorers: Mapping[str, Scores]) -> tuple[str, tuple]:
    """The scores of a shard, a batch at a time."""
    scorer = scorers[job.task]
    records = read_shard(job.source)
    parts = [np.zeros(0, np.float32)]
    while batch := list(itertools.islice(records, _BATCH)):
        sources = [record["source"] for record in batch]
        targets = [record["target"] for record in batch]
        parts.append(scorer.scores(sources, targets).astype(np.float32))
    return job.task, (job.index, np.concatenate(parts))


def _choose(
    scored: tuple[str, Iterable[tuple[int, np.ndarray]]], config: Config
) -> Cut:
    """The cut of one task, from the scores of all its shards."""
    task, parts = scored
    scores = dict(sorted(parts, key=lambda part: part[0]))
    kept, threshold = ranking.choose(scores, config.share(task))
    return Cut(task, scores, kept, threshold)


def _write_shard(
    scored: tuple[Key, np.ndarray], jobs: Mapping[Key, Job], output: str
) -> tuple[str, int, int]:
    """Writes what is kept of a shard, and its scores.

    Returns:
      The task, the pairs of the shard, and how many of them are kept.
    """
    job, table = jobs[scored[0]], scored[1]
    packed = io.BytesIO()
    np.save(packed, table, allow_pickle=False)
    path = FileSystems.join(output, job.task, job.scores_name)
    with FileSystems.create(path, compression_type="uncompressed") as file:
        file.write(packed.getvalue())
    kept = table[ranking.KEPT].tolist()
    path = FileSystems.join(output, job.task, job.source.name)
    with FileSystems.create(path, compression_type="uncompressed") as file:
        write_records(file, itertools.compress(read_shard(job.source), kept))
    return job.task, len(kept), sum(kept)


def _report(
    path: str, cuts: Sequence[Cut], counts: Sequence[tuple[str, int, int]]
) -> None:
    found = {}
    for cut in sorted(cuts, key=lambda cut: cut.task):
        own = [(read, kept) for task, read, kept in counts if task == cut.task]
        read, kept = map(sum, zip(*own, strict=True))
        found[cut.task] = {"read": read, TRAIN: kept, **cut.described()}
    with FileSystems.create(path, compression_type="uncompressed") as file:
        file.write(json.dumps(found).encode())
