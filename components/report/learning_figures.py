"""Learning curves, and whether every trial had converged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from components.artifacts.metrics_table import MetricsRow
from components.report import captions, convergence
from components.report.appearance import (
    ALERT,
    INK,
    MUTED,
    WIDTH,
    count_text,
    weight_colour,
)
from components.report.config import Config
from components.report.convergence import Movement
from components.report.drawing import Drawing
from components.report.record import RunRecord

_MOST_COLUMNS = 5


def draw_learning_curves(record: RunRecord) -> Drawing:
    """Test loss during training, one panel a task and size."""
    words = Drawing(
        name="learning_curves",
        title="Learning curves",
        caption=captions.LEARNING_CURVES,
    )
    curves = convergence.curves(record.rows, record.test_set)
    if not curves:
        return words.missing("The metrics table has no learning-curve rows.")
    sizes = sorted({(c[0].n, c[0].size) for c in curves.values()})
    columns = min(len(sizes), _MOST_COLUMNS)
    blocks = math.ceil(len(sizes) / columns)
    rows = len(record.tasks) * blocks
    figure = Figure(figsize=(WIDTH, 2.35 * rows + 0.2), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.05, h_pad=0.06)
    grid = figure.subplots(rows, columns, squeeze=False, sharey="row")
    failed = {ending.trial for ending in record.failed}
    for k, task in enumerate(record.tasks):
        for j, (_, size) in enumerate(sizes):
            axes = grid[k * blocks + j // columns, j % columns]
            mine = [
                c for c in curves.values() if (c[0].task, c[0].size) == (task, size)
            ]
            _curve_panel(axes, mine, failed)
            axes.set_title(f"{task}   {size}", fontsize=9)
            if j % columns == 0:
                axes.set_ylabel("test loss (nats)")
            if k == len(record.tasks) - 1:
                axes.set_xlabel("training step")
        for j in range(len(sizes), blocks * columns):
            grid[k * blocks + j // columns, j % columns].set_visible(False)
    weights = sorted({curve[0].p for curve in curves.values()})
    lines = [
        Line2D([], [], color=weight_colour(p), label=f"p = {p:g}") for p in weights
    ]
    rows = math.ceil(len(lines) / 9)
    figure.legend(
        handles=lines, loc="outside upper right", ncols=math.ceil(len(lines) / rows)
    )
    return words.drawn(figure)


def _curve_panel(
    axes: Axes, curves: Sequence[Sequence[MetricsRow]], failed: set[str]
) -> None:
    axes.set_xscale("log")
    last = max((c[-1].step for c in curves), default=1)
    first = min((c[0].step for c in curves), default=1)
    for curve in sorted(curves, key=lambda c: c[0].p):
        steps, losses = [row.step for row in curve], [row.loss for row in curve]
        colour = weight_colour(curve[0].p)
        broken = curve[0].trial in failed
        style = (0, (2, 2)) if broken else "-"
        axes.plot(steps, losses, color=colour, linewidth=1.2, linestyle=style)
        if broken:
            axes.plot(steps[-1], losses[-1], "x", color=ALERT, markersize=6)
    axes.axvspan(last / 2, last, color=MUTED, alpha=0.1, linewidth=0)
    ticks = [step for step in (first, last) if step]
    middle = float(f"{math.sqrt(first * last):.0e}")
    if first * 3 < middle < last / 3:
        ticks.insert(1, middle)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([count_text(t) for t in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())


def draw_convergence(record: RunRecord, config: Config) -> Drawing:
    """How far each loss still moved over the last doubling of steps."""
    limit = config.movement_percent
    words = Drawing(
        name="convergence",
        title="Convergence: how far the loss still moved at the end",
        source="check of [M] App. G",
        caption=captions.CONVERGENCE.format(limit=limit),
    )
    failed = {ending.trial for ending in record.failed}
    found = convergence.movements(record.rows, record.test_set, without=failed)
    if not any(one.fall_percent is not None for one in found):
        return words.missing(
            "No learning curve reaches back to half of its steps, so convergence "
            "cannot be checked."
        )
    sizes = dict(sorted((row.n, row.size) for row in record.rows))
    mixtures = _mixtures(record)
    wide = len(mixtures) > 8
    columns = 1 if wide else min(2, len(record.tasks))
    rows = math.ceil(len(record.tasks) / columns)
    height = 0.36 * len(sizes) + 1.0
    width = WIDTH if columns > 1 else min(WIDTH, 2.2 + 0.75 * len(mixtures))
    figure = Figure(figsize=(width, max(1.9, height) * rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, wspace=0.06)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in grid[len(record.tasks) :]:
        axes.set_visible(False)
    for axes, task in zip(grid, record.tasks, strict=False):
        mine = [one for one in found if one.task == task]
        _heat_panel(axes, mine, list(sizes.values()), mixtures, record, limit)
        axes.set_title(task)
    return words.drawn(figure)


def _mixtures(record: RunRecord) -> list[str]:
    """The mixtures of the table, by the weights of the tasks in order."""
    found = dict.fromkeys(row.mixture for row in record.rows)
    return sorted(found, key=lambda text: tuple(_weights(text).values()))


def _weights(mixture: str) -> dict[str, float]:
    pairs = (part.partition("=") for part in mixture.split(","))
    return {task: float(weight) for task, _, weight in pairs}


def _heat_panel(
    axes: Axes,
    found: Sequence[Movement],
    sizes: Sequence[str],
    mixtures: Sequence[str],
    record: RunRecord,
    limit: float,
) -> None:
    """Rows are sizes, columns mixtures; each cell its percent."""
    failed = {ending.trial for ending in record.failed}
    broken = {(row.size, row.mixture) for row in record.rows if row.trial in failed}
    worst = _worst(found)
    shades = colormaps["Blues"]
    for i, size in enumerate(sizes):
        for j, mixture in enumerate(mixtures):
            value = worst.get((size, mixture))
            if value is None:
                text = "failed" if (size, mixture) in broken else "–"
                axes.text(
                    j, i, text, ha="center", va="center", fontsize=7.5, color=MUTED
                )
                continue
            share = min(abs(value) / (2 * limit), 1.0)
            box = Rectangle((j - 0.5, i - 0.5), 1, 1, color=shades(0.04 + 0.6 * share))
            axes.add_patch(box)
            over = abs(value) > limit
            axes.text(
                j, i, f"{value:.2f}", ha="center", va="center", fontsize=8,
                color=INK,
                fontweight="bold" if over else "normal",
            )  # fmt: skip
            if over:
                axes.add_patch(
                    Rectangle(
                        (j - 0.47, i - 0.46),
                        0.94,
                        0.92,
                        fill=False,
                        edgecolor=ALERT,
                        linewidth=1.6,
                        zorder=3,
                    )  # fmt: skip
                )
    _heat_axes(axes, sizes, mixtures)


def _worst(found: Sequence[Movement]) -> Mapping[tuple[str, str], float]:
    """(size, mixture) -> the largest movement of its seeds."""
    worst: dict[tuple[str, str], float] = {}
    for one in found:
        key = (one.size, one.mixture)
        if one.fall_percent is not None and abs(one.fall_percent) >= abs(
            worst.get(key, 0.0)
        ):
            worst[key] = one.fall_percent
    return worst


def _heat_axes(axes: Axes, sizes: Sequence[str], mixtures: Sequence[str]) -> None:
    weights = [_weights(text) for text in mixtures]
    tasks = list(weights[0])
    if len(tasks) <= 2:
        labels = [f"{one[tasks[0]]:g}" for one in weights]
        axes.set_xlabel(f"weight of {tasks[0]}")
    else:
        labels = ["\n".join(f"{w:g}" for w in one.values()) for one in weights]
        axes.set_xlabel("weights of " + ", ".join(tasks))
    axes.set_xticks(np.arange(len(mixtures)), labels)
    axes.set_yticks(np.arange(len(sizes)), sizes)
    axes.set_xlim(-0.5, len(mixtures) - 0.5)
    axes.set_ylim(-0.5, len(sizes) - 0.5)
    axes.set_ylabel("size")
    axes.grid(False)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
