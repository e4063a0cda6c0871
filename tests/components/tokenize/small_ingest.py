"""An artifact of ``ingest`` on disk: two tasks of different size, in two shards."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.artifacts.text_shards import shard_bytes

TASKS = ("en-de", "en-zh")
SIZES = {"en-de": (500, 400), "en-zh": (60, 40)}


def text(task: str, number: int) -> dict[str, str]:
    rng = random.Random(f"{task} {number}")
    words = [
        f"{rng.choice('bdfg')}{rng.choice('aeiou')}" for _ in range(1 + number % 9)
    ]
    joined = " ".join(words)
    return {"source": f"{joined} {number}", "target": f"{joined.upper()} {task[-2:]}"}


def records_of(task: str) -> list[list[dict[str, str]]]:
    first, second = SIZES[task]
    numbers = range(first), range(first, first + second)
    return [[text(task, number) for number in part] for part in numbers]


def write_ingest(folder: Path) -> Path:
    """Writes `records_of` each task."""
    for task in TASKS:
        (folder / task).mkdir(parents=True)
        for index, records in enumerate(records_of(task)):
            path = folder / task / f"train-0000{index}-of-00002.jsonl.gz"
            path.write_bytes(shard_bytes(records))
    write_manifest(folder, {task: {"train": sum(SIZES[task])} for task in TASKS})
    return folder


def write_manifest(folder: Path, counts: Mapping[str, Any]) -> None:
    """Makes a folder an artifact of ``ingest``."""
    record = {"verb": "ingest", "key": "0" * 64, "inputs": {}, "config": {}}
    record |= {"packages": {}, "counts": counts, "seconds": 1.0}
    (folder / "manifest.json").write_text(json.dumps(record))
