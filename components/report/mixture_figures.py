"""How tasks share a model: Fernandes et al. 2023, Fig. 6 and 7."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from components.fit.points import Point
from components.report.config import Config
from components.report.plotting import (
    ALERT,
    INK,
    MUTED,
    Colour,
    NotDrawn,
    curve,
    legend_above,
    mark,
    panels,
    readable,
    size_colour,
    task_colour,
    task_marker,
)
from components.report.record import RunRecord, size_names
from components.report.words import count_text
from models.errors import UserError
from models.laws import ApproximateLaw, JointLaw, Law, Query, frontier

_POINTS = 99
_MOST_PAIRED = 4  # tasks, six pairs of which are readable
_RARER = 0.6  # curves go on to this share of the rarest fitted weight


def draw_effective_fraction(record: RunRecord, config: Config) -> Figure:
    """Fig. 6: the part of the model that each task gets."""
    laws = {
        task: (record.law(ApproximateLaw, task), record.law(JointLaw, task))
        for task in record.shown_tasks
    }
    if len(record.shown_tasks) < 2 or not any(
        law for both in laws.values() for law in both
    ):
        raise NotDrawn("It needs two tasks and a joint or approximate law.")
    figure, (left, right) = panels(2, height=4.2)
    left.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, zorder=1)
    left.text(0.62, 0.585, "neutral", color=MUTED, fontsize=8, rotation=41, va="top")
    right.axhline(1, color=MUTED, linewidth=1.2, zorder=1)
    for axes, relative in ((left, False), (right, True)):
        for k, (approximate, joint) in enumerate(laws.values()):
            if approximate is not None:
                draw_fitted_fraction(
                    axes, approximate, task_colour(k), relative, config.level
                )
            if joint is not None:
                _joint_fractions(axes, joint, k, relative, config.level)
        axes.set_xlabel("weight p of the task")
        fraction_limits(axes, relative)
    left.set(title="f(p)", ylabel="effective fraction f")
    right.set(title="f(p) / p", ylabel="f / p")
    styles = {
        task: {"marker": task_marker(k), "color": task_colour(k)}
        for k, task in enumerate(record.shown_tasks)
    }
    legend_above(figure, styles)
    return figure


def fraction_limits(axes: Axes, relative: bool) -> None:
    """Limits by the lines and points: an open band would flatten them."""
    lines = [line for line in axes.lines if line.get_transform() == axes.transData]
    values = np.concatenate([np.ravel(line.get_ydata()) for line in lines])
    top = min(axes.get_ylim()[1], max(1.05, 1.2 * values.max()))
    bottom = max(0.0, values.min() - 0.12 * (top - values.min())) if relative else -0.02
    axes.set_ylim(bottom, top)
    axes.set_xlim(-0.02, 1.03)


def draw_fitted_fraction(
    axes: Axes, law: Law, colour: Colour, relative: bool, level: float
) -> None:
    """The approximate law's f, or f / p, along p.

    Where f depends on the whole mixture it is no curve over p; rings then show it at
    the trained mixtures.
    """

    def shown(p: np.ndarray) -> list[np.ndarray]:
        by = p if relative else 1.0
        return [values / by for values in law.effective_fraction(p, level)]

    try:
        along_p = bool(np.isfinite(law.effective_fraction(0.5, level)[0]))
    except UserError:
        along_p = False
    if not along_p:
        for weighting in law.weightings:
            if weighting.p > 0:
                f = float(law.effective_fraction(weighting, level)[0])
                by = weighting.p if relative else 1.0
                axes.plot(weighting.p, f / by, **mark(colour, size=10, hollow=True))
        return
    low, high = law.fitted_range["p"]
    ends = (0.5 * low, 1.0)
    curve(axes, lambda p: shown(p)[0], (low, high), ends, colour)
    p = np.geomspace(*ends, 160)
    _, below, above = shown(p)
    if np.isfinite(above).all() and above.max() < 20:
        axes.fill_between(p, below, above, color=colour, alpha=0.15, linewidth=0)


def _joint_fractions(
    axes: Axes, law: Law, k: int, relative: bool, level: float
) -> None:
    for weighting in law.weightings:
        try:
            f, low, high = law.effective_fraction(weighting, level)
        except UserError:
            return  # p = 1 was not trained: nothing to compare with
        by = weighting.p if relative else 1.0
        bars = [[float(f - low) / by], [float(high - f) / by]]
        shown = math.isfinite(bars[1][0]) and bars[1][0] < 20
        axes.errorbar(
            weighting.p,
            float(f) / by,
            yerr=bars if shown else None,
            fmt=task_marker(k),
            color=task_colour(k),
            markersize=max(4.0, 8.5 - 1.8 * k),  # tasks that agree stay visible
            markeredgecolor="white",
            markeredgewidth=0.6,
            elinewidth=1.2,
            zorder=3,
        )


def draw_frontier(record: RunRecord, config: Config) -> Figure:
    """Fig. 7: the predicted frontier at every size, and what was measured."""
    tasks = record.tasks[:_MOST_PAIRED]
    laws = [record.law(ApproximateLaw, task) for task in tasks]
    if len(laws) < 2 or None in laws:
        raise NotDrawn("It needs two tasks, each with an approximate law.")
    several = len(laws) > 2
    pairs = list(itertools.combinations(range(len(laws)), 2))
    figure, every = panels(len(pairs), height=4.2 if several else 5.4)
    for axes, (first, second) in zip(every, pairs, strict=True):
        if several:
            _draw_predictions(axes, record, laws, first, second)
        else:
            _draw_frontiers(axes, record, laws)
        _draw_recommendation(axes, record, first, second)
        axes.set_xlabel(f"{record.shown_tasks[first]} {record.quantity.label}")
        axes.set_ylabel(f"{record.shown_tasks[second]} {record.quantity.label}")
    if several:
        sizes = size_names(record.points)
        styles = {t: mark(size_colour(n, list(sizes))) for n, t in sizes.items()}
        legend_above(figure, styles)
    return figure


def _draw_frontiers(axes: Axes, record: RunRecord, laws: Sequence[Law]) -> None:
    """Two tasks: one curve a size."""
    sizes = size_names(record.points)
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
            sizes.get(n, count_text(n)), (x[last], y[last]), xytext=(-4, 0),
            textcoords="offset points", fontsize=8.5, color=readable(colour),
            ha="right", va="center",
        )  # fmt: skip
    for model in _models(record.points):
        _draw_model(axes, model, record.shown_tasks, every)
    axes.margins(x=0.11, y=0.05)  # room for the names at the left


def _draw_predictions(
    axes: Axes, record: RunRecord, laws: Sequence[Law], first: int, second: int
) -> None:
    """Three or more tasks: measured and predicted at the measured mixtures."""
    tasks = (record.shown_tasks[first], record.shown_tasks[second])
    sizes = list(size_names(record.points))
    for model in _models(record.points):
        values, one = _values(model, tasks), model[0]
        if values is None or not one.mixture:
            continue
        predicted = [
            float(laws[k].predict(Query(one.n, one.weights))) for k in (first, second)
        ]
        colour = size_colour(one.n, sizes)
        axes.plot(*zip(values, predicted, strict=True), color=colour, linewidth=0.8)
        axes.plot(*predicted, "x", color=colour, markersize=5)
        _draw_model(axes, model, tasks, sizes)
    axes.set_title(f"{tasks[0]} and {tasks[1]}")


def _draw_model(
    axes: Axes, model: Sequence[Point], tasks: Sequence[str], sizes: Sequence[float]
) -> None:
    values, one = _values(model, tasks), model[0]
    if values is not None:
        axes.plot(*values, **mark(size_colour(one.n, sizes), hollow=one.held_out))


def _models(points: Sequence[Point]) -> list[list[Point]]:
    """The points of each trial together."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.trial, []).append(point)
    return list(found.values())


