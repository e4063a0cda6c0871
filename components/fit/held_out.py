"""The proof: what the laws predict for runs that they have never seen."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from components.fit.runs import Runs
from models.errors import UserError
from models.laws.law import Law
from models.laws.observations import Observations

FILE_NAME = "held_out.csv"
KINDS = ("size", "mixture")


@dataclasses.dataclass(frozen=True)
class Compared:
    """One held-out measurement and one law's prediction of it.

    Attributes:
      law: ``joint`` or ``approximate``.
      kind: What was held out: ``size`` or ``mixture``.
      loss, predicted, low, high: Measured value, prediction and its 95 % interval.
      error_percent: Signed, of the measured value.
    """

    trial: str
    task: str
    test_set: str
    size: str
    n: float
    p: float
    kind: str
    law: str
    loss: float
    predicted: float
    low: float
    high: float
    error_percent: float


COLUMNS = tuple(field.name for field in dataclasses.fields(Compared))


@dataclasses.dataclass(frozen=True)
class Errors:
    """How well a group of held-out measurements was predicted.

    Attributes:
      median_error_percent, max_error_percent: Of the absolute errors.
      n_points: Measurements.
      inside, with_interval: How many lie in their 95 % interval, of all that have one.
    """

    median_error_percent: float
    max_error_percent: float
    n_points: int
    inside: int
    with_interval: int


def compare(laws: Sequence[Law], runs: Runs) -> list[Compared]:
    """Predicts every held-out run with every law that can.

    The joint law knows the mixtures it was fitted on, so it predicts held-out
    sizes; the approximate law predicts any mixture.
    """
    if runs.held_out is None:
        return []
    found = []
    for row in range(len(runs.held_out)):
        run = runs.held_out.take(np.array([row]))
        for law in laws:
            if law.kind in ("individual", "bivariate") or law.task != run.task[0]:
                continue
            if law.test_set != run.test_set[0]:
                continue
            one = _compared(law, run, runs.held_out_kinds[row])
            if one is not None:
                found.append(one)
    return found


def _compared(law: Law, run: Observations, kind: str) -> Compared | None:
    known = dict(zip(run.tasks, run.shares[0].tolist(), strict=True))
    mixture = known if not np.isnan(run.shares).any() else float(run.p[0])
    try:
        predicted = float(law.predict(run.n[0], mixture))
        low, high = (float(end) for end in law.interval(run.n[0], mixture))
    except UserError:
        return None  # a mixture that the joint law does not know
    loss = float(run.value[0])
    return Compared(
        trial=str(run.trial[0]),
        task=str(run.task[0]),
        test_set=str(run.test_set[0]),
        size=str(run.size[0]),
        n=float(run.n[0]),
        p=float(run.p[0]),
        kind=kind,
        law=law.kind,
        loss=loss,
        predicted=predicted,
        low=low,
        high=high,
        error_percent=100.0 * (predicted - loss) / loss if loss else math.nan,
    )


# Which law speaks first: the joint one knows the mixtures it was fitted on and so
# predicts other sizes ([M] eq. 7); the approximate law predicts new mixtures (eq. 11).
_FIRST = {
    "size": ("joint", "approximate", "shared"),
    "mixture": ("approximate", "joint", "shared"),
}


def chosen(compared: Sequence[Compared], kind: str) -> list[Compared]:
    """One comparison a measurement: that of the law which speaks first.

    Args:
      compared: Every law's prediction of every held-out measurement.
      kind: ``size`` or ``mixture``.
    """
    found: dict[tuple[str, str, str], Compared] = {}
    for law in _FIRST[kind]:
        for one in compared:
            known = (one.kind, one.law) == (kind, law)
            if known and math.isfinite(one.error_percent):
                found.setdefault((one.trial, one.task, one.test_set), one)
    return sorted(found.values(), key=lambda one: (one.task, one.p, one.n))


def summarise(chosen: Sequence[Compared]) -> Errors | None:
    """Median and worst error, and how many intervals hold; None without a point."""
    errors = [abs(one.error_percent) for one in chosen]
    if not errors:
        return None
    closed = [one for one in chosen if math.isfinite(one.high - one.low)]
    return Errors(
        median_error_percent=statistics.median(errors),
        max_error_percent=max(errors),
        n_points=len(errors),
        inside=sum(one.low <= one.loss <= one.high for one in closed),
        with_interval=len(closed),
    )


def read(path: Path) -> list[Compared]:
    """The table that `to_csv` made; an empty cell is not a number."""
    numbers = {f.name for f in dataclasses.fields(Compared) if f.type == "float"}
    with open(path, encoding="utf-8", newline="") as file:
        return [
            Compared(
                **{
                    name: float(text or "nan") if name in numbers else text
                    for name, text in record.items()
                }
            )
            for record in csv.DictReader(file)
        ]


def to_csv(compared: Sequence[Compared]) -> str:
    """The table as text; an infinite or undefined number is an empty cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in compared:
        writer.writerow([cell(value) for value in dataclasses.astuple(one)])
    return buffer.getvalue()


def cell(value: object) -> str:
    """A CSV cell; empty where there is no finite number."""
    if isinstance(value, float):
        return f"{value:.10g}" if math.isfinite(value) else ""
    return str(value)
