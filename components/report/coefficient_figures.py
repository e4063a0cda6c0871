"""The laws' coefficients: Fernandes et al. 2023, Fig. 4, and the known truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from components.report.config import Config
from components.report.plotting import (
    INK,
    WIDTH,
    NotDrawn,
    mark,
    panels,
    task_colour,
    task_marker,
)
from components.report.record import RunRecord
from components.report.words import with_error
from models.laws import ApproximateLaw, IndividualLaw, JointLaw, Law

_ROWS = {
    "alpha": "exponent α",
    "beta": "β: reducible loss at N₀",
    "irreducible_loss": "irreducible loss L∞",
}


def draw_coefficients(record: RunRecord, config: Config) -> Figure:
    """Fig. 4: only beta depends on the weighting."""
    laws = {task: record.laws_of(IndividualLaw, task) for task in record.shown_tasks}
    most = max(map(len, laws.values()), default=0)
    if most == 0:
        raise NotDrawn("There is no individual law.")
    if most == 1:
        raise NotDrawn("With one weighting there is nothing to compare along p.")
    columns = len(record.shown_tasks)
    width = 0.66 * WIDTH if columns == 1 else max(WIDTH, 3 * columns)
    figure, every = panels(len(_ROWS) * columns, 2.1, columns, width=width, sharex=True)
    for k, axes in enumerate(every):
        (stem, label), column = list(_ROWS.items())[k // columns], k % columns
        task = record.shown_tasks[column]
        _coefficient_panel(
            axes, laws[task], record.law(JointLaw, task), stem, task_colour(column)
        )
        if k < columns:
            axes.set_title(task)
        if k >= len(every) - columns:
            axes.set_xlabel(f"weight p of {task}")
        if column == 0:
            axes.set_ylabel(label)
    figure.align_ylabels()
    return figure


def _coefficient_panel(
    axes: Axes, laws: Sequence[Law], joint: Law | None, stem: str, colour: str
) -> None:
    axes.set_xlim(-0.02, 1.04)
    if not laws:
        return
    p = np.array([law.weightings[0].p for law in laws])
    value = np.array([law.parameters[stem] for law in laws])
    sd = np.array([law.standard_errors[stem] for law in laws])
    known = np.isfinite(sd)
    if len(np.unique(p)) == len(p):
        axes.fill_between(
            p, value - sd, value + sd, where=known, color=colour, alpha=0.18, lw=0
        )
        axes.plot(p, value, color=colour)
    axes.errorbar(
        p, value, yerr=np.where(known, sd, 0.0), fmt="o", color=colour, markersize=4.5,
        elinewidth=1, zorder=3,
    )  # fmt: skip
    if joint is not None:
        _joint_values(axes, joint, stem)
    _value_limits(axes, value, np.where(known, sd, 0.0))


def _joint_values(axes: Axes, joint: Law, stem: str) -> None:
    if stem in joint.parameters:
        value = joint.parameters[stem]
        shown = f"joint: {with_error(value, joint.standard_errors[stem], 3)}"
        axes.set_title(shown, loc="right", fontsize=8, fontweight="normal")
        axes.axhline(value, color=INK, linestyle="--", linewidth=1.2)
        return
    weights = [w.p for w in joint.weightings]
    betas = [joint.parameters[f"{stem}[{w.label}]"] for w in joint.weightings]
    axes.plot(weights, betas, "D", color=INK, markersize=4, zorder=4, fillstyle="none")


def _value_limits(axes: Axes, value: np.ndarray, sd: np.ndarray) -> None:
    """Limits that show the bands, but no band so wide that it hides the rest."""
    low, high = axes.get_ylim()
    middle, reach = np.median(value), np.ptp(value)
    wide = min(2 * float(np.median(sd)), abs(middle))
    reach = 2.5 * max(reach, wide, 0.01 * abs(middle))
    # All values alike (every curve at the bound 0, say) leave nothing to zoom into.
    if reach > 0:
        axes.set_ylim(max(low, middle - reach), min(high, middle + reach))


def draw_irreducible_loss(record: RunRecord, config: Config) -> Figure:
    """The fitted irreducible loss beside the source's true entropy."""
    truths = {
        task: truth["nats_per_token"]
        for task in record.shown_tasks
        if (truth := record.irreducible.get(task, {}).get(record.test_set))
        and truth.get("nats_per_token") is not None
    }
    if not truths:
        raise NotDrawn(
            "The true entropy of these data is not known; only the synthetic source "
            "knows it."
        )
    laws = [
        (k, law)
        for k, task in enumerate(record.shown_tasks)
        for kind in (JointLaw, ApproximateLaw)
        if (law := record.law(kind, task)) is not None
    ]
    if not laws:
        raise NotDrawn("There is no joint or approximate law.")
    figure, (axes,) = panels(1, height=1.1 + 0.32 * len(laws), width=0.8 * WIDTH)
    for row, (k, law) in enumerate(laws):
        _truth_row(axes, row, k, law, truths.get(law.task), config.level)
    labels = [f"{law.task}, {law.kind} law" for _, law in laws]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(False, axis="y")
    _truth_limits(axes, [law for _, law in laws], truths)
    axes.set_xlabel("irreducible loss (nats per target token)")
    return figure


def _truth_row(
    axes: Axes, row: int, k: int, law: Law, truth: float | None, level: float
) -> None:
    value = law.parameters["irreducible_loss"]
    one = law.coefficients(level)["irreducible_loss"]
    if math.isfinite(one.high - one.low):
        axes.plot([one.low, one.high], [row] * 2, color=task_colour(k), alpha=0.5)
    axes.plot(value, row, **mark(task_colour(k), task_marker(k), 6.5))
    text = with_error(value, law.standard_errors["irreducible_loss"], 3)
    if truth is not None:
        axes.plot([truth] * 2, [row - 0.42, row + 0.42], color=INK, linewidth=2)
        text += f"   truth {truth:.3f}   ({100 * (value - truth) / truth:+.1f} %)"
    axes.text(
        1.02, row, text, transform=axes.get_yaxis_transform(), fontsize=8, va="center"
    )


def _truth_limits(axes: Axes, laws: Sequence[Law], truths: Mapping[str, float]) -> None:
    """Limits by the values: an open interval would hide them; it runs off the edge."""
    values = [law.parameters["irreducible_loss"] for law in laws]
    values += truths.values()
    low, high = axes.get_xlim()
    reach = max(0.6 * (max(values) - min(values)), 0.05 * max(values))
    axes.set_xlim(max(low, min(values) - reach), min(high, max(values) + reach))
