"""What ``ingest`` writes: shards, dead letters and the counts of both.

Every sink returns counts of what it wrote, ``((task, split, what), n)``.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from apache_beam.io.filesystems import FileSystems

from components.ingest.block import Block, Letters, Rejected
from components.ingest.inputs import SyntheticInput, TextInput
from components.ingest.layout import ACCEPTED, DEAD_LETTERS, REPORT
from components.text_shards import TRAIN, shard_bytes, shard_name

Counted = tuple[tuple[str, str, str], int]
_LINES_TOGETHER = 1 << 16


@dataclasses.dataclass(frozen=True)
class Sinks:
    """Where the results go.

    Attributes:
      output: The folder.
      inputs: What was read; dead letters name it.
      shards: Shards of training data, and of dead letters, of each task.
    """

    output: str
    inputs: Sequence[TextInput] | Sequence[SyntheticInput]
    shards: int

    def train(self, key: str, block: Block) -> Counted:
        """Writes one shard of training data: the pairs of one bucket."""
        task, index = parse_bucket(key)
        name = shard_name(TRAIN, index, self.shards)
        self._write(task, name, shard_bytes(_records(block)))
        return (task, TRAIN, ACCEPTED), len(block)

    def test(self, key: str, block: Block) -> Counted:
        """Writes one test set, whole."""
        task, _, split = key.rpartition("/")
        name = shard_name(split, 0, 1)
        self._write(task, name, shard_bytes(_records(block)))
        return (task, split, ACCEPTED), len(block)

    def dead_letters(self, key: str, parts: Iterable[Letters]) -> Iterator[Counted]:
        """Writes one shard of dead letters, in the order they were read."""
        task, index = parse_bucket(key)
        letters = sorted(letter for part in parts for letter in part.pairs)
        name = shard_name(task, index, self.shards)
        records = (self._dead_letter(task, letter) for letter in letters)
        self._write(DEAD_LETTERS, name, shard_bytes(records))
        split_and_rule = Counter(
            (self.inputs[letter.file].split, letter.rule) for letter in letters
        )
        for (split, rule), count in sorted(split_and_rule.items()):
            yield (task, split, rule), count

    def dead_letter_buckets(
        self, task: str, letters: Letters
    ) -> Iterator[tuple[str, Letters]]:
        """Sends dead letters to their shards."""
        found: dict[int, list[Rejected]] = {}
        for letter in letters.pairs:
            index = (letter.file + letter.line // _LINES_TOGETHER) % self.shards
            found.setdefault(index, []).append(letter)
        for index, part in found.items():
            yield bucket(task, index), Letters(part)

    def _dead_letter(self, task: str, letter: Rejected) -> dict[str, Any]:
        file = self.inputs[letter.file].name
        return {"task": task, **letter._asdict(), "file": file}

    def _write(self, folder: str, name: str, content: bytes) -> None:
        path = FileSystems.join(self.output, folder, name)
        with FileSystems.create(path, compression_type="uncompressed") as file:
            file.write(content)


def bucket(task: str, index: int) -> str:
    """Key of one shard of one task."""
    return f"{task}/{index:05d}"


def parse_bucket(key: str) -> tuple[str, int]:
    """The inverse of `bucket`."""
    task, _, index = key.rpartition("/")
    return task, int(index)


def write_report(
    output: str, counts: Sequence[Counted], problems: Sequence[str]
) -> None:
    """Writes what the step checks when Beam has finished."""
    report = {
        "counts": sorted([*names, count] for names, count in counts),
        "problems": sorted(problems),
    }
    path = FileSystems.join(output, REPORT)
    with FileSystems.create(path, compression_type="uncompressed") as file:
        file.write(json.dumps(report).encode())


def _records(block: Block) -> Iterator[dict[str, Any]]:
    known = not np.isnan(block.nats).all() or any(block.origins) or any(block.details)
    if not known:
        for source, target in zip(block.sources, block.targets, strict=True):
            yield {"source": source, "target": target}
        return
    columns = block.sources, block.targets, block.origins, block.details
    rows = zip(*columns, block.nats.tolist(), strict=True)
    for source, target, origin, details, nats in rows:
        record = {"source": source, "target": target}
        if origin:
            record["origin"] = origin
        if not math.isnan(nats):
            record["nats"] = nats
        record.update(details or {})
        yield record
