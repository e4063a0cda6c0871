"""The Beam graph of ``select``: train a score, score in batches, keep the best.

One element is one shard of ``ingest``. Scores are 4 bytes a pair; a task's scores,
and nothing else of it, come together in one worker to rank them.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.io.filesystems import FileSystems

from components.artifacts.text_shards import TRAIN, read_shard
from components.select import ranking, sorting
from components.select.combined import Scores
from components.select.config import Config
from components.select.sorting import Job, Key, Ranked

_BATCH = 4096


class Trains(Protocol):
    """What makes the scorer of a task in a worker; it is sent to there."""

    def scorer(self, task: str, shards: Sequence[Path]) -> Scores:
        """The scorer of the task whose training pairs are in these shards."""


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
    ranked = (
        cuts
        | "Apart" >> beam.FlatMap(Cut.shards)
        | "Spread again" >> (beam.Reshuffle())
    )
    if config.online:
        counts = (
            ranked
            | "Scatter" >> beam.FlatMap(sorting.scatter, sources, output)
            | "By place" >> beam.GroupByKey()
            | "Gather" >> beam.Map(sorting.gather, sources, output)
        )
    else:
        counts = ranked | "Write" >> beam.Map(_write_shard, sources, output)
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
      ranks: Shard -> ranks, int64; 0 for the best pair of the task.
      count: How many pairs are kept.
    """

    task: str
    scores: Mapping[int, np.ndarray]
    ranks: Mapping[int, np.ndarray]
    count: int

    def shards(self) -> Iterator[tuple[Key, Ranked]]:
        """What is known of every shard."""
        for index, ranks in self.ranks.items():
            yield (self.task, index), Ranked(self.scores[index], ranks, self.count)

    def described(self) -> dict[str, Any]:
        """Numbers for ``counts.json``."""
        scores = np.concatenate([self.scores[index] for index in self.ranks])
        ranks = np.concatenate(list(self.ranks.values()))
        places = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
        found = np.quantile(scores, places).tolist()
        return {
            "read": len(ranks),
            TRAIN: self.count,
            "threshold": round(float(scores[ranks == self.count - 1][0]), 4),
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
    return Cut(task, scores, *ranking.rank(scores, config.share(task)))


def _write_shard(
    element: tuple[Key, Ranked], jobs: Mapping[Key, Job], output: str
) -> tuple[str, int]:
    """Writes what is kept of a shard, in its order, and its scores.

    Returns:
      The task, and how many pairs are kept.
    """
    key, ranked = element
    job = jobs[key]
    sorting.write_scores(job, ranked, output)
    kept = ranked.kept.tolist()
    records = itertools.compress(read_shard(job.source), kept)
    sorting.write_pairs(job, records, output)
    return job.task, sum(kept)


def _report(path: str, cuts: Sequence[Cut], counts: Sequence[tuple[str, int]]) -> None:
    found = {}
    for cut in sorted(cuts, key=lambda cut: cut.task):
        written = sum(kept for task, kept in counts if task == cut.task)
        if written != cut.count:
            raise RuntimeError(
                f"select {cut.task}: {written} pairs written, {cut.count} chosen"
            )
        found[cut.task] = cut.described()
    with FileSystems.create(path, compression_type="uncompressed") as file:
        file.write(json.dumps(found).encode())
