"""The first figure: held-out losses, predicted and measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from components.fit.held_out import Compared
from components.report import captions, proof
from components.report.appearance import (
    INK,
    MUTED,
    WIDTH,
    count_text,
    task_colour,
    task_marker,
)
from components.report.drawing import Drawing
from components.report.measured import metric_label, quantity
from components.report.record import RunRecord

_MOST_ROWS = 24
_GAP = 1.6  # rows between two groups


def draw_proof(record: RunRecord) -> Drawing:
    """Predicted against measured, and the errors in percent, with intervals."""
    words = Drawing(
        name="proof",
        title="Predicted and measured: what the fit has never seen",
        caption=_caption(record),
    )
    groups = {kind: proof.chosen(record.compared, kind) for kind in proof.KINDS}
    if not any(groups.values()):
        return words.missing(
            "Nothing was held out, so nothing is proven. Name a size and a mixture in "
            "<code>fit.held_out</code>: they are trained and measured, but never shown "
            "to the fit."
        )
    shown = {kind: _worst(group) for kind, group in groups.items() if group}
    rows = sum(map(len, shown.values())) + _GAP * len(shown)
    figure = Figure(figsize=(WIDTH, max(4.0, 0.19 * rows + 0.9)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, wspace=0.04)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.2))
    left.set_anchor("N")
    _parity_panel(left, record, [one for group in groups.values() for one in group])
    _error_panel(right, record, shown)
    return words.drawn(figure)


def _caption(record: RunRecord) -> str:
    parts = [captions.PROOF.format(one=quantity(record).one)]
    inside, total = proof.covered(_all(record))
    if total:
        many = quantity(record).many
        parts.append(f"{inside} of {total} measured {many} lie in their interval.")
    left_out = {
        kind: len(found) - _MOST_ROWS
        for kind in proof.KINDS
        if len(found := proof.chosen(record.compared, kind)) > _MOST_ROWS
    }
    for kind, count in left_out.items():
        parts.append(
            f"Right: the {_MOST_ROWS} largest errors of the held-out {kind}; "
            f"{count} smaller ones are not drawn."
        )
    return " ".join(parts)


def _all(record: RunRecord) -> list[Compared]:
    return [one for k in proof.KINDS for one in proof.chosen(record.compared, k)]


def _worst(group: Sequence[Compared]) -> list[Compared]:
    """The largest errors, in the order of the group."""
    ranked = sorted(group, key=lambda one: -abs(one.error_percent))[:_MOST_ROWS]
    return [one for one in group if one in ranked]


def _parity_panel(axes: Axes, record: RunRecord, every: Sequence[Compared]) -> None:
    axes.set_title("predicted against measured")
    values = [v for one in every for v in (one.loss, one.predicted)]
    pad = max(0.07 * (max(values) - min(values)), 0.02 * max(values))
    ends = (min(values) - pad, max(values) + pad)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6))
    axes.plot(ends, ends, color=MUTED, linewidth=1, zorder=1)
    for one in every:
        k = _place(record, one.task)
        colour = task_colour(k)
        if math.isfinite(one.high - one.low):
            axes.plot([one.loss] * 2, [one.low, one.high], color=colour, alpha=0.5)
        axes.plot(one.loss, one.predicted, **_mark(k, one.kind, 6.5))
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    axes.set_box_aspect(1)
    label = metric_label(record)
    axes.set_xlabel(f"measured {label}")
    axes.set_ylabel(f"predicted {label}")
    axes.legend(handles=_legend(record, every), loc="upper left", handletextpad=0.3)


def _error_panel(
    axes: Axes, record: RunRecord, groups: dict[str, list[Compared]]
) -> None:
    """One row a held-out measurement, grouped by what was held out."""
    axes.set_title("error of the prediction")
    axes.axvline(0, color=MUTED, linewidth=1, zorder=1)
    place = 0.0
    for kind, group in groups.items():
        axes.text(
            0.0,
            place,
            _heading(kind, group),
            transform=axes.get_yaxis_transform(),
            fontsize=8.5,
            fontweight="bold",
            color=INK,
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            zorder=5,
        )
        place += _GAP - 0.6
        for one in group:
            k = _place(record, one.task)
            low, high = (
                100 * (end - one.loss) / one.loss for end in (one.low, one.high)
            )
            if math.isfinite(high - low):
                axes.plot([low, high], [place] * 2, color=task_colour(k), alpha=0.4)
            axes.plot(one.error_percent, place, **_mark(k, kind, 5.5))
            _row_name(axes, one, place)
            place += 1
        place += 0.6
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
        names = dict(sorted((one.n, size_name(one)) for one in group))
        return f"held-out size: {', '.join(names.values())}"
    return "held-out mixture"


def _row_name(axes: Axes, one: Compared, place: float) -> None:
    """Task, weight and size in columns beside the row."""
    columns = (
        (-0.03, size_name(one), "right"),
        (-0.27, f"p = {one.p:g}", "left"),
        (-0.29, one.task, "right"),
    )
    for x, text, side in columns:
        axes.text(
            x,
            place,
            text,
            transform=axes.get_yaxis_transform(),
            fontsize=7.5,
            ha=side,
            va="center",
        )


def size_name(one: Compared) -> str:
    """The size as the run calls it; N in short where its name is only N."""
    return count_text(one.n) if one.size.isdigit() else one.size


def _place(record: RunRecord, task: str) -> int:
    return record.tasks.index(task) if task in record.tasks else len(record.tasks)


def _mark(k: int, kind: str, size: float) -> dict[str, object]:
    """Filled for a held-out size, hollow for a held-out mixture."""
    colour = task_colour(k)
    return {
        "marker": task_marker(k),
        "markersize": size,
        "markerfacecolor": colour if kind == "size" else "white",
        "markeredgecolor": "white" if kind == "size" else colour,
        "markeredgewidth": 0.6 if kind == "size" else 1.4,
        "linestyle": "none",
        "zorder": 4,
    }


def _legend(record: RunRecord, every: Sequence[Compared]) -> list[Line2D]:
    found = []
    for task, kind in dict.fromkeys((one.task, one.kind) for one in every):
        mark = _mark(_place(record, task), kind, 6)
        found.append(Line2D([], [], label=f"{task}, held-out {kind}", **mark))
    return found
