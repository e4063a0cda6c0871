"""Translation quality against loss, during training and at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from components.artifacts.metrics_table import MetricsRow
from components.fit.quality import METRICS, better_curve
from components.report import captions
from components.report.appearance import INK, MUTED, panels, size_colour
from components.report.drawing import Drawing
from components.report.measured import METRIC_NAMES
from components.report.record import RunRecord
from models.errors import UserError

_MARKERS = {"source": "o", "target": "^", "mixed": "s"}
_DASHES = {"source": "-", "target": (0, (4, 2)), "mixed": "-"}
_WORDS = {"source": "source-original", "target": "target-original"}
Parts = Mapping[str, Sequence[MetricsRow]]
"""Original language -> rows."""


def draw_quality(record: RunRecord) -> Drawing | None:
    """A panel for each task and metric; ``None`` where nothing was translated."""
    found = {
        (task, metric): parts
        for metric in METRICS
        for task in record.tasks
        if (parts := _parts(record, task, metric))
    }
    if not found:
        return None
    words = Drawing(
        name="quality",
        title="Translation quality against loss",
        source="[N] Fig. 8, [M] Fig. 8",
        caption=captions.QUALITY,
    )
    rows = [row for parts in found.values() for own in parts.values() for row in own]
    sizes = {row.n: row.size for row in sorted(rows, key=lambda row: row.n)}
    unseen = _held_out(record)
    figure, every = panels(len(found))
    for axes, ((task, metric), parts) in zip(every, found.items(), strict=True):
        test_set = next(iter(parts.values()))[0].test_set
        axes.set_title(f"{task}   {test_set}")
        axes.set_xlabel("test loss (nats per target token)")
        axes.set_ylabel(METRIC_NAMES[metric])
        for origin, own in parts.items():
            _draw_trials(axes, own, origin, metric, list(sizes))
            _draw_law(axes, own, origin, metric, unseen)
    handles = [
        Line2D([], [], color=size_colour(n, list(sizes)), label=name)
        for n, name in sizes.items()
    ]
    origins = {origin for parts in found.values() for origin in parts}
    handles += [
        Line2D([], [], color=MUTED, marker=_MARKERS[origin],
               linestyle=_DASHES[origin], label=_WORDS[origin])
        for origin in sorted(origins & _WORDS.keys())
    ]  # fmt: skip
    figure.legend(
        handles=handles, loc="outside upper right", ncols=min(len(handles), 9)
    )
    return words.drawn(figure)


def _parts(record: RunRecord, task: str, metric: str) -> Parts:
    """The rows with this metric of the test set to show, whole or in its halves.

    The one that has both halves where there is one, as [N] finds other curves on
    them; else the one that the page is about.
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


def _held_out(record: RunRecord) -> set[str]:
    """Trials that no curve is fitted to."""
    held_out = record.runs.held_out if record.runs is not None else None
    return set() if held_out is None else set(held_out.trial.tolist())


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
        axes.plot(
            [row.loss for row in own],
            [getattr(row, metric) for row in own],
            color=size_colour(own[0].n, sizes), marker=_MARKERS[origin],
            markersize=2.5, linewidth=0.8, alpha=0.45, zorder=2,
        )  # fmt: skip
    for row in rows:
        if row.loss_kind == "final":
            axes.plot(
                row.loss,
                getattr(row, metric),
                color=size_colour(row.n, sizes), marker=_MARKERS[origin],
                markersize=6, markeredgecolor="white", markeredgewidth=0.6, zorder=3,
            )  # fmt: skip


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
    axes.plot(
        x, curve.predict(x), color=INK, linewidth=1, linestyle=_DASHES[origin], zorder=1
    )
