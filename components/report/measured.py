"""The measured points that figures show, fitted and held out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from components.report.appearance import count_text
from components.report.record import RunRecord
from models.laws.law import CEILINGS
from models.laws.observations import Observations

METRIC_NAMES = {"bleu": "BLEU", "chrf": "chrF", "bleurt": "BLEURT", "comet": "COMET"}


@dataclasses.dataclass(frozen=True)
class Point:
    """One measured value of a trained task (p > 0).

    Attributes:
      trial, task, size: Whose.
      n: Non-embedding parameters.
      p: The task's weight.
      mixture: Every task's weight; empty when unknown.
      value: The measured loss or metric.
      held_out: Whether the fit never saw it.
    """

    trial: str
    task: str
    size: str
    n: float
    p: float
    mixture: Mapping[str, float]
    value: float
    held_out: bool


def measured(record: RunRecord) -> list[Point]:
    """The points of the shown test set; no zero-shot ones, no failed trials."""
    if record.runs is None:
        return []
    points = _points(record.runs.fitted, record.test_set, False)
    if record.runs.held_out is not None:
        points += _points(record.runs.held_out, record.test_set, True)
    return points


def points_of(points: Iterable[Point], task: str) -> list[Point]:
    """The points of one task."""
    return [point for point in points if point.task == task]


def sizes_of(points: Sequence[Point]) -> dict[float, str]:
    """N -> name of the size, increasing; N in short where the name is only N."""
    names = sorted((point.n, point.size) for point in points)
    return {n: count_text(n) if name.isdigit() else name for n, name in names}


@dataclasses.dataclass(frozen=True)
class Quantity:
    """The words for what was measured.

    Attributes:
      one, many: One value of it, several.
      unit: With a leading space; may be empty.
      modelled: What the laws are of, which falls.
      better: Where a frontier is better.
      aside: What a reader must know to read L; empty for a loss.
    """

    one: str
    many: str
    unit: str
    modelled: str
    better: str
    aside: str


def quantity(record: RunRecord) -> Quantity:
    """The words for a run's metric."""
    ceiling = CEILINGS.get(record.metric)
    if ceiling is None:
        unit = " nats per target token"
        return Quantity("loss", "losses", unit, "loss", "lower left", "")
    name = metric_label(record)
    return Quantity(
        one=name,
        many=f"{name} values",
        unit="",
        modelled=f"distance to {ceiling:g}",
        better="upper right",
        aside=f"{name} rises: the laws are of its distance to {ceiling:g}, "
        f"<i>L</i> = {ceiling:g} − {name}.",
    )


def metric_label(record: RunRecord) -> str:
    """The axis label of the measured value, with its unit."""
    if record.metric == "loss":
        return "test loss (nats per target token)"
    return METRIC_NAMES[record.metric]


def _points(runs: Observations, test_set: str | None, held_out: bool) -> list[Point]:
    found = []
    for k in np.flatnonzero((runs.test_set == test_set) & (runs.p > 0)).tolist():
        shares = runs.shares[k]
        known = not np.isnan(shares).any()
        found.append(
            Point(
                trial=str(runs.trial[k]),
                task=str(runs.task[k]),
                size=str(runs.size[k]),
                n=float(runs.n[k]),
                p=float(runs.p[k]),
                mixture=dict(zip(runs.tasks, shares.tolist(), strict=True))
                if known
                else {},
                value=float(runs.value[k]),
                held_out=held_out,
            )
        )
    return found
