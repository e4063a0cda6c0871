"""What ``ingest`` writes: shards, dead letters and the counts of both.

Every sink yields counts of what it wrote, ``((task, split, what), n)``, and samples
of it, ``((task, split, what), [(key, source, target), ...])``.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from apache_beam.io.filesystems import FileSystems

from components.artifacts.text_shards import TRAIN, shard_name, write_records
from components.ingest import card, spill
from components.ingest.block import Block, Letters, Rejected
from components.ingest.layout import ACCEPTED, DEAD_LETTERS, REPORT

Counted = tuple[tuple[str, str, str], int]
Sampled = tuple[tuple[str, str, str], list[tuple[int, str, str]]]
_LINES_TOGETHER = 1 << 16


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
        self, key: str, packed: spill.Packed, order: np.ndarray
    ) -> Iterator[Counted | Sampled]:
        """Writes one shard of training data: the pairs at these positions."""
        task, index = parse_bucket(key)
        name = shard_name(TRAIN, index, self.shards)
        # Not what is known beside: it would only matter in a test set.
        pairs = packed.pairs(order)
        self._write(task, name, ({"source": s, "target": t} for _, s, t in pairs))
        yield (task, TRAIN, ACCEPTED), len(order)
        yield from card.measure(task, TRAIN, packed, order)
        first = packed.columns[spill.PAIR_KEYS, order[: card.SAMPLES]].tolist()
        rows = packed.pairs(order[: card.SAMPLES])
        drawn = [(k, s, t) for k, (_, s, t) in zip(first, rows, strict=True)]
        yield (task, TRAIN, ACCEPTED), drawn

    def test(self, key: str, block: Block) -> Iterator[Counted | Sampled]:
        """Writes one test set, whole."""
        task, _, split = key.rpartition("/")
        self._write(task, shard_name(split, 0, 1), _records(block))
        yield (task, split, ACCEPTED), len(block)
        packed = spill.pack_block(block)
        yield from card.measure(task, split, packed, np.arange(len(block)))

    def dead_letters(
        self, key: str, refs: Iterable[spill.Ref | None]
    ) -> Iterator[Counted | Sampled]:
        """Writes one shard of dead letters, in the order they were read."""
        task, index = parse_bucket(key)
        packed = spill.read(sorted(ref for ref in refs if ref is not None))
        order = np.argsort(packed.columns[0]) if len(packed) else np.zeros(0, int)
        name = shard_name(task, index, self.shards)
        self._write(DEAD_LETTERS, name, self._letters(task, packed, order))
        found: dict[tuple[str, str], list[int]] = {}
        files = spill.unplaced(packed.columns[0])[0].tolist()
        for position in order.tolist():
            reason = self.inputs[files[position]].split, packed.extras[position]
            found.setdefault(reason, []).append(position)
        for (split, rule), positions in sorted(found.items()):
            yield (task, split, rule), len(positions)
            yield (task, split, rule), card.draw(task, packed, positions, self.seed)

    def _letters(
        self, task: str, packed: spill.Packed, order: np.ndarray
    ) -> Iterator[dict[str, Any]]:
        files, lines = spill.unplaced(packed.columns[0])
        for position, source, target in packed.pairs(order):
            yield {
                "task": task,
                "file": self.inputs[files[position]].name,
                "line": int(lines[position]),
                "rule": packed.extras[position],
                "source": source,
                "target": target,
            }

    def _write(
        self, folder: str, name: str, records: Iterable[Mapping[str, Any]]
    ) -> None:
        path = FileSystems.join(self.output, folder, name)
        with FileSystems.create(path, compression_type=spill.PLAIN) as file:
            write_records(file, records)


def dead_letter_bucket(files: np.ndarray, lines: np.ndarray, shards: int) -> np.ndarray:
    """The shard that each dead letter goes to, int64 [n]."""
    together = lines.astype(np.int64) // _LINES_TOGETHER
    return (files.astype(np.int64) + together) % shards


def dead_letter_buckets(
    letters: Letters, shards: int
) -> Iterator[tuple[int, list[Rejected]]]:
    """Dead letters by the shard that they go to."""
    found: dict[int, list[Rejected]] = {}
    for letter in letters.pairs:
        index = (letter.file + letter.line // _LINES_TOGETHER) % shards
        found.setdefault(index, []).append(letter)
    yield from found.items()


def bucket(task: str, index: int) -> str:
    """Key of one shard of one task."""
    return f"{task}/{index:05d}"


def parse_bucket(key: str) -> tuple[str, int]:
    """The inverse of `bucket`."""
    task, _, index = key.rpartition("/")
    return task, int(index)


def write_report(
    output: str,
    counts: Sequence[Counted],
    samples: Sequence[Sampled],
    problems: Sequence[str],
) -> None:
    """Writes what the step checks and tells when Beam has finished."""
    report = {
        "counts": sorted([*names, count] for names, count in counts),
        "samples": sorted([*names, drawn] for names, drawn in samples),
        "problems": sorted(set(problems)),
    }
    path = FileSystems.join(output, REPORT)
    with FileSystems.create(path, compression_type=spill.PLAIN) as file:
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
