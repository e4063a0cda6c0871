"""One look for every figure: colours, axes, and labels that do not collide.

Colour-blind safe: viridis for p and plasma for N (without their pale ends), the colours
of Okabe and Ito for tasks, with a marker each so that they also differ in grey.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

INK = "#20242c"
MUTED = "#68707d"
GRID = "#e6e8ec"
ALERT = "#b3261e"
WIDTH = 9.4  # inches, two panels side by side
TASK_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
TASK_MARKERS = ("o", "s", "D", "^", "v", "P")
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


def panels(
    count: int, height: float = 3.7, columns: int = 2, width: float = WIDTH, **share
) -> tuple[Figure, list[Axes]]:
    """A figure with ``count`` panels, ``height`` inches a row.

    Args:
      count: Panels.
      height: Of a row, inches.
      columns: Panels in a row at most.
      width: Of the figure, inches.
      **share: ``sharex``, ``sharey`` of `Figure.subplots`.
    """
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    if count == 1:
        width *= 0.66
    figure = Figure(figsize=(width, rows * height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, wspace=0.06, hspace=0.08)
    grid = figure.subplots(rows, columns, squeeze=False, **share)
    flat = list(grid.ravel())
    for axes in flat[count:]:
        axes.set_visible(False)
    return figure, flat[:count]


def weight_colour(p: float) -> tuple[float, ...]:
    """The colour of a weight in [0, 1]: dark for rare, bright for frequent."""
    return matplotlib.colormaps["viridis"](0.04 + 0.8 * p)


def size_colour(n: float, sizes: Sequence[float]) -> tuple[float, ...]:
    """The colour of a size among ``sizes``, by its logarithm: dark is small."""
    low, high = math.log(min(sizes)), math.log(max(sizes))
    place = (math.log(n) - low) / (high - low) if high > low else 0.5
    return matplotlib.colormaps["plasma"](0.02 + 0.72 * place)


def readable(colour: object) -> tuple[float, ...]:
    """The colour for text: darkened until it stands out on white (WCAG 4.5:1)."""
    rgb = np.array(to_rgb(colour))
    while 1.05 / (_luminance(rgb) + 0.05) < 4.5:
        rgb = 0.95 * rgb
    return tuple(rgb.tolist())


def _luminance(rgb: np.ndarray) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def task_colour(k: int) -> str:
    """The colour of the k-th task."""
    return TASK_COLOURS[k % len(TASK_COLOURS)]


def task_marker(k: int) -> str:
    """The marker of the k-th task."""
    return TASK_MARKERS[k % len(TASK_MARKERS)]


def count_text(n: float) -> str:
    """A number of parameters or sentences, two or three digits: ``16.4k``, ``127M``."""
    for unit, scale in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if n >= 0.9995 * scale:
            return f"{n / scale:.3g}{unit}"
    return f"{n:.3g}"


def size_axis(axes: Axes, sizes: Mapping[float, str]) -> None:
    """A logarithmic axis of N whose ticks are the sizes that were trained.

    Args:
      axes: The panel.
      sizes: N -> name of the size.
    """
    axes.set_xscale("log")
    longest = max(map(len, sizes.values()))
    kept = _apart(sorted(sizes), least=0.03 * (longest + 1))
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
        if (
            math.log(value / kept[-1]) > least * span
            and math.log(values[-1] / value) > least * span
        ):
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


def spread(values: Sequence[float], least: float) -> list[float]:
    """Moves values apart to at least ``least``, each as little as it must be.

    >>> spread([0.0, 0.1, 1.0], 0.3)
    [-0.1, 0.2, 1.0]
    """
    order = np.argsort(values)
    groups: list[list[float]] = []  # [sum of (value - offset), members]
    for k in order:
        groups.append([float(values[k]), 1])
        while len(groups) > 1 and _start(groups[-1], least) < _end(groups[-2], least):
            total, members = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += members
    placed: list[float] = []
    for group in groups:
        first = _start(group, least) + least / 2
        placed += [round(first + least * j, 6) for j in range(int(group[1]))]
    found = [0.0] * len(order)
    for place, k in zip(placed, order, strict=True):
        found[k] = place
    return found


def _start(group: Sequence[float], least: float) -> float:
    return group[0] / group[1] - least * group[1] / 2


def _end(group: Sequence[float], least: float) -> float:
    return group[0] / group[1] + least * group[1] / 2


def _one_a_name(
    ends: Sequence[tuple[float, float, str, object]],
) -> list[tuple[float, float, str, object]]:
    """Curves of one name (the same p in several mixtures) share a label."""
    found: dict[str, list[tuple[float, float, str, object]]] = {}
    for end in ends:
        found.setdefault(end[2], []).append(end)
    return [
        (same[0][0], sum(y for _, y, _, _ in same) / len(same), text, same[0][3])
        for text, same in found.items()
    ]


def label_ends(
    axes: Axes,
    ends: Sequence[tuple[float, float, str, object]],
    least: float = 0.055,
) -> None:
    """Writes each curve's name beside its right end, moved apart where they touch.

    Args:
      axes: With its final limits.
      ends: (x, y, text, colour) of each curve's last point.
      least: Distance of two labels, as a share of the panel's height.
    """
    ends = _one_a_name(ends)
    if not ends:
        return
    axes.get_xlim(), axes.get_ylim()  # limits are only final once they are asked for
    inverse = axes.transAxes.inverted()
    points = [
        inverse.transform(axes.transData.transform((x, y))) for x, y, _, _ in ends
    ]
    places = spread([float(y) for _, y in points], least)
    for (x, y), place, (_, _, text, colour) in zip(points, places, ends, strict=True):
        axes.plot(
            [x, 1.025],
            [y, place],
            transform=axes.transAxes,
            color=colour,
            linewidth=0.6,
            alpha=0.6,
            clip_on=False,
            zorder=1,
        )
        axes.text(
            1.035,
            place,
            text,
            transform=axes.transAxes,
            color=readable(colour),
            fontsize=8,
            va="center",
        )
