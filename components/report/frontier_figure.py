"""The trade-off between tasks: [M] Fig. 7."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from components.report import captions
from components.report.appearance import (
    ALERT,
    INK,
    count_text,
    panels,
    readable,
    size_colour,
)
from components.report.drawing import Drawing
from components.report.measured import (
    Point,
    measured,
    metric_label,
    quantity,
    sizes_of,
)
from components.report.record import RunRecord
from models.laws import Law, Query, frontier

_POINTS = 99
_RARER = 0.6  # curves go on to this share of the rarest fitted weight


def draw_frontier(record: RunRecord) -> Drawing:
    """The predicted frontier at every size, and what was measured."""
    words = Drawing(
        name="frontier",
        title="The trade-off frontier: predicted and measured",
        source="[M] Fig. 7",
        caption=captions.FRONTIER.format(better=quantity(record).better)
        if len(record.tasks) < 3
        else captions.FRONTIER_OF_MANY,
    )
    laws = [record.law("approximate", task) for task in record.tasks]
    if len(laws) < 2 or None in laws:
        return words.missing(
            "a frontier needs two tasks, each with an approximate joint law"
        )
    pairs = list(itertools.combinations(range(len(laws)), 2))
    tall = len(pairs) == 1
    figure, every = panels(len(pairs), height=5.4 if tall else 4.2)
    for axes, (first, second) in zip(every, pairs, strict=True):
        if len(laws) == 2:
            _curves(axes, record, laws)
            axes.margins(x=0.11, y=0.05)  # room for the names at the left
        else:
            _pair(axes, record, laws, first, second)
        _recommended(axes, record, first, second)
        label = metric_label(record)
        axes.set_xlabel(f"{record.tasks[first]} {label}")
        axes.set_ylabel(f"{record.tasks[second]} {label}")
    if len(laws) > 2:
        _name_sizes(figure, sizes_of(measured(record)))
    return words.drawn(figure)


def _curves(axes: Axes, record: RunRecord, laws: Sequence[Law]) -> None:
    """Two tasks: one curve a size."""
    points = measured(record)
    models, sizes = _models(points), sizes_of(points)
    target = (record.recommendation or {}).get("n")
    every = sorted({*sizes, *([target] if target else [])})
    rarest = _RARER * min(law.fitted_range["p"][0] for law in laws)
    for n in every:
        found = frontier(laws, n, _POINTS)
        colour = size_colour(n, every)
        style = "-" if n in sizes else (0, (4, 2))
        # A rarer task than any that was trained would stretch the axes.
        x, y = found.losses[(found.weights >= rarest).all(axis=1)].T
        axes.plot(x, y, color=colour, linestyle=style, zorder=2)
        last = int(np.argmax(y))
        axes.annotate(
            sizes.get(n, count_text(n)),
            (x[last], y[last]),
            xytext=(-4, 0),
            textcoords="offset points",
            fontsize=8.5,
            color=readable(colour),
            ha="right",
            va="center",
        )
    for model in models:
        _point(axes, model, record.tasks, 0, 1, every)


def _pair(
    axes: Axes, record: RunRecord, laws: Sequence[Law], first: int, second: int
) -> None:
    """Three or more tasks: measured and predicted at the measured mixtures."""
    models = _models(measured(record))
    sizes = sorted({model[0].n for model in models})
    pair = (laws[first], laws[second])
    for model in models:
        values = _values(model, record.tasks, first, second)
        if values is None or not model[0].mixture:
            continue
        n = model[0].n
        query = Query(n, model[0].mixture)
        told = [float(law.predict(query)) for law in pair]
        colour = size_colour(n, sizes)
        axes.plot(
            [values[0], told[0]], [values[1], told[1]], color=colour, linewidth=0.8
        )
        axes.plot(*told, "x", color=colour, markersize=5)
        _point(axes, model, record.tasks, first, second, sizes)
    axes.set_title(f"{laws[first].task} and {laws[second].task}")


def _name_sizes(figure: Figure, sizes: Mapping[float, str]) -> None:
    dots = [
        Line2D(
            [], [], marker="o", ls="none", color=size_colour(n, list(sizes)), label=t
        )
        for n, t in sizes.items()
    ]
    figure.legend(handles=dots, loc="outside upper right", ncols=min(9, len(dots)))


def _point(
    axes: Axes,
    model: Sequence[Point],
    tasks: Sequence[str],
    first: int,
    second: int,
    sizes: Sequence[float],
) -> None:
    values = _values(model, tasks, first, second)
    if values is None:
        return
    colour = size_colour(model[0].n, sizes)
    hollow = model[0].held_out
    axes.plot(
        *values,
        marker="o",
        markersize=5.5,
        markerfacecolor="white" if hollow else colour,
        markeredgecolor=colour if hollow else "white",
        markeredgewidth=1.3 if hollow else 0.6,
        linestyle="none",
        zorder=4,
    )


def _models(points: Sequence[Point]) -> list[list[Point]]:
    """The points of each trial together."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.trial, []).append(point)
    return list(found.values())


def _values(
    model: Sequence[Point], tasks: Sequence[str], first: int, second: int
) -> tuple[float, float] | None:
    """Both tasks' values; None where one of them is zero-shot or not measured."""
    value = {point.task: point.value for point in model}
    if tasks[first] not in value or tasks[second] not in value:
        return None
    return value[tasks[first]], value[tasks[second]]


def _recommended(axes: Axes, record: RunRecord, first: int, second: int) -> None:
    advice = record.recommendation or {}
    losses = advice.get("losses") or {}
    names = (record.tasks[first], record.tasks[second])
    if not all(name in losses for name in names):
        return
    axes.plot(
        losses[names[0]],
        losses[names[1]],
        marker="*",
        markersize=13,
        color=ALERT,
        markeredgecolor="white",
        linestyle="none",
        zorder=5,
    )
    weights = advice["weights"]
    shown = [f"{name} {weights[name]:.2f}" for name in record.tasks]
    if len(shown) > 2:
        text = "★ " + ", ".join(shown)
        axes.set_title(text, loc="right", fontsize=8, fontweight="normal")
        return
    # Lower right is empty: smaller models, with larger losses, lie above.
    axes.text(
        0.98,
        0.03,
        "\n".join([f"★ recommended for {count_text(advice['n'])}", *shown]),
        transform=axes.transAxes,
        fontsize=8.5,
        color=INK,
        ha="right",
        linespacing=1.5,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 2},
    )
