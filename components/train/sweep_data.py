"""What all trials of a sweep see: training rows and test sets."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from components.artifacts.manifest import digest_file
from components.artifacts.test_sets import TestSet, load_test_sets
from components.artifacts.token_index import VOCABULARY, TokenIndex
from components.artifacts.trial import Trial
from components.train import mixture
from components.train.config import Config
from components.train.rows import Rows
from models.errors import UserError


@dataclasses.dataclass(frozen=True)
class SweepData:
    """What all trials of a sweep share, opened once a process.

    Attributes:
      vocabulary_size: Pieces in the vocabulary.
      vocabulary: Digest of the vocabulary.
      tasks: Tasks in the order of the mixture weights.
      rows: Training rows of all tasks.
      test_sets: Every test set of every task.
    """

    vocabulary_size: int
    vocabulary: str
    tasks: tuple[str, ...]
    rows: Rows
    test_sets: tuple[TestSet, ...]

    @classmethod
    def load(cls, tokens: Path, tasks: Sequence[str]) -> SweepData:
        """Opens an artifact of ``tokenize``."""
        return cls(
            vocabulary_size=TokenIndex.load(tokens).vocabulary_size,
            vocabulary=digest_file(tokens / VOCABULARY),
            tasks=tuple(tasks),
            rows=Rows.load(tokens, tasks),
            test_sets=load_test_sets(tokens, tasks),
        )

    def row_probabilities(self, config: Config, trials: Sequence[Trial]) -> np.ndarray:
        """Probability of a row of each task in each trial, ``[trials, tasks]``."""
        weights = np.array(
            [[trial.weight(task) for task in self.tasks] for trial in trials]
        )
        per_row = {
            "examples": self.rows.examples,
            "target_tokens": self.rows.target_tokens,
        }
        weights = weights / weights.sum(axis=1, keepdims=True)
        return mixture.row_probabilities(weights, per_row[config.share_of])


def batch_rows(config: Config, data: Rows, replicas: int = 1) -> int:
    """Rows in the batch of one trial, the same number on every device.

    Raises:
      UserError: The batch does not hold a row for each device.
    """
    length = data.lengths[1]
    count = math.floor(config.batch_tokens / length)
    if count < replicas:
        what = "one row" if replicas == 1 else f"one row on each of {replicas} devices"
        raise UserError(
            f"train.batch_tokens: {config.batch_tokens} is less than {what} of "
            f"{length} target tokens; try {16 * replicas * length}"
        )
    if count % replicas:
        raise UserError(
            f"train.batch_tokens: {config.batch_tokens} makes {count} rows of {length} "
            f"target tokens, which {replicas} devices cannot share evenly; try "
            f"{(count - count % replicas) * length}"
        )
    return count


def micro_batches(config: Config, rows_on_device: int, length: int) -> int:
    """Parts into which a device's share of the batch is split.

    The fewest parts of one size that hold at most ``micro_batch_tokens``.

    Args:
      config: How to train.
      rows_on_device: Rows of one trial on one device.
      length: Target tokens of a row.

    Raises:
      UserError: A part does not hold one row.
    """
    if config.micro_batch_tokens is None:
        return 1
    most = config.micro_batch_tokens // length
    if most < 1:
        raise UserError(
            f"train.micro_batch_tokens: {config.micro_batch_tokens} is less than one "
            f"row of {length} target tokens; try {length}"
        )
    parts = -(-rows_on_device // most)
    while rows_on_device % parts:
        parts += 1
    return parts
