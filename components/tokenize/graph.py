"""The Beam graph of ``tokenize``: one element is one shard, made from one shard."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Sequence

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.io.filesystems import FileSystems

from components.artifacts.token_index import (
    FILE_NAME,
    TaskTokens,
    TokenIndex,
    too_long_file,
)
from components.tokenize import shards
from components.tokenize.config import Config
from components.tokenize.vocabulary import Vocabulary

_SUFFIX = ".npy"
Counted = tuple[tuple[str, str], shards.Counts]


def build(
    pipeline: beam.Pipeline,
    config: Config,
    model: bytes,
    jobs: Sequence[shards.Job],
    output: str,
) -> None:
    """Adds the whole step to a pipeline.

    Args:
      pipeline: An empty pipeline.
      config: The step's configuration.
      model: The serialised vocabulary.
      jobs: The shards to make.
      output: Folder that they and their index go to.
    """
    counts = (
        pipeline
        | "Shards" >> beam.Create(list(jobs))
        | "Spread" >> beam.Reshuffle()
        | "Tokenize" >> beam.ParDo(Tokenize(config, model, output))
        | "Add up" >> beam.CombinePerKey(_sum)
    )
    _ = (
        pipeline
        | "Output" >> beam.Create([output])
        | "Index"
        >> beam.Map(
            lambda folder, counts: _write(
                FileSystems.join(folder, FILE_NAME),
                _index(config, jobs, counts).text().encode(),
            ),
            pvalue.AsList(counts),
        )
    )


class Tokenize(beam.DoFn):
    """A job to a shard of rows, its dead letters, and its counts."""

    def __init__(self, config: Config, model: bytes, output: str):
        self._config = config
        self._model = model
        self._output = output

    def setup(self) -> None:
        self._vocabulary = Vocabulary(self._model)

    def process(self, job: shards.Job) -> Iterator[Counted]:
        shard = shards.make(job, self._vocabulary, self._config)
        _write(FileSystems.join(self._output, _file(job)), shard.rows)
        if shard.dead_letters is not None:
            letters = too_long_file(job.task, job.name)
            _write(FileSystems.join(self._output, letters), shard.dead_letters)
        yield (job.task, job.split), shard.counts


def _sum(counts: Iterable[shards.Counts]) -> shards.Counts:
    return functools.reduce(operator.add, counts)


def _index(
    config: Config, jobs: Sequence[shards.Job], counts: Iterable[Counted]
) -> TokenIndex:
    lengths = config.source_length, config.target_length
    files: dict[tuple[str, str], list[str]] = {}
    for job in jobs:
        files.setdefault((job.task, job.split), []).append(_file(job))
    by_split = dict(counts)
    tasks = {
        task: TaskTokens(
            tag,
            {
                split: by_split[task, split].describe(shards_of_split, sum(lengths))
                for (of, split), shards_of_split in sorted(files.items())
                if of == task
            },
        )
        for task, tag in {job.task: job.tag for job in jobs}.items()
    }
    return TokenIndex(config.vocabulary_size, *lengths, tasks)


def _file(job: shards.Job) -> str:
    """Where the shard of a job goes, within the artifact."""
    return f"{job.task}/{job.name}{_SUFFIX}"


def _write(path: str, content: bytes) -> None:
    with FileSystems.create(path, compression_type="uncompressed") as file:
        file.write(content)
