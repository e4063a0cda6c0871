"""``quality.json``: how good translations are, and what that was computed with."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components.artifacts.manifest import write_atomically
from components.artifacts.metrics_table import MetricsRow
from components.evaluate.layout import QUALITY
from models.nmt.search_options import SearchOptions

Key = tuple[str, int, str, str, str]


@dataclasses.dataclass(frozen=True)
class QualityScore:
    """How one trial at one step translates one part of one test set.

    Attributes:
      trial, step, task, test_set, origin: As in `MetricsRow`.
      sentences: Translated.
      unfinished: Of them without an end within the maximum length.
      metrics: Columns of `MetricsRow`: a score and its signature for each metric.
    """

    trial: str
    step: int
    task: str
    test_set: str
    origin: str
    sentences: int
    unfinished: int
    metrics: dict[str, Any]

    @property
    def key(self) -> Key:
        """Trial, step, task, test set, origin."""
        return (self.trial, self.step, self.task, self.test_set, self.origin)


@dataclasses.dataclass(frozen=True)
class QualityRecord:
    """``quality.json``.

    Attributes:
      metrics: Names of the metrics that were computed.
      problems: What was left out or is less than usual, a line each.
      search: How translations were looked for.
      scores: Of every trial.
    """

    metrics: tuple[str, ...]
    problems: tuple[str, ...]
    search: SearchOptions
    scores: tuple[QualityScore, ...]

    def save(self, directory: Path) -> None:
        """Writes the file into an artifact of ``evaluate``."""
        text = json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False)
        write_atomically(directory / QUALITY, text + "\n")

    @classmethod
    def load(cls, directory: Path) -> QualityRecord:
        """Reads the file of an artifact of ``evaluate``."""
        record = json.loads((directory / QUALITY).read_text(encoding="utf-8"))
        return cls(
            tuple(record["metrics"]),
            tuple(record["problems"]),
            SearchOptions(**record["search"]),
            tuple(QualityScore(**score) for score in record["scores"]),
        )

    def add_to(self, rows: Sequence[MetricsRow], *, curve: bool) -> list[MetricsRow]:
        """Rows of the metrics table with their columns of translation quality.

        Args:
          rows: The table.
          curve: Whether rows of learning curves get them too, or only final rows.
        """
        by_key = {score.key: score.metrics for score in self.scores}
        return [
            dataclasses.replace(
                row,
                **by_key.get(
                    (row.trial, row.step, row.task, row.test_set, row.origin), {}
                ),
            )
            if curve or row.loss_kind == "final"
            else row
            for row in rows
        ]
