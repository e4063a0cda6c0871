"""Trusted text made worse on purpose: what a model of noise is fine-tuned on."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts import manifest
from components.artifacts.text_shards import (
    TRAIN,
    shard_bytes,
    shard_name,
    split_shards,
    splits,
)
from components.select import corruption
from components.select.sampling import Pair, sample
from models.errors import UserError

LEAST = 20  # pairs of a task: fewer are no sample of anything


def write(trusted: Path, tasks: Sequence[str], seed: int, output: Path) -> None:
    """An artifact that ``tokenize`` reads as it reads one of ``ingest``.

    Args:
      trusted: The artifact of ``ingest`` with the text.
      tasks: Directions such as ``en-de``.
      seed: Of the corruption.
      output: Folder of the artifact.

    Raises:
      UserError: A task has hardly any text.
    """

    def make(directory: Path) -> Mapping[str, Any]:
        return {
            task: {TRAIN: _write_task(trusted / task, seed, directory / task)}
            for task in tasks
        }

    manifest.complete(
        "select-worse-text",
        output,
        config={"tasks": list(tasks), "seed": seed},
        inputs={"trusted": trusted},
        make=make,
    )


def _write_task(trusted: Path, seed: int, folder: Path) -> int:
    """Writes one shard of bad pairs, and the test sets as they are.

    Returns:
      How many bad pairs there are.
    """
    folder.mkdir()
    for split in splits(trusted):
        if split != TRAIN:
            for path in split_shards(trusted, split):
                shutil.copyfile(path, folder / path.name)
    pairs = _bad(sample(split_shards(trusted, TRAIN), 1 << 20, seed), seed, trusted)
    records = ({"source": source, "target": target} for source, target in pairs)
    (folder / shard_name(TRAIN, 0, 1)).write_bytes(shard_bytes(records))
    return len(pairs)


def _bad(good: Sequence[Pair], seed: int, where: Path) -> list[Pair]:
    """Bad pairs made of good ones, in random order."""
    if len(good) < LEAST:
        raise UserError(
            f"select.contrastive.trusted.{where.name}: {len(good)} pairs are left of "
            f"it, and {LEAST} are the fewest that tell anything; give more, or see "
            f"{where.parent / 'dead_letters'}"
        )
    rng = np.random.default_rng(seed)
    sources, targets = zip(*good, strict=True)
    bad: Iterable[corruption.Texts] = corruption.corrupted(sources, targets, rng)
    rows = [pair for texts in bad for pair in zip(*texts, strict=True)]
    return [rows[i] for i in rng.permutation(len(rows)).tolist()]