def _values(model: Sequence[Point], tasks: Sequence[str]) -> tuple[float, float] | None:
    """Two tasks' values; None where one of them is zero-shot or not measured."""
    value = {point.task: point.value for point in model}
    if tasks[0] not in value or tasks[1] not in value:
        return None
    return value[tasks[0]], value[tasks[1]]


def _draw_recommendation(
    axes: Axes, record: RunRecord, first: int, second: int
) -> None:
    advice = record.recommendation or {}
    losses = advice.get("losses") or {}
    names = (record.shown_tasks[first], record.shown_tasks[second])
    if not all(name in losses for name in names):
        return
    star = mark(ALERT, "*", 13) | {"zorder": 5}
    axes.plot(losses[names[0]], losses[names[1]], **star)
    shown = [f"{name} {advice['weights'][name]:.2f}" for name in names]
    if len(record.shown_tasks) > 2:
        text = "★ " + ", ".join(shown)
        axes.set_title(text, loc="right", fontsize=8, fontweight="normal")
        return
    # Lower right is empty: smaller models, with larger losses, lie above.
    axes.text(
        0.98, 0.03, "\n".join([f"★ recommended for {count_text(advice['n'])}", *shown]),
        transform=axes.transAxes, fontsize=8.5, color=INK, ha="right", linespacing=1.5,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 2},
    )  # fmt: skip
