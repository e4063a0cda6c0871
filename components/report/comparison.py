"""Several runs, cohorts or test sets beside each other, and whether they differ.

Fernandes et al. 2023, Fig. 6 (cohorts) and Fig. 9, 10 and 15 (test sets).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from components.report.config import Config
from components.report.findings import (
    chance,
    difference,
    difference_numbers,
    numbers_of,
)
from components.report.loss_figures import draw_losses
from components.report.mixture_figures import draw_fitted_fraction, fraction_limits
from components.report.plotting import (
    MUTED,
    WIDTH,
    Colour,
    NotDrawn,
    legend_above,
    mark,
    panels,
    task_colour,
    task_marker,
)
from components.report.record import RunRecord, read
from components.report.words import with_error
from models.errors import UserError
from models.laws import ApproximateLaw, JointLaw, Law
from models.laws.findings import compare_coefficient, compare_fractions

TEMPLATE = "comparison.html"
_COEFFICIENTS = {"alpha": "exponent α", "irreducible_loss": "irreducible loss L∞"}
_MOST = 12  # series that one page can show


@dataclasses.dataclass(frozen=True)
class Series:
    """One task on one test set of one run.

    Attributes:
      label: What tells it apart from the others.
      record: The run, showing that test set.
      task: The task.
    """

    label: str
    record: RunRecord
    task: str

    @property
    def joint(self) -> JointLaw | None:
        """Its joint law."""
        return self.record.law(JointLaw, self.task)

    @property
    def approximate(self) -> ApproximateLaw | None:
        """Its approximate joint law."""
        return self.record.law(ApproximateLaw, self.task)

    @property
    def law(self) -> Law | None:
        """The law whose coefficients are compared."""
        return self.joint or self.approximate


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two series, quantity by quantity.

    Attributes:
      first, second: Their labels.
      texts: Quantity -> the difference in words; a dash where there is none.
      numbers: Quantity -> the same for a program.
      differ: Quantities in which they differ at the 5 % level.
    """

    first: str
    second: str
    texts: Mapping[str, str]
    numbers: Mapping[str, Mapping[str, float]]
    differ: tuple[str, ...]


def read_series(folders: Sequence[Path], config: Config) -> list[Series]:
    """Every task and test set of some runs.

    Raises:
      UserError: A folder holds no laws, or there is only one series, or too many.
    """
    found = []
    for folder in folders:
        first = read(folder, config)
        if not first.laws:
            raise UserError(f"{folder}: no laws to compare; run the step fit first")
        names = dict.fromkeys(law.test_set for law in first.laws)
        if config.test_set is not None:
            names = {config.test_set: None}
        for name in names:
            record = read(folder, dataclasses.replace(config, test_set=name))
            found += [Series("", record, task) for task in record.tasks]
    found = [one for one in found if one.law is not None]
    if len(found) < 2:
        raise UserError("there is nothing to compare: one task on one test set")
    if len(found) > _MOST:
        raise UserError(
            f"{len(found)} tasks and test sets are too many to compare on one page, "
            f"which shows {_MOST}; choose fewer runs, or one test set with --test-set"
        )
    return _labelled(found)


def _labelled(series: Sequence[Series]) -> list[Series]:
    """Names of the run, the task and the test set, as far as they tell apart."""
    names = [(one.record.title, one.task, one.record.test_set) for one in series]
    telling = [len(set(column)) > 1 for column in zip(*names, strict=True)]
    labels = [
        " ".join(name for name, tells in zip(own, telling, strict=True) if tells)
        for own in names
    ]
    if len(set(labels)) < len(labels):
        raise UserError(
            "two of the runs have the same name; rename a folder, or compare fewer"
        )
    return [
        dataclasses.replace(one, label=label)
        for one, label in zip(series, labels, strict=True)
    ]


def compare(series: Sequence[Series]) -> list[Comparison]:
    """The pairs that differ in one thing: the run, the task or the test set."""
    return [
        _compare(first, second)
        for first, second in itertools.combinations(series, 2)
        if _comparable(first, second)
    ]


def _comparable(first: Series, second: Series) -> bool:
    same_run = first.record.title == second.record.title
    same_task = first.task == second.task
    same_set = first.record.test_set == second.record.test_set
    if not same_run and not same_task:  # cohorts of other tasks: all pairs
        return same_set and first.task not in second.record.tasks
    return same_run + same_task + same_set == 2


