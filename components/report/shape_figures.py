"""Encoder and decoder scaled apart: Ghorbani et al. 2021, Fig. 1-4, 10, 22 and 23."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from components.fit.points import Point
from components.report.config import Config
from components.report.plotting import (
    INK,
    MUTED,
    NotDrawn,
    label_ends,
    legend_above,
    mark,
    panels,
    size_axis,
    task_colour,
    task_marker,
)
from components.report.record import RunRecord, size_names
from components.report.words import count_text
from models.laws import BivariateLaw, IndividualLaw, Law, Query

_LEAST = 3  # models of a family that deserves a curve
_UNIVARIATE = {"color": INK, "linestyle": (0, (4, 2)), "linewidth": 1.3}
Family = tuple[str, list[Point]]
"""What is scaled, and its models by size."""


def draw_shapes(record: RunRecord, config: Config) -> Figure:
    """Loss by family, and the deviation of both laws in percent."""
    laws = _laws(record)
    figure, grid = panels(2 * len(laws), height=4.0)
    entries: dict[str, dict] = {}
    for k, law in enumerate(laws):
        left, right = grid[2 * k], grid[2 * k + 1]
        points = _points(record, law)
        families = _families(points)
        univariate = _univariate(record, law)
        left.set_title(_title(record, law))
        right.set_title("deviation of the prediction")
        size_axis(left, size_names(points))
        size_axis(right, size_names(points))
        left.set_ylabel(record.quantity.label)
        right.set_ylabel("percent of the measured value")
        right.axhline(0, color=MUTED, linewidth=1, zorder=1)
        for family, (name, models) in enumerate(families):
            colour, marker = task_colour(family), task_marker(family)
            entries[name] = {"color": colour, "marker": marker}
            _draw_family(left, law, models, colour)
            for point in models:
                style = mark(colour, marker, hollow=point.held_out)
                left.plot(point.n, point.value, **style)
                right.plot(point.n, _deviation(law, point), **style)
                if univariate is not None:
                    grey = mark(MUTED, "x", 4.5) | {"markeredgecolor": MUTED}
                    right.plot(point.n, _deviation(univariate, point), **grey)
        if univariate is not None:
            _draw_univariate(left, univariate, points)
            entries["univariate law"] = _UNIVARIATE | {"marker": "x"}
        left.margins(x=0.05)
    legend_above(figure, entries)
    return figure


def draw_encoder_share(record: RunRecord, config: Config) -> Figure:
    """What other splits between encoder and decoder cost than the optimal one."""
    laws = _laws(record)
    figure, (axes,) = panels(1, height=3.7)
    shares = np.linspace(0.05, 0.95, 181)
    ends, top = [], 0.0
    for k, law in enumerate(laws):
        colour = task_colour(k)
        cost = [100 * (law.split_penalty(share) - 1) for share in shares]
        best = float(law.optimal_split(1.0)[0])
        axes.plot(shares, cost, color=colour)
        axes.plot(best, 0, **mark(colour, task_marker(k), 7))
        axes.annotate(
            f"{100 * best:.0f} %", (best, 0), xytext=(0, -13), fontsize=8,
            textcoords="offset points", ha="center", color=INK,
        )  # fmt: skip
        ends.append((0.95, cost[-1], _title(record, law), colour))
        measured = [point.n_enc / point.n for point in _points(record, law)]
        top = max(top, *(100 * (law.split_penalty(share) - 1) for share in measured))
        axes.plot(measured, [0] * len(measured), "|", color=MUTED, markersize=9)
    axes.set_ylim(-0.12 * max(top, 1.0), 1.3 * max(top, 1.0))
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the encoder in N")
    axes.set_ylabel(f"more reducible {record.quantity.modelled}, percent")
    if len(laws) > 1:
        label_ends(axes, [end for end in ends if end[1] <= 1.3 * top])
    return figure


def _laws(record: RunRecord) -> list[BivariateLaw]:
    laws = [law for task in record.tasks for law in record.laws_of(BivariateLaw, task)]
    if not laws:
        raise NotDrawn("There is no bivariate law of encoder and decoder.")
    return laws


def _title(record: RunRecord, law: Law) -> str:
    several = len(record.laws_of(BivariateLaw, law.task)) > 1
    return f"{law.task}, p = {law.weightings[0].label}" if several else law.task


def _points(record: RunRecord, law: Law) -> list[Point]:
    return [
        point
        for point in record.points_of(law.task)
        if abs(point.p - law.weightings[0].p) < 1e-6 and not math.isnan(point.n_enc)
    ]


def _univariate(record: RunRecord, law: Law) -> IndividualLaw | None:
    """The law of N alone that was fitted to the same runs."""
    for one in record.laws_of(IndividualLaw, law.task):
        if one.weightings[0].same(law.weightings[0]):
            return one
    return None


def _families(points: Sequence[Point]) -> list[Family]:
    """Models that differ in one side only, then the rest; each in one family."""
    left, found = list(points), []
    for scaled, kept, size in (
        ("encoder", "decoder", "n_dec"),
        ("decoder", "encoder", "n_enc"),
    ):
        for value in sorted({getattr(point, size) for point in left}):
            models = [point for point in left if getattr(point, size) == value]
            if len({point.n for point in models}) >= _LEAST:
                name = f"{scaled} scaled, {kept} of {count_text(value)}"
                found.append((name, sorted(models, key=lambda point: point.n)))
                left = [point for point in left if point not in models]
    if left:
        found.append(("both scaled", sorted(left, key=lambda point: point.n)))
    return found


def _deviation(law: Law, point: Point) -> float:
    """By how many percent of the measured value a law predicts more."""
    query = Query(point.n)
    if isinstance(law, BivariateLaw):
        query = Query(n_enc=point.n_enc, n_dec=point.n_dec)
    return 100 * (float(law.predict(query)) / point.value - 1)


def _draw_family(
    axes: Axes, law: BivariateLaw, models: Sequence[Point], colour: str
) -> None:
    """The law from model to model, through the shapes between them."""
    steps = np.arange(len(models))
    fine = np.linspace(0, len(models) - 1, 30 * len(models))
    enc, dec = (
        np.exp(np.interp(fine, steps, np.log(sizes)))
        for sizes in zip(*((point.n_enc, point.n_dec) for point in models), strict=True)
    )
    values = law.predict(Query(n_enc=enc, n_dec=dec))
    axes.plot(enc + dec, values, color=colour, zorder=2)


def _draw_univariate(axes: Axes, law: IndividualLaw, points: Sequence[Point]) -> None:
    sizes = [point.n for point in points]
    n = np.geomspace(min(sizes), max(sizes), 80)
    axes.plot(n, law.predict(Query(n)), **_UNIVARIATE)
