"""The state of a group in training, as its checkpoints hold it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts import checkpoints, metrics_table
from components.artifacts.checkpoints import ModelRecord
from components.artifacts.metrics_table import MetricsRow
from components.artifacts.trial_folder import CURVE, TrialRecord


@dataclasses.dataclass(frozen=True)
class Seen:
    """What training has drawn so far.

    Attributes:
      tasks: Names of the tasks.
      rows: Rows drawn, int64 ``[trials, tasks]``.
      counts: Sentence pairs and target tokens in them, int64 ``[trials, tasks, 2]``.
    """

    tasks: tuple[str, ...]
    rows: np.ndarray
    counts: np.ndarray

    def amounts(self, index: int) -> dict[str, tuple[int, int]]:
        """Task -> sentence pairs and target tokens of it that a trial saw."""
        pairs = self.counts[index].tolist()
        return {task: tuple(pairs[i]) for i, task in enumerate(self.tasks)}

    def epochs(self, index: int, row_count: np.ndarray) -> dict[str, float]:
        """Task -> how often a trial saw its data."""
        found = self.rows[index] / np.maximum(row_count, 1)
        return {task: round(float(found[i]), 4) for i, task in enumerate(self.tasks)}

    def shares(self, index: int) -> tuple[dict[str, float], dict[str, float]]:
        """Task -> realised share of a trial's sentence pairs; of its target tokens."""
        totals = np.maximum(self.counts[index].sum(axis=0), 1)
        found = (self.counts[index] / totals).round(5).tolist()
        pairs, tokens = zip(*found, strict=True)
        return dict(zip(self.tasks, pairs, strict=True)), dict(
            zip(self.tasks, tokens, strict=True)
        )


@dataclasses.dataclass(frozen=True)
class GroupState:
    """What a group's checkpoint holds beside arrays.

    Attributes:
      model: What the weights are of.
      trials: Their names.
      step: Steps done.
      phases: Seconds by phase.
      failures: Place of a trial that failed -> why.
      curves: Learning curve of each trial.
    """

    model: ModelRecord
    trials: tuple[str, ...]
    step: int
    phases: Mapping[str, float]
    failures: Mapping[int, str]
    curves: Sequence[Sequence[MetricsRow]]

    def to_record(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            **self.identity(),
            "step": self.step,
            "phases": dict(self.phases),
            "failures": {str(index): why for index, why in self.failures.items()},
            "curves": [
                [dataclasses.asdict(row) for row in curve] for curve in self.curves
            ],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> GroupState:
        """The inverse of `to_record`."""
        return cls(
            model=ModelRecord.from_record(record),
            trials=tuple(record["trials"]),
            step=record["step"],
            phases=record["phases"],
            failures={int(index): why for index, why in record["failures"].items()},
            curves=[[MetricsRow(**row) for row in curve] for curve in record["curves"]],
        )

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree in to be continued."""
        model = dataclasses.asdict(self.model)
        del model["step"]
        return {**model, "trials": list(self.trials)}


def write_results(
    folder: Path, curve: Sequence[MetricsRow], record: TrialRecord
) -> None:
    """Writes curve and record; the record last, as the sign that all is there."""
    folder.mkdir(parents=True, exist_ok=True)
    metrics_table.save(folder / CURVE, list(curve))
    record.save(folder)


def write_crashed(
    folder: Path, index: int, reason: str, *, steps: int, progress: Path
) -> None:
    """Records a trial whose worker died, with the curve of its last checkpoint.

    Args:
      folder: The trial's.
      index: Its place in its group.
      reason: What happened.
      steps: Training steps it should have had.
      progress: Folder with the group's checkpoints.
    """
    found = checkpoints.load_newest(progress)
    saved = GroupState.from_record(found[1]) if found else None
    step = saved.step if saved else 0
    phases = share_of_phases(saved.phases, len(saved.trials)) if saved else {}
    record = TrialRecord(
        status="failed",
        reason=f"{reason}; the last good checkpoint is of step {step}",
        crashed=True,
        steps=steps,
        step=step,
        seconds=round(sum(phases.values()), 3),
        seconds_by_phase=phases,
    )
    write_results(folder, saved.curves[index] if saved else [], record)


def share_of_phases(phases: Mapping[str, float], trials: int) -> dict[str, float]:
    """Seconds by phase of one trial: those of a group share its time."""
    return {name: round(seconds / trials, 3) for name, seconds in phases.items()}
