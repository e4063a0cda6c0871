"""The sentences that the vocabulary is trained on, drawn in Beam.

Shards are in the order of a hash, so their beginning is a uniform sample without
replacement, the same one every time: a worker copies the beginning of a task's
shards, and nobody reads the rest.
"""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.io.filesystems import FileSystems

from components.artifacts.text_shards import SUFFIX, TRAIN, read_shard, split_shards

_REPORT = "counts.json"


@dataclasses.dataclass(frozen=True)
class Draw:
    """What to copy for one task.

    Attributes:
      task: The task.
      files: Its shards, in order.
      most: Pairs to copy at most.
    """

    task: str
    files: tuple[str, ...]
    most: int


def build(
    pipeline: beam.Pipeline,
    ingest: Path,
    tasks: Sequence[str],
    most: int,
    folder: str,
) -> None:
    """Adds the draw to a pipeline.

    Args:
      pipeline: An empty pipeline.
      ingest: The artifact of ``ingest``.
      tasks: Directions such as ``en-de``.
      most: Pairs of each task at most.
      folder: Where the pairs go, and how many each task has.
    """
    draws = [
        Draw(task, tuple(map(str, split_shards(ingest / task, TRAIN))), most)
        for task in sorted(tasks)
    ]
    counts = (
        pipeline
        | "Tasks" >> beam.Create(draws)
        | "Spread" >> beam.Reshuffle()
        | "Draw" >> beam.Map(_copy, folder)
    )
    _ = (
        pipeline
        | "Folder" >> beam.Create([folder])
        | "Report" >> beam.Map(_write_counts, pvalue.AsList(counts))
    )


def sentences_of(
    folder: Path, tasks: Sequence[str], sentences: int, temperature: float | None
) -> dict[str, list[str]]:
    """The training text of each language.

    Args:
      folder: Where `build` put the pairs.
      tasks: Directions such as ``en-de``.
      sentences: Sentences of each language, or pairs of a task on average.
      temperature: None: as many sentences of every language, at most those of the
        language that has the fewest. A number: pairs of each task in proportion to
        ``n ** (1 / temperature)``.

    Returns:
      Language -> sentences, in an order that depends on nothing else.
    """
    counts = json.loads((folder / _REPORT).read_text(encoding="utf-8"))
    shares = pairs_of_tasks(
        {task: counts[task] for task in tasks}, sentences, temperature
    )
    sides: dict[str, list[Iterator[str]]] = {}
    for task in sorted(tasks):
        for language, key in zip(task.split("-", 1), ("source", "target"), strict=True):
            stream = _side(folder / f"{task}{SUFFIX}", key, shares[task])
            sides.setdefault(language, []).append(stream)
    found = {
        language: _alternate(streams) for language, streams in sorted(sides.items())
    }
    if temperature is not None:
        return {language: list(texts) for language, texts in found.items()}
    equal = {
        language: list(itertools.islice(texts, sentences))
        for language, texts in found.items()
    }
    fewest = min(map(len, equal.values()))
    return {language: texts[:fewest] for language, texts in equal.items()}


def pairs_of_tasks(
    counts: Mapping[str, int], sentences: int, temperature: float | None
) -> dict[str, int]:
    """Pairs of each task, ``sentences`` a task on average.

    Example:
      Proportional, and flatter; a task gives no more than it has.

      >>> pairs_of_tasks({"en-de": 900, "en-zh": 100}, 50, 1.0)
      {'en-de': 90, 'en-zh': 10}
      >>> pairs_of_tasks({"en-de": 900, "en-zh": 100}, 50, 2.0)
      {'en-de': 75, 'en-zh': 25}
    """
    if temperature is None:
        return {task: min(count, sentences) for task, count in counts.items()}
    weights = {task: count ** (1 / temperature) for task, count in counts.items()}
    total = sum(weights.values()) or 1.0
    wanted = sentences * len(counts)
    return {
        task: min(counts[task], max(1, round(wanted * weight / total)))
        for task, weight in weights.items()
    }


def most_of_a_task(
    sentences: int, tasks: Sequence[str], temperature: float | None
) -> int:
    """Pairs of one task that may be wanted, however the tasks differ in size."""
    return sentences if temperature is None else sentences * len(tasks)


def _copy(draw: Draw, folder: str) -> tuple[str, int]:
    """Copies the beginning of a task's shards; returns how many pairs it has."""
    lines = _lines(draw.files)
    path = FileSystems.join(folder, draw.task + SUFFIX)
    count = 0
    with FileSystems.create(path, compression_type="uncompressed") as raw:
        with gzip.GzipFile("", "wb", 1, raw, mtime=0) as file:
            for line in itertools.islice(lines, draw.most):
                file.write(line)
                count += 1
    return draw.task, count + sum(1 for _ in lines)


def _lines(files: Iterable[str]) -> Iterator[bytes]:
    for name in files:
        with FileSystems.open(name, compression_type="uncompressed") as raw:
            with gzip.GzipFile(fileobj=raw, mode="rb") as file:
                yield from file


def _write_counts(folder: str, counts: Sequence[tuple[str, int]]) -> None:
    path = FileSystems.join(folder, _REPORT)
    with FileSystems.create(path, compression_type="uncompressed") as file:
        file.write(json.dumps(dict(counts)).encode())


def _side(path: Path, key: str, count: int) -> Iterator[str]:
    return (record[key] for record in itertools.islice(read_shard(path), count))


def _alternate(streams: Sequence[Iterator[str]]) -> Iterator[str]:
    """One of each in turn until all are exhausted."""
    nothing = object()
    for group in itertools.zip_longest(*streams, fillvalue=nothing):
        yield from (text for text in group if text is not nothing)
