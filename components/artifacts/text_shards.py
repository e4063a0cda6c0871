"""Shards of sentence pairs: what ``ingest`` writes and ``tokenize`` reads.

A shard is a gzip file of JSON objects, one a line: ``source``, ``target`` and,
in test sets, ``origin`` and ``nats`` where they are known. The same pairs give
the same bytes: the gzip header carries neither a name nor a time.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from components.artifacts.manifest import Manifest

SUFFIX = ".jsonl.gz"
TRAIN = "train"
IN_DOMAIN = "in_domain"
_COMPRESSION_LEVEL = 3  # twice as fast as the default, a tenth larger
_RECORDS_TOGETHER = 1024


def shard_name(split: str, index: int, count: int, suffix: str = SUFFIX) -> str:
    """``train-00003-of-00008.jsonl.gz``."""
    return f"{split}-{index:05d}-of-{count:05d}{suffix}"


def shard_bytes(records: Iterable[Mapping[str, Any]]) -> bytes:
    """The bytes of a shard that holds these records in this order."""
    packed = io.BytesIO()
    write_records(packed, records)
    return packed.getvalue()


def write_records(raw: BinaryIO, records: Iterable[Mapping[str, Any]]) -> None:
    """Writes the bytes of a shard to a file as the records come."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    with gzip.GzipFile("", "wb", _COMPRESSION_LEVEL, raw, mtime=0) as file:
        records = iter(records)
        while together := list(itertools.islice(records, _RECORDS_TOGETHER)):
            file.write("".join(f"{encode(r)}\n" for r in together).encode())


def read_shard(path: Path | str) -> Iterator[dict[str, Any]]:
    """The records of one shard, in its order."""
    with gzip.open(path, "rb") as file:
        while lines := list(itertools.islice(file, _RECORDS_TOGETHER)):
            # One call for many records: half the time of a call for each.
            yield from json.loads(b"[" + b",".join(lines) + b"]")


def split_shards(directory: Path, split: str) -> list[Path]:
    """The shards of a split of one task, in order; empty when there are none."""
    return sorted(directory.glob(f"{split}-?????-of-?????{SUFFIX}"))


def splits(directory: Path) -> list[str]:
    """The splits of one task: ``train`` first, then the test sets by name."""
    names = {path.name[: -len("-00000-of-00000" + SUFFIX)] for path in _all(directory)}
    return sorted(names, key=lambda name: (name != TRAIN, name))


def training_pairs(made: Manifest, tasks: Sequence[str]) -> dict[str, int]:
    """Training pairs of each task, as ``ingest`` or ``select`` counted them."""
    return {task: made.counts.get(task, {}).get(TRAIN, 0) for task in tasks}


def _all(directory: Path) -> Iterator[Path]:
    return directory.glob(f"*-?????-of-?????{SUFFIX}")
