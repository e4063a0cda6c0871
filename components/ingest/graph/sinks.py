"""What ``ingest`` writes: shards, dead letters, and the report on both.

Every sink yields counts of what it wrote, ``(task, split, what), n``, and tagged
``samples`` of it, ``(task, split, what), [(digest, source, target), ...]``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from apache_beam import pvalue
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from components.artifacts.text_shards import TRAIN, shard_name, write_records
from components.ingest import pair_tables
from components.ingest.graph import measures
from components.ingest.layout import ACCEPTED, DEAD_LETTERS, REPORT, TEMPORARY

SAMPLES = "samples"
_LINES_TOGETHER = 1 << 16  # dead letters of neighbouring lines share a shard
_LETTER = ("rule", "source", "target")
Written = Iterator[tuple[measures.Names, int] | pvalue.TaggedOutput]


@dataclasses.dataclass(frozen=True)
class Sinks:
    """Where the results go.

    Attributes:
      output: The folder.
      inputs: What was read; dead letters name it.
      shards: Shards of training data, and of dead letters, of each task.
      seed: Seed by which samples are drawn.
    """

    output: str
    inputs: Sequence[Any]
    shards: int
    seed: int = 0

    def train(
        self, task: str, index: int, pairs: pa.Table, order: np.ndarray
    ) -> Written:
        """Writes one shard of training data: the pairs at these positions."""
        # Not what is known beside: it would only matter in a test set.
        rows = pair_tables.rows(pairs, order, ("source", "target"))
        records = ({"source": source, "target": target} for source, target in rows)
        path = task, shard_name(TRAIN, index, self.shards)
        with _created(self.output, *path) as file:
            write_records(file, records)
        yield (task, TRAIN, ACCEPTED), len(order)
        yield from measures.measure(task, TRAIN, pairs, order)
        drawn = measures.sample(task, pairs, order[: measures.SAMPLES], self.seed)
        yield pvalue.TaggedOutput(SAMPLES, ((task, TRAIN, ACCEPTED), drawn))

    def test(self, key: tuple[str, str], packed: bytes) -> Written:
        """Writes one test set, whole."""
        task, split = key
        pairs = pair_tables.unpack([packed], pair_tables.ACCEPTED)
        with _created(self.output, task, shard_name(split, 0, 1)) as file:
            write_records(file, _records(pairs))
        yield (task, split, ACCEPTED), len(pairs)
        yield from measures.measure(task, split, pairs, np.arange(len(pairs)))

    def dead_letters(self, key: tuple[str, int], parts: Sequence[bytes]) -> Written:
        """Writes one shard of dead letters, in the order they were read."""
        task, index = key
        letters = pair_tables.unpack(parts, pair_tables.REJECTED).sort_by("place")
        with _created(
            self.output, DEAD_LETTERS, shard_name(task, index, self.shards)
        ) as file:
            write_records(file, self._letters(task, letters))
        rules = letters["rule"].to_numpy()
        files, _ = pair_tables.files_and_lines(pair_tables.column(letters, "place"))
        splits = np.array([entry.split for entry in self.inputs], object)[files]
        for split, rule in sorted(set(zip(splits, rules, strict=True))):
            order = np.flatnonzero((rules == rule) & (splits == split))
            yield (task, split, rule), len(order)
            drawn = measures.sample(task, letters, order, self.seed)
            yield pvalue.TaggedOutput(SAMPLES, ((task, split, rule), drawn))

    def _letters(self, task: str, letters: pa.Table) -> Iterator[dict[str, Any]]:
        places = pair_tables.files_and_lines(pair_tables.column(letters, "place"))
        files, lines = (numbers.tolist() for numbers in places)
        rows = pair_tables.rows(letters, np.arange(len(letters)), _LETTER)
        for file, line, row in zip(files, lines, rows, strict=True):
            rule, source, target = row
            yield {
                "task": task,
                "file": self.inputs[file].name,
                "line": line,
                "rule": rule,
                "source": source,
                "target": target,
            }


def write_report(
    output: str,
    counts: Sequence[tuple[measures.Names, int]],
    samples: Sequence[tuple[measures.Names, measures.Sample]],
    problems: Sequence[str],
    checks: Sequence[Mapping[str, Any]],
) -> None:
    """Writes what the step checks and reports when Beam has finished."""
    report = {
        "counts": sorted([*names, count] for names, count in counts),
        "samples": sorted([*names, drawn] for names, drawn in samples),
        "problems": sorted(set(problems)),
        "checks": sorted(checks, key=lambda c: (c["task"], c["split"], c["name"])),
    }
    with _created(output, REPORT) as file:
        file.write(json.dumps(report).encode())


def dead_letter_shard(places: np.ndarray, shards: int) -> np.ndarray:
    """The shard that each dead letter goes to, int64 [n]."""
    files, lines = pair_tables.files_and_lines(places)
    return (files + lines // _LINES_TOGETHER) % shards


@contextlib.contextmanager
def _created(*path: str) -> Iterator[BinaryIO]:
    """A file that gets its name when it is complete, in any file system of Beam.

    A runner may try a bundle again, or twice at once: each attempt writes a file of
    its own, and all of them the same bytes.
    """
    final = FileSystems.join(*path)
    temporary = f"{final}.{uuid.uuid4().hex}{TEMPORARY}"
    plain = CompressionTypes.UNCOMPRESSED
    with FileSystems.create(temporary, compression_type=plain) as file:
        yield file
    FileSystems.rename([temporary], [final])


def _records(pairs: pa.Table) -> Iterator[dict[str, Any]]:
    """The pairs of a test set with whatever is known of each."""
    names = ("source", "target", "origin", "nats", "details")
    for row in pair_tables.rows(pairs, np.arange(len(pairs)), names):
        record = dict(zip(names, row, strict=True))
        details = json.loads(record.pop("details") or "{}")
        known = {name: value for name, value in record.items() if value is not None}
        yield {**known, **details}
