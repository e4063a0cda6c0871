"""``points.csv``: the measured values that a fit used or kept aside."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, get_type_hints

import numpy as np

from components.artifacts.manifest import write_atomically
from components.artifacts.trial import format_mixture, parse_mixture
from components.fit.runs import Runs
from models.laws.observations import Observations

FILE_NAME = "points.csv"


@dataclasses.dataclass(frozen=True)
class Point:
    """One measured value of one task.

    Attributes:
      trial, size, seed: Which run.
      task, test_set: What was measured; a test set that was measured by original
        language counts as one for each, ``news:source``.
      n, n_enc, n_dec: Non-embedding parameters; NaN where either side is not known.
      p: The task's own weight; 0 for a task that no mixture contains.
      mixture: Every task's weight, ``en-de=0.3,en-fr=0.7``; empty when not known.
      group: Values of the columns that set runs apart (``fit.by``).
      value: The measured loss or metric.
      use: ``fit`` for a value that the laws were fitted to; else what was held out,
        ``size`` or ``mixture``.
    """

    trial: str
    size: str
    seed: int
    task: str
    test_set: str
    n: float
    n_enc: float
    n_dec: float
    p: float
    mixture: str
    group: str
    value: float
    use: Literal["fit", "size", "mixture"]

    @property
    def held_out(self) -> bool:
        """Whether no law was fitted to it."""
        return self.use != "fit"

    @property
    def weights(self) -> Mapping[str, float]:
        """Every task's weight; empty when the mixture is not known."""
        return parse_mixture(self.mixture) if self.mixture else {}


_COLUMNS = tuple(field.name for field in dataclasses.fields(Point))
_NUMBERS = {
    name: kind for name, kind in get_type_hints(Point).items() if kind in (int, float)
}


def points_of(runs: Runs) -> list[Point]:
    """The rows that a fit sorted, the fitted ones first."""
    found = _points(runs.fitted, ["fit"] * len(runs.fitted))
    if runs.held_out is not None:
        found += _points(runs.held_out, runs.held_out_kinds)
    return found


def _points(rows: Observations, uses: Iterable[str]) -> list[Point]:
    mixtures = [
        ""
        if np.isnan(shares).any()
        else format_mixture(dict(zip(rows.tasks, shares.tolist(), strict=True)))
        for shares in rows.shares
    ]
    columns = (
        rows.trial, rows.size, rows.seed, rows.task, rows.test_set, rows.n, rows.n_enc,
        rows.n_dec, rows.p, np.array(mixtures), rows.group, rows.value,
    )  # fmt: skip
    cells = zip(*(column.tolist() for column in columns), uses, strict=True)
    return [Point(*row) for row in cells]


def save(path: Path, points: Iterable[Point]) -> None:
    """Writes the points as CSV, one a line."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(dataclasses.astuple(point) for point in points)
    write_atomically(path, buffer.getvalue())


def load(path: Path) -> list[Point]:
    """The points that `save` wrote."""
    with open(path, encoding="utf-8", newline="") as file:
        return [
            Point(**{name: _NUMBERS.get(name, str)(cell) for name, cell in row.items()})
            for row in csv.DictReader(file)
        ]
