"""The folder of one trial: its curve, its record and its weights."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts import checkpoints
from components.artifacts.manifest import write_atomically
from components.artifacts.metrics_table import MetricsRow
from components.artifacts.metrics_table import save as save_table
from components.train.layout import CURVE, RECORD, WEIGHTS
from components.train.milestones import is_final


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


def final_losses(curve: Sequence[MetricsRow], steps: int) -> dict[str, float]:
    """``final/<task>/<test set>`` -> median over the last tenth of training."""
    found: dict[str, list[float]] = {}
    whole: set[tuple[int, str]] = set()
    for row in curve:
        name = f"final/{row.task}/{row.test_set}"
        # The first row of a test set is all of it, the next ones are parts.
        if is_final(row.step, steps) and (row.step, name) not in whole:
            whole.add((row.step, name))
            found.setdefault(name, []).append(row.loss)
    return {name: statistics.median(losses) for name, losses in found.items()}


def best_losses(curve: Sequence[MetricsRow]) -> dict[str, dict[str, float]]:
    """``<task>/<test set>`` -> the lowest loss so far, and the step it was at."""
    found: dict[str, MetricsRow] = {}
    whole: set[tuple[int, str]] = set()
    for row in curve:
        name = f"{row.task}/{row.test_set}"
        # As in `final_losses`.
        if (row.step, name) not in whole:
            whole.add((row.step, name))
            best = found.setdefault(name, row)
            found[name] = row if row.loss < best.loss else best
    return {name: {"step": row.step, "loss": row.loss} for name, row in found.items()}


def write(folder: Path, curve: Sequence[MetricsRow], record: Mapping[str, Any]) -> None:
    """Writes curve and record; the record last, as the sign that all is there."""
    folder.mkdir(parents=True, exist_ok=True)
    save_table(folder / CURVE, list(curve))
    write_atomically(folder / RECORD, json.dumps(record, indent=1) + "\n")


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
    saved = found[1] if found else {"step": 0, "curves": [], "phases": {}}
    curve = (
        [MetricsRow(**row) for row in saved["curves"][index]] if saved["curves"] else []
    )
    phases = {
        name: round(seconds / len(saved["curves"]), 3)
        for name, seconds in saved["phases"].items()
    }
    record = {
        "status": "failed",
        "reason": f"{reason}; the last good checkpoint is of step {saved['step']}",
        "crashed": True,
        "steps": steps,
        "step": saved["step"],
        "seconds": round(sum(phases.values()), 3),
        "seconds_by_phase": phases,
        "epochs": {},
    }
    write(folder, curve, record)


def write_weights(
    folder: Path,
    weights: Mapping[str, np.ndarray],
    model: Mapping[str, Any],
    name: str = WEIGHTS,
) -> None:
    """Keeps the weights of a trial, as those of a single model."""
    checkpoints.save(folder / name, weights, dict(model))
