"""Packed training rows of all tasks, of which any is found at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from components.artifacts.text_shards import TRAIN
from components.artifacts.token_index import TokenIndex
from components.artifacts.token_rows import (
    EXAMPLES,
    FIELDS,
    TARGET_TOKENS,
    TokenRows,
    load_rows,
)


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Packed training rows of all tasks.

    Attributes:
      rows: Of one task after another, all of one record type.
      count: Rows of each task, int64 ``[tasks]``.
      examples: Sentence pairs in an average row of each task, ``[tasks]``.
      target_tokens: Target tokens in an average row of each task, ``[tasks]``.
    """

    rows: TokenRows
    count: np.ndarray
    examples: np.ndarray
    target_tokens: np.ndarray

    @classmethod
    def load(cls, tokens: Path, tasks: Sequence[str]) -> Rows:
        """The training rows of an artifact of ``tokenize``, mapped into memory.

        Args:
          tokens: The artifact.
          tasks: In the order of the mixture weights. One without training rows may
            stand in a mixture with weight 0.
        """
        index = TokenIndex.load(tokens)
        shards: list[np.ndarray] = []
        means = np.zeros((len(tasks), 2))
        count = np.array([index.training_rows(task) for task in tasks], np.int64)
        for place, task in enumerate(tasks):
            if count[place]:
                split = index.tasks[task].splits[TRAIN]
                totals = np.array([split.examples, split.target_tokens])
                means[place] = totals / count[place]
                shards += load_rows(tokens, task, TRAIN).shards
        return cls(TokenRows(tuple(shards)), count, means[:, 0], means[:, 1])

    @classmethod
    def join(cls, parts: Sequence[Rows]) -> Rows:
        """Several, the tasks of each being tasks of their own."""
        return cls(
            TokenRows(tuple(shard for part in parts for shard in part.rows.shards)),
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("count", "examples", "target_tokens")
            ),
        )

    @property
    def lengths(self) -> tuple[int, int]:
        """Positions of the source and of the target."""
        kind = self.rows.kind
        return kind["source_ids"].shape[0], kind["target_ids"].shape[0]

    def read(self, task: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, ...]:
        """Rows by task and number within the task.

        Args:
          task, row: int ``[...]``, of one shape.

        Returns:
          int32 ``[..., length]`` each, in the order of `FIELDS`; then sentence
          pairs and target tokens, int32 ``[...]`` each.
        """
        first = np.cumsum(self.count) - self.count
        records = self.rows.take((first[task] + row).ravel())
        return tuple(
            records[name]
            .astype(np.int32)
            .reshape(*task.shape, *records[name].shape[1:])
            for name in (*FIELDS, EXAMPLES, TARGET_TOKENS)
        )
