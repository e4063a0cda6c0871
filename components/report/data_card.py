"""What the text is like: lengths, scripts, and what cleaning took out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from components.ingest.layout import LENGTH_ENDS
from components.report.config import Config
from components.report.plotting import MUTED, TASK_COLOURS, WIDTH, NotDrawn, panels
from components.report.record import RunRecord

_MOST_TASKS = len(TASK_COLOURS)
_ROW = 0.24  # inches of a bar


def draw_data_card(record: RunRecord, config: Config) -> Figure:
    """The data card of ``ingest``: lengths, and what each rule rejected."""
    tasks = dict(list(record.card.get("tasks", {}).items())[:_MOST_TASKS])
    if not tasks:
        raise NotDrawn("The run has no data card of its text (ingest).")
    rules = sorted(
        {rule for task in tasks.values() for rule in task["rejected"]},
        key=lambda rule: (-sum(_percent(t, rule) for t in tasks.values()), rule),
    )
    height = max(2.6, _ROW * len(rules) * len(tasks) + 0.9)
    figure, (left, right) = panels(2, height, width=WIDTH)
    for (name, task), colour in zip(tasks.items(), TASK_COLOURS, strict=False):
        for side, style in (("source", "--"), ("target", "-")):
            _lengths(left, task["splits"]["train"][side]["lengths"], colour, style)
        left.plot([], [], color=colour, label=name)
    _count_in_doublings(left)
    left.set_ylim(bottom=0)
    left.set_xlabel("characters of a sentence")
    left.set_ylabel("share of the sentences, per doubling")
    left.legend()
    _rejected(right, tasks, rules)
    return figure


def _lengths(axes: Axes, lengths: Mapping[str, int], colour: str, style: str) -> None:
    """Share of the sentences in each interval, per doubling of the length."""
    total = sum(lengths.values())
    if not total:
        return
    starts = [int(start) for start in lengths]
    # Intervals without a sentence are not in the card.
    counts = dict.fromkeys([e for e in LENGTH_ENDS if starts[0] <= e <= starts[-1]], 0)
    counts |= {int(start): count for start, count in lengths.items()}
    after = [end for end in LENGTH_ENDS if end > starts[-1]][:1] or [2 * starts[-1]]
    edges = np.array([*counts, *after])
    shares = np.array([*counts.values()]) / total / np.diff(np.log2(edges))
    axes.stairs(shares, edges, color=colour, linestyle=style, lw=1.5)


def _count_in_doublings(axes: Axes) -> None:
    """A scale of lengths: 1, 2, 4, 8, ... as they are, not as powers of ten."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda length, _: f"{length:g}")
    axes.xaxis.set_minor_locator(NullLocator())


def _rejected(axes: Axes, tasks: Mapping[str, Any], rules: Sequence[str]) -> None:
    if not rules:
        axes.text(0.5, 0.5, "nothing was rejected", ha="center", color=MUTED)
        axes.set_axis_off()
        return
    thick = 0.8 / len(tasks)
    for k, (task, colour) in enumerate(zip(tasks.values(), TASK_COLOURS, strict=False)):
        shares = [_percent(task, rule) for rule in rules]
        places = [row + (k - (len(tasks) - 1) / 2) * thick for row in range(len(rules))]
        bars = axes.barh(places, shares, thick, color=colour)
        labels = [f"{share:.2g}" if share else "" for share in shares]
        axes.bar_label(bars, labels, padding=3, fontsize="x-small", color=MUTED)
    axes.margins(x=0.1)
    axes.set_yticks(range(len(rules)), [rule.replace("_", " ") for rule in rules])
    axes.invert_yaxis()
    axes.set_xlabel("rejected, % of the pairs read")
    axes.grid(axis="y", visible=False)


def _percent(task: Mapping[str, Any], rule: str) -> float:
    """Share of the pairs read that the rule rejected, in percent."""
    return 100 * task["rejected"].get(rule, 0) / max(1, task["read"])
