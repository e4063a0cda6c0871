"""Translation quality against loss, during training and at its end.

Ghorbani et al. 2021, Fig. 8, and Fernandes et al. 2023, Fig. 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from components.artifacts.metrics_table import MetricsRow
from components.fit.quality import METRICS, better_curve
from components.report.config import Config
from components.report.plotting import (
    INK,
    MUTED,
    NotDrawn,
    legend_above,
    mark,
    panels,
    size_colour,
)
from components.report.record import METRIC_NAMES, RunRecord
from models.errors import UserError

_MARKERS = {"source": "o", "target": "^", "mixed": "s"}
_DASHES = {"source": "-", "target": (0, (4, 2)), "mixed": "-"}
_WORDS = {"source": "source-original", "target": "target-original"}
Parts = Mapping[str, Sequence[MetricsRow]]
"""Original language -> rows."""


def draw_quality(record: RunRecord, config: Config) -> Figure:
    """A panel for each task and metric."""
    found = {
        (task, metric): parts
        for metric in METRICS
        for task in record.tasks
        if (parts := _parts(record, task, metric))
    }
    if not found:
        raise NotDrawn("No test set was translated (evaluate.quality).")
    rows = [row for parts in found.values() for own in parts.values() for row in own]
    names = {row.n: row.size for row in sorted(rows, key=lambda row: row.n)}
    sizes = list(names)
    unseen = {point.trial for point in record.points if point.held_out}
    figure, every = panels(len(found))
    for axes, ((task, metric), parts) in zip(every, found.items(), strict=True):
        test_set = next(iter(parts.values()))[0].test_set
        axes.set_title(f"{task}   {test_set}")
        axes.set_xlabel("test loss (nats per target token)")
        axes.set_ylabel(METRIC_NAMES[metric])
        for origin, own in parts.items():
            _draw_trials(axes, own, origin, metric, sizes)
            _draw_law(axes, own, origin, metric, unseen)
    entries = {name: {"color": size_colour(n, sizes)} for n, name in names.items()}
    for origin in sorted({o for parts in found.values() for o in parts} & set(_WORDS)):
        style = {"marker": _MARKERS[origin], "linestyle": _DASHES[origin]}
        entries[_WORDS[origin]] = style | {"color": MUTED}
    legend_above(figure, entries)
    return figure


def _parts(record: RunRecord, task: str, metric: str) -> Parts:
    """The rows with this metric of the test set to show, whole or in its halves.

    The one that has both halves where there is one, as other curves hold on them; else
    the one that the page is about.
    """
    by_set: dict[str, dict[str, list[MetricsRow]]] = {}
    for row in record.rows:
        value = getattr(row, metric)
        if row.task == task and row.p > 0 and None not in (value, row.loss):
            own = by_set.setdefault(row.test_set, {})
            own.setdefault(row.origin or "mixed", []).append(row)
    if not by_set:
        return {}
    shown = (record.test_set or "").partition(":")[0]
    name = min(by_set, key=lambda name: (-len(by_set[name]), name != shown))
    parts = by_set[name]
    return {o: rows for o, rows in parts.items() if o != "mixed" or len(parts) == 1}


def _draw_trials(
    axes: Axes,
    rows: Sequence[MetricsRow],
    origin: str,
    metric: str,
    sizes: Sequence[float],
) -> None:
    """A thin line a trial, from evaluation to evaluation, and a point at its end."""
    curves: dict[str, list[MetricsRow]] = {}
    for row in sorted(rows, key=lambda row: row.step or 0):
        if row.loss_kind == "curve":
            curves.setdefault(row.trial, []).append(row)
    for own in curves.values():
        values = [getattr(row, metric) for row in own]
        axes.plot(
            [row.loss for row in own], values, color=size_colour(own[0].n, sizes),
            marker=_MARKERS[origin], markersize=2.5, linewidth=0.8, alpha=0.45,
        )  # fmt: skip
    for row in rows:
        if row.loss_kind == "final":
            style = mark(size_colour(row.n, sizes), _MARKERS[origin], 6)
            axes.plot(row.loss, getattr(row, metric), **style)


def _draw_law(
    axes: Axes, rows: Sequence[MetricsRow], origin: str, metric: str, unseen: set[str]
) -> None:
    """The better of both quality laws, where the trials' ends allow one."""
    ends = [
        (row.loss, getattr(row, metric))
        for row in rows
        if row.loss_kind == "final" and row.trial not in unseen
    ]
    try:
        curve = better_curve(ends)
    except UserError:  # too few losses; the fit's report says so
        return
    losses = [loss for loss, _ in ends]
    x = np.linspace(min(losses), max(losses), 60)
    style = {"color": INK, "linewidth": 1, "linestyle": _DASHES[origin], "zorder": 1}
    axes.plot(x, curve.predict(x), **style)
