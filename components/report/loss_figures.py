"""Loss against model size: [M] Fig. 2, 3 and 5."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from components.report import captions
from components.report.appearance import (
    label_ends,
    log_y_axis,
    panels,
    size_axis,
    weight_colour,
)
from components.report.drawing import Drawing
from components.report.measured import (
    Point,
    measured,
    metric_label,
    points_of,
    quantity,
    sizes_of,
)
from components.report.record import RunRecord
from models.laws import Law, Query


def draw_loss_by_size(record: RunRecord) -> Drawing:
    """[M] Fig. 2: every weighting with a law of its own."""
    words = Drawing(
        name="loss_by_size",
        title=f"Test {quantity(record).one} against model size, one law per weighting",
        source="[M] Fig. 2",
        caption=f"{captions.LOSS_BY_SIZE} {quantity(record).aside}",
    )
    laws = {task: record.individual(task) for task in record.tasks}
    return _curves(record, words, laws, "there is no individual law (see Fitted laws)")


def draw_joint_law(record: RunRecord) -> Drawing:
    """[M] Fig. 5: one exponent and one irreducible loss for all weightings."""
    words = Drawing(
        name="joint_law",
        title="The joint law: all weightings share α and L∞",
        source="[M] Fig. 5",
        caption=f"{captions.JOINT_LAW} {quantity(record).aside}",
    )
    laws = {task: _joint(record, task) for task in record.tasks}
    return _curves(record, words, laws, "there is no joint law (see Fitted laws)")


def draw_reducible_loss(record: RunRecord) -> Drawing:
    """[M] Fig. 3: straight, parallel lines."""
    words = Drawing(
        name="reducible_loss",
        title=f"Reducible {quantity(record).modelled} on logarithmic axes",
        source="[M] Fig. 3",
        caption=captions.REDUCIBLE_LOSS.format(modelled=quantity(record).modelled),
    )
    laws = {task: _joint(record, task) for task in record.tasks}
    if record.runs is None or not any(laws.values()):
        return words.missing("there is no joint law (see Fitted laws)")
    figure, every = panels(len(record.tasks))
    for axes, task in zip(every, record.tasks, strict=True):
        axes.set_title(task)
        if laws[task]:
            _reducible_panel(axes, record, laws[task][0])
        else:
            _say(axes, "no joint law")
    return words.drawn(figure)


def _joint(record: RunRecord, task: str) -> list[Law]:
    law = record.law("joint", task)
    return [law] if law is not None else []


def _curves(
    record: RunRecord, words: Drawing, laws: dict[str, list[Law]], why: str
) -> Drawing:
    """Points and the laws' curves, one panel a task."""
    if record.runs is None or not any(laws.values()):
        return words.missing(why)
    figure, every = panels(len(record.tasks))
    for axes, task in zip(every, record.tasks, strict=True):
        axes.set_title(task)
        points = points_of(measured(record), task)
        if not points:
            _say(axes, "not measured")
            continue
        size_axis(axes, sizes_of(points))
        axes.set_ylabel(metric_label(record))
        _scatter(axes, points, [point.value for point in points])
        ends = []
        for law in laws[task]:
            ends += _draw_law(axes, law, points, reducible=False)
        axes.margins(x=0.05)
        label_ends(axes, ends)
    return words.drawn(figure)


def _reducible_panel(axes: Axes, record: RunRecord, law: Law) -> None:
    points = points_of(measured(record), law.task)
    values = np.array([_reducible(law, point.value) for point in points])
    above = values > 0
    shown = [point for point, kept in zip(points, above, strict=True) if kept]
    size_axis(axes, sizes_of(points))
    _scatter(axes, shown, values[above])
    low, high = values[above].min(), values[above].max()
    log_y_axis(axes, low / (high / low) ** 0.06, high * (high / low) ** 0.06)
    axes.margins(x=0.05)
    label_ends(axes, _draw_law(axes, law, points, reducible=True))
    axes.set_ylabel("loss − L∞ (nats per target token)")
    if law.ceiling is not None:
        axes.set_ylabel(f"{law.ceiling:g} − {metric_label(record)} − L∞")
    note = f"α = {law.parameters['alpha']:.3f} ± {law.standard_errors['alpha']:.2g}"
    note += f"\nL∞ = {law.parameters['irreducible_loss']:.3f}"
    if (~above).any():
        note += f"\n{(~above).sum()} points at or below L∞ not drawn"
    axes.text(0.04, 0.05, note, transform=axes.transAxes, fontsize=8.5, linespacing=1.5)


def _reducible(law: Law, value: NDArray | float) -> NDArray | float:
    distance = value if law.ceiling is None else law.ceiling - value
    return distance - law.parameters["irreducible_loss"]


def _scatter(axes: Axes, points: Sequence[Point], values: Sequence[float]) -> None:
    for point, value in zip(points, values, strict=True):
        colour = weight_colour(point.p)
        axes.plot(
            point.n,
            value,
            marker="o",
            markersize=5.5,
            markeredgecolor=colour if point.held_out else "white",
            markeredgewidth=1.3 if point.held_out else 0.6,
            markerfacecolor="white" if point.held_out else colour,
            zorder=4 if point.held_out else 3,
            linestyle="none",
        )


def _draw_law(
    axes: Axes, law: Law, points: Sequence[Point], reducible: bool
) -> list[tuple[float, float, str, object]]:
    """The law's curves over all measured sizes, or what is reducible; their ends."""
    low, high = law.fitted_range["n"]
    last = max(high, max(point.n for point in points))
    inside, beyond = np.geomspace(low, high, 80), np.geomspace(high, last, 30)
    ends = []
    for weighting in law.weightings:
        if weighting.p == 0:
            continue
        colour = weight_colour(weighting.p)
        for sizes, style in ((inside, "-"), (beyond, (0, (3, 2)))):
            values = law.predict(Query(sizes, weighting))
            if reducible:
                values = _reducible(law, values)
            axes.plot(sizes, values, color=colour, linestyle=style, zorder=2)
        ends.append((last, float(values[-1]), f"p = {weighting.p:g}", colour))
    return ends


def _say(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center")