def _compare(first: Series, second: Series) -> Comparison:
    texts, numbers, differ = {}, {}, []
    for name in _COEFFICIENTS:
        one = None
        if first.law is not None and second.law is not None:
            one = compare_coefficient(first.law, second.law, name)
        texts[name] = "–" if one is None else difference(one)
        if one is not None:
            numbers[name] = difference_numbers(one)
            differ += [name] if one.outcome.rejected else []
    texts["capacity"] = "–"
    weights = _common_weights(first.approximate, second.approximate)
    if len(weights):
        curves = compare_fractions(first.approximate, second.approximate, weights)
        if curves is not None:
            texts["capacity"] = (
                f"most at p = {curves.p:.2g}: f = {curves.first:.3f} and "
                f"{curves.second:.3f}, {chance(curves.outcome)}"
            )
            own = {"p": curves.p, "first": curves.first, "second": curves.second}
            numbers["capacity"] = numbers_of(curves.outcome) | own
            differ += ["capacity"] if curves.outcome.rejected else []
    return Comparison(first.label, second.label, texts, numbers, tuple(differ))


def _common_weights(
    first: ApproximateLaw | None, second: ApproximateLaw | None
) -> np.ndarray:
    """Weights below 1 that both were fitted on or between."""
    if first is None or second is None:
        return np.array([])
    low = max(law.fitted_range["p"][0] for law in (first, second))
    high = min(law.fitted_range["p"][1] for law in (first, second))
    return np.linspace(low, min(high, 0.95), 6) if low < high else np.array([])


def to_json(series: Sequence[Series], found: Sequence[Comparison]) -> dict[str, Any]:
    """Coefficients and differences for a program."""
    return {
        "series": [
            {
                "label": one.label,
                "run": one.record.title,
                "task": one.task,
                "test_set": one.record.test_set,
                "law": one.law.kind if one.law else None,
                "coefficients": _coefficients(one.law) if one.law else {},
                "r2": one.law.statistics["r2"] if one.law else None,
            }
            for one in series
        ],
        "comparisons": [
            {
                "first": one.first,
                "second": one.second,
                "differ": list(one.differ),
                **one.numbers,
            }
            for one in found
        ],
    }


def _coefficients(law: Law) -> dict[str, dict[str, float | None]]:
    return {
        name: {
            field: value if math.isfinite(value) else None
            for field, value in dataclasses.asdict(one).items()
        }
        for name, one in law.coefficients().items()
    }


def draw_all_losses(series: Sequence[Series], config: Config) -> Figure:
    """The joint law of each series and its measurements."""
    figure, every = panels(len(series), height=3.3, columns=3)
    for axes, one in zip(every, series, strict=True):
        axes.set_title(one.label)
        laws = one.record.laws_of(JointLaw, one.task)
        draw_losses(axes, one.record, one.record.points_of(one.task), laws)
    return figure


def draw_capacity(series: Sequence[Series], config: Config) -> Figure:
    """The capacity functions over each other."""
    shown = [
        (k, one.approximate)
        for k, one in enumerate(series)
        if one.approximate is not None and len(one.record.tasks) > 1
    ]
    if not shown:
        raise NotDrawn("It needs runs of two tasks or more with an approximate law.")
    figure, (left, right) = panels(2, height=4.2)
    left.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, zorder=1)
    right.axhline(1, color=MUTED, linewidth=1.2, zorder=1)
    for axes, relative in ((left, False), (right, True)):
        for k, law in shown:
            draw_fitted_fraction(axes, law, task_colour(k), relative, config.level)
        fraction_limits(axes, relative)
        axes.set_xlabel("weight p of the task")
    left.set(title="f(p)", ylabel="effective fraction f")
    right.set(title="f(p) / p", ylabel="f / p")
    legend_above(figure, {series[k].label: {"color": task_colour(k)} for k, _ in shown})
    return figure


def draw_coefficients(series: Sequence[Series], config: Config) -> Figure:
    """Exponents and irreducible losses with their intervals."""
    height = 1.2 + 0.3 * len(series)
    figure, every = panels(len(_COEFFICIENTS), height, width=WIDTH, sharey=True)
    for axes, (name, title) in zip(every, _COEFFICIENTS.items(), strict=True):
        axes.set_title(title)
        for row, one in enumerate(series):
            law = one.law
            if law is None or name not in law.parameters:
                continue
            found = law.coefficients(config.level)[name]
            colour: Colour = task_colour(row)
            if math.isfinite(found.high - found.low):
                axes.plot([found.low, found.high], [row] * 2, color=colour, alpha=0.5)
            axes.plot(found.value, row, **mark(colour, task_marker(row), 6.5))
            axes.annotate(
                with_error(found.value, found.standard_error, 3), (found.value, row),
                xytext=(0, 6), textcoords="offset points", fontsize=7.5, ha="center",
            )  # fmt: skip
        axes.set_yticks(range(len(series)), [one.label for one in series])
        axes.set_ylim(len(series) - 0.5, -0.7)
        axes.margins(x=0.12)
        axes.grid(False, axis="y")
    return figure
