"""The Beam graph of ``tokenize``: one element is one shard, made from one shard."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.io.filesystems import FileSystems

from components.artifacts.text_shards import SUFFIX as TEXT_SUFFIX
from components.tokenize import shards
from components.tokenize.config import Config
from components.tokenize.layout import DEAD_LETTERS, SUFFIX
from components.tokenize.vocabulary import Vocabulary

Counted = tuple[tuple[str, str], Counter[str]]


def build(
    pipeline: beam.Pipeline,
    config: Config,
    model: bytes,
    jobs: Sequence[shards.Job],
    output: str,
    report: str,
) -> None:
    """Adds the whole step to a pipeline.

    Args:
      pipeline: An empty pipeline.
      config: The step's configuration.
      model: The serialised vocabulary.
      jobs: The shards to make.
      output: Folder that they go to.
      report: File that the counts of each split go to, a JSON list.
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
        | "Output" >> beam.Create([report])
        | "Report" >> beam.Map(_write_report, pvalue.AsList(counts))
    )


class Tokenize(beam.DoFn):
    """A job to a TFRecord file, its dead letters, and its counts."""

    def __init__(self, config: Config, model: bytes, output: str):
        self._config = config
        self._model = model
        self._output = output
        self._vocabulary: Vocabulary | None = None

    def setup(self) -> None:
        self._vocabulary = Vocabulary(self._model)

    def process(self, job: shards.Job) -> Iterator[Counted]:
        shard = shards.make(job, self._vocabulary, self._config)
        self._write(job.task, job.name + SUFFIX, shard.rows)
        if shard.dead_letters is not None:
            name = f"{job.task}-{job.name}{TEXT_SUFFIX}"
            self._write(DEAD_LETTERS, name, shard.dead_letters)
        yield (job.task, job.split), shard.counts

    def _write(self, folder: str, name: str, content: bytes) -> None:
        _write(FileSystems.join(self._output, folder, name), content)


def _sum(parts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


def _write_report(path: str, counts: Sequence[Counted]) -> None:
    rows = sorted([*key, dict(sorted(count.items()))] for key, count in counts)
    _write(path, json.dumps(rows).encode())


def _write(path: str, content: bytes) -> None:
    with FileSystems.create(path, compression_type="uncompressed") as file:
        file.write(content)
