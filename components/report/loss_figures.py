"""Loss against model size: Fernandes et al. 2023, Fig. 2, 3 and 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from components.fit.points import Point
from components.report.config import Config
from components.report.plotting import (
    NotDrawn,
    curve,
    label_ends,
    log_y_axis,
    mark,
    panels,
    say,
    size_axis,
    weight_colour,
)
from components.report.record import RunRecord, size_names
from components.report.words import with_error
from models.laws import IndividualLaw, JointLaw, Law, Query


def draw_loss_by_size(record: RunRecord, config: Config) -> Figure:
    """Fig. 2: every weighting with a law of its own."""
    return _draw_laws(record, IndividualLaw)


def draw_joint_law(record: RunRecord, config: Config) -> Figure:
    """Fig. 5: one exponent and one irreducible loss for all weightings."""
    laws = record.first_laws(JointLaw)
    if laws and all(len(law.weightings) == 1 for law in laws):
        raise NotDrawn("With one weighting it is the law of that weighting.")
    return _draw_laws(record, JointLaw)


def _draw_laws(record: RunRecord, kind: type[Law]) -> Figure:
    return _draw_tasks(record, kind, draw_losses)


def draw_losses(
    axes: Axes, record: RunRecord, points: Sequence[Point], laws: Sequence[Law]
) -> None:
    """One panel: the points of a task and the curves of its laws."""
    if not points:
        say(axes, "not measured")
        return
    size_axis(axes, size_names(points))
    axes.set_ylabel(record.quantity.label)
    _scatter(axes, points, [point.value for point in points])
    axes.margins(x=0.05)
    _draw_curves(axes, laws, points, lambda law, values: values)


def draw_reducible_loss(record: RunRecord, config: Config) -> Figure:
    """Fig. 3: straight, parallel lines."""
    return _draw_tasks(record, JointLaw, _draw_reducible)


def _draw_reducible(
    axes: Axes, record: RunRecord, points: Sequence[Point], laws: Sequence[Law]
) -> None:
    if not points or not laws:
        say(axes, "no joint law")
        return
    law = laws[0]
    size_axis(axes, size_names(points))
    values = np.array([_reducible(law, point.value) for point in points])
    above = values > 0
    shown = [point for point, kept in zip(points, above, strict=True) if kept]
    _scatter(axes, shown, values[above])
    low, high = values[above].min(), values[above].max()
    margin = (high / low) ** 0.06
    log_y_axis(axes, low / margin, high * margin)
    axes.margins(x=0.05)
    _draw_curves(axes, laws, points, _reducible)
    axes.set_ylabel("loss − L∞ (nats per target token)")
    if law.ceiling is not None:
        axes.set_ylabel(f"{law.ceiling:g} − {record.quantity.label} − L∞")
    alpha = with_error(law.parameters["alpha"], law.standard_errors["alpha"], 3)
    note = f"α = {alpha}\nL∞ = {law.parameters['irreducible_loss']:.3f}"
    if (~above).any():
        note += f"\n{(~above).sum()} points at or below L∞ not drawn"
    axes.text(0.04, 0.05, note, transform=axes.transAxes, fontsize=8.5, linespacing=1.5)


def _draw_tasks(
    record: RunRecord,
    kind: type[Law],
    draw: Callable[[Axes, RunRecord, Sequence[Point], Sequence[Law]], None],
) -> Figure:
    """One panel a task."""
    laws = {task: record.laws_of(kind, task) for task in record.shown_tasks}
    if not record.points or not any(laws.values()):
        raise NotDrawn(f"There is no {kind.kind} law.")
    figure, every = panels(len(laws), columns=2 if len(laws) <= 4 else 3)
    for axes, (task, own) in zip(every, laws.items(), strict=True):
        axes.set_title(task)
        draw(axes, record, record.points_of(task), own)
    return figure


def _reducible(law: Law, value: NDArray | float) -> NDArray | float:
    distance = value if law.ceiling is None else law.ceiling - value
    return distance - law.parameters["irreducible_loss"]


def _scatter(axes: Axes, points: Sequence[Point], values: Sequence[float]) -> None:
    for point, value in zip(points, values, strict=True):
        axes.plot(point.n, value, **mark(weight_colour(point.p), hollow=point.held_out))


def _draw_curves(
    axes: Axes,
    laws: Sequence[Law],
    points: Sequence[Point],
    shown: Callable[[Law, NDArray], NDArray],
) -> None:
    """The laws over all measured sizes, with the weight beside each curve."""
    ends = []
    largest = max(point.n for point in points)
    for law in laws:
        low, high = law.fitted_range["n"]
        last = max(high, largest)
        for weighting in law.weightings:
            if weighting.p > 0:
                colour = weight_colour(weighting.p)
                end = curve(
                    axes,
                    lambda n, law=law, at=weighting: shown(
                        law, law.predict(Query(n, at))
                    ),
                    (low, high),
                    (low, last),
                    colour,
                )
                ends.append((last, end, f"p = {weighting.p:.3g}", colour))
    label_ends(axes, ends)
