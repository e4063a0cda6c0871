"""The drawing vocabulary of every figure: colours, marks, curves, axes and labels.

Colour-blind safe: viridis for p and plasma for N (without their pale ends), the colours
of Okabe and Ito for tasks, with a marker each so that they also differ in grey.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator
from scipy.optimize import isotonic_regression

INK = "#20242c"
MUTED = "#68707d"
GRID = "#e6e8ec"
ALERT = "#b3261e"
WIDTH = 9.4  # inches, two panels side by side
TASK_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
TASK_MARKERS = ("o", "s", "D", "^", "v", "P")
DASHED = (0, (3, 2))
RC = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#9aa1ac",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlecolor": INK,
    "axes.titlepad": 8,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "path",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8.5,
}
_STEPS = ((1, 2, 5), (1, 2, 3, 5, 7), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9))

Colour = str | tuple[float, ...]
End = tuple[float, float, str, Colour]
"""(x, y, name, colour) of a curve's last point."""


class NotDrawn(Exception):
    """Why there is nothing to draw: one sentence for the reader of the page."""


def panels(
    count: int,
    height: float = 3.7,
    columns: int = 2,
    width: float | None = None,
    **share: Any,
) -> tuple[Figure, list[Axes]]:
    """A figure with ``count`` panels.

    Args:
      count: Panels.
      height: Of a row, inches.
      columns: Panels in a row at most.
      width: Of the figure, inches; a single panel takes two thirds of the page.
      **share: ``sharex``, ``sharey``, ``width_ratios`` of `Figure.subplots`.
    """
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    width = width or (0.66 * WIDTH if count == 1 else WIDTH)
    figure = Figure(figsize=(width, rows * height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, wspace=0.06, hspace=0.08)
    grid = figure.subplots(rows, columns, squeeze=False, **share)
    flat = list(grid.ravel())
    for axes in flat[count:]:
        axes.set_visible(False)
    return figure, flat[:count]


def weight_colour(p: float) -> Colour:
    """The colour of a weight in [0, 1]: dark for rare, bright for frequent."""
    return matplotlib.colormaps["viridis"](0.04 + 0.8 * p)


def size_colour(n: float, sizes: Sequence[float]) -> Colour:
    """The colour of a size among ``sizes``, by its logarithm: dark is small."""
    low, high = math.log(min(sizes)), math.log(max(sizes))
    place = (math.log(n) - low) / (high - low) if high > low else 0.5
    return matplotlib.colormaps["plasma"](0.02 + 0.72 * place)


def task_colour(k: int) -> str:
    """The colour of the k-th task."""
    return TASK_COLOURS[k % len(TASK_COLOURS)]


def task_marker(k: int) -> str:
    """The marker of the k-th task."""
    return TASK_MARKERS[k % len(TASK_MARKERS)]


def readable(colour: Colour) -> Colour:
    """The colour for text: darkened until it stands out on white (WCAG 4.5:1)."""
    rgb = np.array(to_rgb(colour))
    while 1.05 / (_luminance(rgb) + 0.05) < 4.5:
        rgb = 0.95 * rgb
    return tuple(rgb.tolist())


def _luminance(rgb: np.ndarray) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def mark(
    colour: Colour, marker: str = "o", size: float = 5.5, hollow: bool = False
) -> dict[str, Any]:
    """How a measured value is drawn: hollow where no law was fitted to it."""
    return {
        "marker": marker,
        "markersize": size,
        "markerfacecolor": "white" if hollow else colour,
        "markeredgecolor": colour if hollow else "white",
        "markeredgewidth": 1.3 if hollow else 0.6,
        "linestyle": "none",
        "zorder": 4 if hollow else 3,
    }


def curve(
    axes: Axes,
    function: Callable[[np.ndarray], np.ndarray],
    fitted: tuple[float, float],
    shown: tuple[float, float],
    colour: Colour,
) -> float:
    """A law along x > 0: solid where it was fitted, dashed beyond.

    Args:
      axes: The panel.
      function: x -> y.
      fitted, shown: Ends of the fitted range and of the whole curve.
      colour: Of the line.

    Returns:
      y at the right end.
    """
    low, high = fitted
    for ends, style in (
        ((shown[0], low), DASHED),
        ((high, shown[1]), DASHED),
        ((low, high), "-"),
    ):
        if ends[1] > ends[0]:
            x = np.geomspace(*ends, 80)
            axes.plot(x, function(x), color=colour, linestyle=style, zorder=2)
    last = max(high, shown[1])
    return float(np.ravel(function(np.array([last])))[0])


def legend_above(figure: Figure, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """A legend over all panels: name -> style of its line or mark."""
    handles = [Line2D([], [], label=name, **style) for name, style in entries.items()]
    rows = math.ceil(len(handles) / 9)
    columns = math.ceil(len(handles) / max(rows, 1))
    figure.legend(handles=handles, loc="outside upper right", ncols=columns)


def size_axis(axes: Axes, sizes: Mapping[float, str]) -> None:
    """A logarithmic axis of N whose ticks are the sizes that were trained.

    Args:
      axes: The panel.
      sizes: N -> name of the size.
    """
    axes.set_xscale("log")
    longest = max(map(len, sizes.values()))
    columns = axes.get_subplotspec().get_gridspec().ncols
    kept = _apart(sorted(sizes), least=0.015 * max(columns, 2) * (longest + 1))
    axes.xaxis.set_major_locator(FixedLocator(kept))
    axes.xaxis.set_major_formatter(FixedFormatter([sizes[n] for n in kept]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("non-embedding parameters N")


def _apart(values: Sequence[float], least: float) -> list[float]:
    """Those of increasing values whose labels do not touch, the ends kept."""
    if len(values) < 3:
        return list(values)
    span = math.log(values[-1] / values[0])
    kept = [values[0]]
    for value in values[1:-1]:
        gaps = (math.log(value / kept[-1]), math.log(values[-1] / value))
        if min(gaps) > least * span:
            kept.append(value)
    return [*kept, values[-1]]


def log_y_axis(axes: Axes, low: float, high: float) -> None:
    """A logarithmic y axis over [low, high] with a few round ticks."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in _STEPS:
        ticks = [s * 10.0**d for d in decades for s in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 4:
            break
    else:
        even = MaxNLocator(5).tick_values(low, high)
        ticks = [tick for tick in even if low <= tick <= high]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FixedFormatter([f"{t:.3g}" for t in ticks]))
    axes.yaxis.set_minor_locator(NullLocator())


def spread(
    values: Sequence[float], least: float, lowest: float = -math.inf
) -> list[float]:
    """Moves values apart to at least ``least``, each as little as it must be.

    None is moved below ``lowest``.

    >>> spread([0.0, 0.1, 1.0], 0.3)
    [-0.1, 0.2, 1.0]
    """
    if not len(values):
        return []
    order = np.argsort(values, kind="stable")
    steps = least * np.arange(len(order))
    moved = isotonic_regression(np.asarray(values)[order] - steps).x
    placed = np.maximum(moved, lowest) + steps
    found = np.empty(len(order))
    found[order] = placed.round(6)
    return found.tolist()


def label_ends(axes: Axes, ends: Sequence[End], least: float = 0.055) -> None:
    """Writes each curve's name beside its right end, moved apart where they touch.

    Args:
      axes: With its final limits.
      ends: The curves' last points; curves of one name share a label.
      least: Distance of two labels, as a share of the panel's height.
    """
    named: dict[str, list[End]] = {}
    for end in ends:
        named.setdefault(end[2], []).append(end)
    axes.get_xlim(), axes.get_ylim()  # limits are only final once they are asked for
    inverse = axes.transAxes.inverted()
    points = [
        inverse.transform(
            axes.transData.transform((same[0][0], np.mean([y for _, y, *_ in same])))
        )
        for same in named.values()
    ]
    places = spread([float(y) for _, y in points], least, lowest=0.0)
    for (x, y), place, same in zip(points, places, named.values(), strict=True):
        _, _, name, colour = same[0]
        axes.plot(
            [x, 1.025], [y, place], transform=axes.transAxes, color=colour,
            linewidth=0.6, alpha=0.6, clip_on=False, zorder=1,
        )  # fmt: skip
        axes.text(
            1.035, place, name, transform=axes.transAxes, color=readable(colour),
            fontsize=8, va="center",
        )  # fmt: skip


def say(axes: Axes, text: str) -> None:
    """A panel without data says why."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color=MUTED)
