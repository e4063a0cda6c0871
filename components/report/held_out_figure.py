"""Held-out validation: losses that no law was fitted to, predicted and measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from components.fit import held_out
from components.fit.held_out import Compared
from components.report.config import Config
from components.report.plotting import (
    INK,
    MUTED,
    WIDTH,
    NotDrawn,
    mark,
    panels,
    task_colour,
    task_marker,
)
from components.report.record import RunRecord, size_name

MOST_ROWS = 24  # of each kind; more would not be readable
_GAP = 1.0  # rows before and after a heading


def draw_held_out(record: RunRecord, config: Config) -> Figure:
    """Predicted against measured, and the errors in percent, with intervals."""
    groups = {
        kind: found
        for kind in held_out.KINDS
        if (found := held_out.chosen(record.compared, kind))
    }
    if not groups:
        raise NotDrawn(
            "Nothing was held out. Name a size and a mixture in fit.held_out: they are "
            "trained and measured, but no law is fitted to them."
        )
    shown = {kind: _worst(group) for kind, group in groups.items()}
    rows = sum(map(len, shown.values())) + 2 * _GAP * len(shown)
    height = max(4.0, 0.19 * rows + 0.9)
    figure, (left, right) = panels(2, height, width=WIDTH, width_ratios=(1, 1.2))
    left.set_anchor("N")
    _parity_panel(left, record, [one for group in groups.values() for one in group])
    _error_panel(right, record, shown)
    return figure


def _worst(group: Sequence[Compared]) -> list[Compared]:
    """The largest errors, in the order of the group."""
    ranked = sorted(group, key=lambda one: -abs(one.error_percent))[:MOST_ROWS]
    return [one for one in group if one in ranked]


def _parity_panel(axes: Axes, record: RunRecord, every: Sequence[Compared]) -> None:
    axes.set_title("predicted against measured")
    values = [v for one in every for v in (one.loss, one.predicted)]
    pad = max(0.07 * (max(values) - min(values)), 0.02 * max(values))
    ends = (min(values) - pad, max(values) + pad)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.plot(ends, ends, color=MUTED, linewidth=1, zorder=1)
    legend = {}
    for one in every:
        style = _style(record, one, 6.5)
        if math.isfinite(one.high - one.low):
            axes.plot([one.loss] * 2, [one.low, one.high], color=_colour(record, one),
                      alpha=0.5)  # fmt: skip
        axes.plot(one.loss, one.predicted, **style)
        name = f"{one.task}, held-out {one.kind}"
        legend[name] = Line2D([], [], label=name, **style)
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    axes.set_box_aspect(1)
    axes.set_xlabel(f"measured {record.quantity.label}")
    axes.set_ylabel(f"predicted {record.quantity.label}")
    if len(legend) <= 8:
        axes.legend(handles=legend.values(), loc="upper left", handletextpad=0.3)


def _error_panel(
    axes: Axes, record: RunRecord, groups: Mapping[str, Sequence[Compared]]
) -> None:
    """One row a held-out measurement, grouped by what was held out."""
    axes.set_title("error of the prediction")
    axes.axvline(0, color=MUTED, linewidth=1, zorder=1)
    place = 0.0
    for kind, group in groups.items():
        axes.text(
            0.0, place, _heading(kind, group), transform=axes.get_yaxis_transform(),
            fontsize=8.5, fontweight="bold", color=INK, va="center", zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip
        place += _GAP
        for one in group:
            ends = [100 * (end - one.loss) / one.loss for end in (one.low, one.high)]
            if all(map(math.isfinite, ends)):
                axes.plot(ends, [place] * 2, color=_colour(record, one), alpha=0.4)
            axes.plot(one.error_percent, place, **_style(record, one, 5.5))
            _row_name(axes, one, place)
            place += 1
        place += _GAP - 0.4
    axes.set_yticks([])
    axes.set_ylim(place - 0.6, -0.9)
    axes.spines["left"].set_visible(False)
    reach = 1.08 * max(np.abs(axes.get_xlim()))
    axes.set_xlim(-reach, reach)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:+.3g}" if value else "0")
    axes.set_xlabel("percent")


def _heading(kind: str, group: Sequence[Compared]) -> str:
    if kind == "size":
        names = dict(sorted((one.n, size_name(one.n, one.size)) for one in group))
        return f"held-out size: {', '.join(names.values())}"
    return "held-out mixture"


def _row_name(axes: Axes, one: Compared, place: float) -> None:
    """Task, weight and size in columns beside the row."""
    columns = (
        (-0.03, size_name(one.n, one.size), "right"),
        (-0.27, f"p = {one.p:g}", "left"),
        (-0.29, one.task, "right"),
    )
    for x, text, side in columns:
        axes.text(
            x, place, text, transform=axes.get_yaxis_transform(), fontsize=7.5,
            ha=side, va="center",
        )  # fmt: skip


def _place(record: RunRecord, one: Compared) -> int:
    tasks = record.tasks
    return tasks.index(one.task) if one.task in tasks else len(tasks)


def _colour(record: RunRecord, one: Compared) -> str:
    return task_colour(_place(record, one))


def _style(record: RunRecord, one: Compared, size: float) -> dict[str, object]:
    """Filled for a held-out size, hollow for a held-out mixture."""
    marker = task_marker(_place(record, one))
    return mark(_colour(record, one), marker, size, hollow=one.kind == "mixture")
