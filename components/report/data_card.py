"""What the text is like: lengths, scripts, and what cleaning took out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from components.report.appearance import MUTED, TASK_COLOURS, WIDTH
from components.report.drawing import Drawing

_MOST_TASKS = len(TASK_COLOURS)
_ROW = 0.24  # inches of a bar
_LEAST_SHARE = 0.001
_CAPTION = """
Left: how long the sentences to train on are; sources dashed, targets solid. Right: the
share of the pairs read that each rule rejected; the rejected pairs themselves are in
<code>ingest/dead_letters/</code>, samples of them in <code>ingest/README.md</code>.
{scripts}
"""


def draw_data_card(card: Mapping[str, Any]) -> Drawing:
    """The data card of ``ingest`` as a figure.

    Args:
      card: ``card.json``; empty where a run has none.
    """
    tasks = dict(list(card.get("tasks", {}).items())[:_MOST_TASKS])
    words = Drawing(
        name="data_card",
        title="What the text is like",
        caption=_CAPTION.format(scripts=_scripts(tasks)),
    )
    if not tasks:
        return words.missing("This run has no data card of its text.")
    rules = sorted({rule for task in tasks.values() for rule in task["rejected"]})
    height = max(2.6, _ROW * len(rules) * len(tasks) + 0.9)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (name, task), colour in zip(tasks.items(), TASK_COLOURS, strict=False):
        for side, style in (("source", "--"), ("target", "-")):
            _lengths(left, task["splits"]["train"][side]["lengths"], colour, style)
        left.plot([], [], color=colour, label=name)
    left.set_xscale("log")
    left.set_ylim(bottom=0)
    left.set_xlabel("characters of a sentence")
    left.set_ylabel("share of the sentences")
    left.legend()
    _rejected(right, tasks, rules)
    return words.drawn(figure)


def _lengths(axes: Axes, lengths: Mapping[str, int], colour: str, style: str) -> None:
    """Share of the sentences in each interval, per doubling of the length."""
    total = sum(lengths.values())
    if not total:
        return
    ends = [int(end) for end in lengths]
    further = [*ends[1:], ends[-1] * 3 // 2 + 1]
    middles = [math.sqrt(a * max(a + 1, b)) for a, b in zip(ends, further, strict=True)]
    shares = [count / total for count in lengths.values()]
    axes.plot(middles, shares, color=colour, linestyle=style)


def _rejected(axes: Axes, tasks: Mapping[str, Any], rules: Sequence[str]) -> None:
    if not rules:
        axes.text(0.5, 0.5, "nothing was rejected", ha="center", color=MUTED)
        axes.set_axis_off()
        return
    thick = 0.8 / len(tasks)
    for k, (task, colour) in enumerate(zip(tasks.values(), TASK_COLOURS, strict=False)):
        shares = [100 * task["rejected"].get(r, 0) / task["read"] for r in rules]
        places = [row + (k - (len(tasks) - 1) / 2) * thick for row in range(len(rules))]
        axes.barh(places, shares, thick, color=colour)
    axes.set_yticks(range(len(rules)), [rule.replace("_", " ") for rule in rules])
    axes.invert_yaxis()
    axes.set_xlabel("rejected, % of the pairs read")
    axes.grid(axis="y", visible=False)


def _scripts(tasks: Mapping[str, Any]) -> str:
    """How the letters of each target are written, in words."""
    told = []
    for name, task in tasks.items():
        scripts = task["splits"]["train"]["target"]["scripts"]
        letters = sum(scripts.values())
        shares = sorted(scripts.items(), key=lambda item: (-item[1], item[0]))
        most = [
            f"{100 * n / letters:.3g} % {script}"
            for script, n in shares[:2]
            if n >= _LEAST_SHARE * letters
        ]
        if most:
            told.append(f"{name} {' and '.join(most)}")
    return f"Letters of the targets: {'; '.join(told)}." if told else ""
