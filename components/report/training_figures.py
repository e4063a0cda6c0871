"""Learning curves, and whether every trial had converged.

A rare task that was seen too few times imitates an irreducible loss that depends on p,
and the joint law fails (Fernandes et al. 2023, App. G; Ghorbani et al. 2021, section
2.1).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from components.artifacts.metrics_table import MetricsRow
from components.artifacts.trial import parse_mixture
from components.report.config import Config
from components.report.plotting import (
    ALERT,
    INK,
    MUTED,
    WIDTH,
    NotDrawn,
    legend_above,
    panels,
    weight_colour,
)
from components.report.record import RunRecord
from components.report.words import count_text

_MOST_COLUMNS = 5


@dataclasses.dataclass(frozen=True)
class Movement:
    """The end of one learning curve.

    Attributes:
      trial, size, task, mixture: Whose.
      fall_percent: How much the loss fell from half the steps to all of them, in
        percent of the final loss; negative where it rose; None when the curve has
        no point before half.
    """

    trial: str
    size: str
    task: str
    mixture: str
    fall_percent: float | None

    def exceeds(self, percent: float) -> bool:
        """Whether the loss moved more than this, either way."""
        return self.fall_percent is not None and abs(self.fall_percent) > percent


def curves(record: RunRecord) -> Mapping[tuple[str, str], list[MetricsRow]]:
    """(trial, task) -> its curve on the shown test set, by step; none of p = 0."""
    found: dict[tuple[str, str], list[MetricsRow]] = {}
    for row in record.rows:
        if row.loss_kind == "curve" and row.loss is not None and row.p > 0:
            if record.test_set in (row.test_set, f"{row.test_set}:{row.origin}"):
                found.setdefault((row.trial, row.task), []).append(row)
    return {key: sorted(c, key=lambda row: row.step) for key, c in found.items()}


def movements(record: RunRecord) -> list[Movement]:
    """The last doubling of every learning curve that came to its end."""
    failed = {end.trial for end in record.failed}
    found = []
    for (trial, task), rows in curves(record).items():
        if trial not in failed:
            last = rows[-1]
            before = loss_at(rows, last.step / 2)
            fall = None if before is None else 100 * (before - last.loss) / last.loss
            found.append(Movement(trial, last.size, task, last.mixture, fall))
    return found


def loss_at(curve: Sequence[MetricsRow], step: float) -> float | None:
    """The loss at a step, linear in log(step) between two evaluations.

    Returns:
      Nats per target token; None outside the curve.
    """
    for one in curve:
        if one.step == step:
            return one.loss
    for before, after in zip(curve, curve[1:], strict=False):
        if 0 < before.step < step < after.step:
            way = math.log(step / before.step) / math.log(after.step / before.step)
            return before.loss + way * (after.loss - before.loss)
    return None


def draw_learning_curves(record: RunRecord, config: Config) -> Figure:
    """Test loss during training, one panel a task and size."""
    every = list(curves(record).values())
    if not every:
        raise NotDrawn("The metrics table has no learning curves.")
    sizes = [name for _, name in sorted({(c[0].n, c[0].size) for c in every})]
    columns = min(len(sizes), _MOST_COLUMNS)
    blocks = math.ceil(len(sizes) / columns)
    rows = len(record.shown_tasks) * blocks
    figure, grid = panels(rows * columns, 2.35, columns, WIDTH, sharey="row")
    failed = {end.trial for end in record.failed}
    for k, axes in enumerate(grid):
        task = record.shown_tasks[k // (blocks * columns)]
        j = k % (blocks * columns)
        if j >= len(sizes):
            axes.set_visible(False)
            continue
        mine = [c for c in every if (c[0].task, c[0].size) == (task, sizes[j])]
        _curve_panel(axes, mine, failed)
        axes.set_title(f"{task}   {sizes[j]}", fontsize=9)
        if j % columns == 0:
            axes.set_ylabel("test loss (nats)")
        if task == record.shown_tasks[-1]:
            axes.set_xlabel("training step")
    weights = sorted({curve[0].p for curve in every})
    legend_above(figure, {f"p = {p:g}": {"color": weight_colour(p)} for p in weights})
    return figure


def _curve_panel(
    axes: Axes, curves: Sequence[Sequence[MetricsRow]], failed: set[str]
) -> None:
    axes.set_xscale("log")
    last = max((c[-1].step for c in curves), default=1)
    first = min((c[0].step for c in curves), default=1)
    for curve in sorted(curves, key=lambda c: c[0].p):
        steps, losses = [row.step for row in curve], [row.loss for row in curve]
        broken = curve[0].trial in failed
        style = (0, (2, 2)) if broken else "-"
        colour = weight_colour(curve[0].p)
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


def draw_convergence(record: RunRecord, config: Config) -> Figure:
    """How far each loss still moved over the last doubling of steps."""
    found = movements(record)
    if all(one.fall_percent is None for one in found):
        raise NotDrawn("No learning curve reaches back to half of its steps.")
    sizes = list(dict.fromkeys(name for _, name in sorted(
        {(row.n, row.size) for row in record.rows})))  # fmt: skip
    mixtures = sorted(
        {row.mixture for row in record.rows},
        key=lambda text: tuple(parse_mixture(text).values()),
    )
    columns = 1 if len(mixtures) > 8 else min(2, len(record.shown_tasks))
    width = WIDTH if columns > 1 else min(WIDTH, 2.2 + 0.75 * len(mixtures))
    height = max(1.9, 0.36 * len(sizes) + 1.0)
    figure, grid = panels(len(record.shown_tasks), height, columns, width)
    for axes, task in zip(grid, record.shown_tasks, strict=True):
        mine = [one for one in found if one.task == task]
        axes.set_title(task)
        _heat_panel(axes, record, mine, sizes, mixtures, config.movement_percent)
        _heat_axes(axes, sizes, mixtures)
    return figure


def _heat_panel(
    axes: Axes,
    record: RunRecord,
    found: Sequence[Movement],
    sizes: Sequence[str],
    mixtures: Sequence[str],
    limit: float,
) -> None:
    """Rows are sizes, columns mixtures; each cell the largest percent of its seeds."""
    failed = {end.trial for end in record.failed}
    broken = {(row.size, row.mixture) for row in record.rows if row.trial in failed}
    moved: dict[tuple[str, str], list[float]] = {}
    for one in found:
        if one.fall_percent is not None:
            moved.setdefault((one.size, one.mixture), []).append(one.fall_percent)
    for i, size in enumerate(sizes):
        for j, mixture in enumerate(mixtures):
            cell = (size, mixture)
            style = {"ha": "center", "va": "center", "fontsize": 7.5, "color": MUTED}
            if cell not in moved:
                axes.text(j, i, "failed" if cell in broken else "–", **style)
                continue
            value = max(moved[cell], key=abs)
            over = abs(value) > limit
            shade = colormaps["Blues"](0.04 + 0.6 * min(abs(value) / (2 * limit), 1.0))
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, color=shade))
            style |= {"fontsize": 8, "color": INK}
            axes.text(
                j, i, f"{value:.2f}", fontweight="bold" if over else "normal", **style
            )
            if over:
                axes.add_patch(
                    Rectangle((j - 0.47, i - 0.46), 0.94, 0.92, fill=False,
                              edgecolor=ALERT, linewidth=1.6, zorder=3)
                )  # fmt: skip


def _heat_axes(axes: Axes, sizes: Sequence[str], mixtures: Sequence[str]) -> None:
    weights = [parse_mixture(text) for text in mixtures]
    tasks = list(weights[0])
    if len(tasks) <= 2:
        labels = [f"{one[tasks[0]]:g}" for one in weights]
        axes.set_xlabel(f"weight of {tasks[0]}")
    else:
        labels = ["\n".join(f"{w:g}" for w in one.values()) for one in weights]
        axes.set_xlabel("weights of " + ", ".join(tasks))
    axes.set_xticks(range(len(mixtures)), labels)
    axes.set_yticks(range(len(sizes)), sizes)
    axes.set_xlim(-0.5, len(mixtures) - 0.5)
    axes.set_ylim(-0.5, len(sizes) - 0.5)
    axes.set_ylabel("size")
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
