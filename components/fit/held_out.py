"""Held-out validation: what the laws predict for runs that they have never seen."""

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
from models.laws.bivariate import BivariateLaw
from models.laws.choice import LawSet
from models.laws.law import Law
from models.laws.observations import Observations
from models.laws.power import IndividualLaw
from models.laws.query import Query

FILE_NAME = "held_out.csv"
KINDS = ("size", "mixture")


@dataclasses.dataclass(frozen=True)
class Compared:
    """One held-out measurement and one law's prediction of it.

    Attributes:
      kind: What was held out: ``size`` or ``mixture``.
      law: Kind of the law.
      loss, predicted, low, high: Measured value, prediction and its 95 % interval.
      error_percent: Signed, of the measured value.
      answers: Whether this is the law that answers such a question.
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
    answers: bool = False


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


def compare(laws: LawSet, runs: Runs) -> list[Compared]:
    """Predicts every held-out run with every law that can.

    A law of the weightings it was fitted on predicts held-out sizes; the approximate
    law predicts any mixture.
    """
    if runs.held_out is None:
        return []
    found = []
    for row, kind in enumerate(runs.held_out_kinds):
        run = runs.held_out.take(np.array([row]))
        query = query_of(run)
        able = []
        for law in laws.candidates(str(run.task[0]), str(run.test_set[0])):
            try:
                law.predict(query)
            except UserError:  # a mixture or a group that this law does not know
                continue
            able.append(law)
        if query.n_enc is not None:  # only a bivariate law looks at the shape
            able.sort(key=lambda law: not isinstance(law, BivariateLaw))
        found += [
            _compared(law, run, query, kind, law is able[0])
            for law in able
            if law is able[0] or not isinstance(law, IndividualLaw)
        ]
    return found


def query_of(run: Observations) -> Query:
    """The question whose answer is a measured row."""
    known = dict(zip(run.tasks, run.shares[0].tolist(), strict=True))
    mixture = known if not np.isnan(run.shares).any() else float(run.p[0])
    sides = [
        None if math.isnan(side) else side for side in (run.n_enc[0], run.n_dec[0])
    ]
    seen = float(run.tokens[0].sum())
    return Query(
        float(run.n[0]),
        mixture,
        *sides,
        group=str(run.group[0]),
        tokens=None if math.isnan(seen) else seen,
    )


def _compared(
    law: Law, run: Observations, query: Query, kind: str, answers: bool
) -> Compared:
    predicted = float(law.predict(query))
    low, high = (float(end) for end in law.interval(query))
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
        answers=answers,
    )


def chosen(compared: Sequence[Compared], kind: str) -> list[Compared]:
    """One comparison a measurement: that of the law which answers.

    Args:
      compared: Every law's prediction of every held-out measurement.
      kind: ``size`` or ``mixture``.
    """
    found = [
        one
        for one in compared
        if one.kind == kind and one.answers and math.isfinite(one.error_percent)
    ]
    return sorted(found, key=lambda one: (one.task, one.p, one.n))


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


def load(path: Path) -> list[Compared]:
    """The table that `to_csv` made; an empty cell is not a number."""
    types = {field.name: str(field.type) for field in dataclasses.fields(Compared)}
    parse = {
        "float": lambda cell: float(cell or "nan"),
        "bool": lambda cell: cell == "True",
    }
    with open(path, encoding="utf-8", newline="") as file:
        return [
            Compared(**{k: parse.get(types[k], str)(text) for k, text in row.items()})
            for row in csv.DictReader(file)
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
