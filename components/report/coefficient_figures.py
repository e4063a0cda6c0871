"""What the laws' coefficients are: [M] Fig. 4 and 6, and the known truth."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from components.report import captions
from components.report.appearance import (
    INK,
    MUTED,
    WIDTH,
    panels,
    task_colour,
    task_marker,
)
from components.report.config import Config
from components.report.drawing import Drawing
from components.report.record import RunRecord
from models.errors import UserError
from models.laws import Law

_ROWS = (
    ("alpha", "exponent α"),
    ("beta", "β: reducible loss at N₀"),
    ("irreducible_loss", "irreducible loss L∞"),
)


def draw_coefficients(record: RunRecord) -> Drawing:
    """[M] Fig. 4: only beta depends on the weighting."""
    words = Drawing(
        name="coefficients",
        title="Coefficients of the individual laws against p",
        source="[M] Fig. 4",
        caption=captions.COEFFICIENTS,
    )
    if not any(record.individual(task) for task in record.tasks):
        return words.missing("there is no individual law (see Fitted laws)")
    if max(len(record.individual(task)) for task in record.tasks) == 1:
        return words.missing("there is one weighting, so nothing changes with p")
    columns = len(record.tasks)
    width = 0.66 * WIDTH if columns == 1 else max(WIDTH, 3 * columns)
    figure = Figure(figsize=(width, 6.2), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06, wspace=0.06, hspace=0.04)
    grid = figure.subplots(len(_ROWS), columns, squeeze=False, sharex=True)
    for column, task in enumerate(record.tasks):
        grid[0, column].set_title(task)
        grid[-1, column].set_xlabel(f"weight p of {task}")
        for row, (stem, label) in enumerate(_ROWS):
            axes = grid[row, column]
            _coefficient_panel(axes, record, task, stem, task_colour(column))
            if column == 0:
                axes.set_ylabel(label)
                figure.align_ylabels()
    return words.drawn(figure)


def _coefficient_panel(
    axes: Axes, record: RunRecord, task: str, stem: str, colour: str
) -> None:
    laws = record.individual(task)
    p = np.array([law.weightings[0].p for law in laws])
    value = np.array([law.parameters[stem] for law in laws])
    sd = np.array([law.standard_errors[stem] for law in laws])
    joint = record.law("joint", task)
    known = np.isfinite(sd)
    if len(np.unique(p)) == len(p):
        axes.fill_between(
            p,
            value - sd,
            value + sd,
            where=known,
            color=colour,
            alpha=0.18,
            linewidth=0,
        )
        axes.plot(p, value, color=colour)
    axes.errorbar(
        p,
        value,
        yerr=np.where(known, sd, 0.0),
        fmt="o",
        color=colour,
        markersize=4.5,
        elinewidth=1,
        zorder=3,
    )
    if joint is not None:
        _joint_values(axes, joint, stem)
    _value_limits(axes, value, np.where(known, sd, 0.0))
    axes.set_xlim(-0.02, 1.04)


def _joint_values(axes: Axes, joint: Law, stem: str) -> None:
    if stem in joint.parameters:
        error = joint.standard_errors[stem]
        shown = f"joint: {joint.parameters[stem]:.3f}"
        shown += f" ± {error:.2g}" if math.isfinite(error) else ""
        axes.set_title(shown, loc="right", fontsize=8, fontweight="normal")
        axes.axhline(joint.parameters[stem], color=INK, linestyle="--", linewidth=1.2)
        return
    weights = [w.p for w in joint.weightings]
    betas = [joint.parameters[f"{stem}[{w.label}]"] for w in joint.weightings]
    axes.plot(weights, betas, "D", color=INK, markersize=4, zorder=4, fillstyle="none")


def _value_limits(axes: Axes, value: Sequence[float], sd: Sequence[float]) -> None:
    """Limits that show the bands, but no band so wide that it hides the rest."""
    low, high = axes.get_ylim()
    middle, reach = np.median(value), np.ptp(value)
    wide = min(2 * float(np.median(sd)), abs(middle))
    reach = 2.5 * max(reach, wide, 0.01 * abs(middle))
    # All values alike (every curve at the bound 0, say) leave nothing to zoom into.
    if reach > 0:
        axes.set_ylim(max(low, middle - reach), min(high, middle + reach))


def draw_effective_fractions(record: RunRecord, config: Config) -> Drawing:
    """[M] Fig. 6: how the tasks share a model."""
    words = Drawing(
        name="effective_fraction",
        title="Effective fraction of the model that a task gets",
        source="[M] Fig. 6",
        caption=captions.EFFECTIVE_FRACTION.format(percent=100 * config.level),
    )
    laws = {task: record.law("approximate", task) for task in record.tasks}
    joints = {task: record.law("joint", task) for task in record.tasks}
    if len(record.tasks) < 2 or not any([*laws.values(), *joints.values()]):
        return words.missing(
            "an effective fraction needs two tasks and a joint or approximate law"
        )
    figure, (left, right) = panels(2, height=4.2)
    left.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, zorder=1)
    left.text(0.62, 0.585, "neutral", color=MUTED, fontsize=8, rotation=41, va="top")
    right.axhline(1, color=MUTED, linewidth=1.2, zorder=1)
    for k, task in enumerate(record.tasks):
        for axes, relative in ((left, False), (right, True)):
            if laws[task] is not None:
                _fitted_fraction(axes, laws[task], k, relative, config.level)
            if joints[task] is not None:
                _joint_fractions(axes, joints[task], k, relative, config.level)
    left.set(title="f(p)", xlabel="weight p of the task", ylabel="effective fraction f")
    left.set_xlim(-0.02, 1.03)
    left.set_ylim(bottom=-0.02)
    handles = [
        Line2D([], [], marker=task_marker(k), color=task_colour(k), label=task)
        for k, task in enumerate(record.tasks)
    ]
    left.legend(handles=handles, loc="upper left")
    right.set(title="f(p) / p", xlabel="weight p of the task", ylabel="f / p")
    right.set_xlim(-0.02, 1.03)
    for axes in (left, right):
        _fraction_limits(axes)
    return words.drawn(figure)


def _fraction_limits(axes: Axes) -> None:
    """Limits by the lines and points: an open band would flatten them."""
    lines = [line for line in axes.lines if line.get_transform() == axes.transData]
    top = max(float(np.max(line.get_ydata())) for line in lines)
    axes.set_ylim(-0.02, min(axes.get_ylim()[1], max(1.05, 1.2 * top)))
    if axes.get_ylabel() != "effective fraction f":
        low = min(float(np.min(line.get_ydata())) for line in lines)
        axes.set_ylim(bottom=max(0.0, low - 0.12 * (axes.get_ylim()[1] - low)))


def _fitted_fraction(
    axes: Axes, law: Law, k: int, relative: bool, level: float
) -> None:
    """The approximate law's f along p, where p alone tells it."""
    if not _p_is_enough(law, level):
        _fitted_at_weightings(axes, law, k, relative, level)
        return
    low, high = law.fitted_range["p"]
    for ends, style in (
        ((low, high), "-"),
        ((0.5 * low, low), (0, (3, 2))),
        ((high, 1.0), (0, (3, 2))),
    ):
        if ends[1] <= ends[0]:
            continue
        p = np.linspace(*ends, 80)
        f, below, above = law.effective_fraction(p, level)
        by = p if relative else 1.0
        axes.plot(p, f / by, color=task_colour(k), linestyle=style, zorder=2)
        if np.isfinite(above).all() and above.max() < 20:
            axes.fill_between(
                p, below / by, above / by, color=task_colour(k), alpha=0.15, linewidth=0
            )


def _p_is_enough(law: Law, level: float) -> bool:
    """Whether f depends on the task's own weight alone."""
    try:
        return bool(np.isfinite(law.effective_fraction(0.5, level)[0]))
    except UserError:
        return False


def _fitted_at_weightings(
    axes: Axes, law: Law, k: int, relative: bool, level: float
) -> None:
    """An f of the whole mixture is no curve over p: rings at the trained mixtures."""
    for weighting in law.weightings:
        if weighting.p > 0:
            f = float(law.effective_fraction(weighting, level)[0])
            by = weighting.p if relative else 1.0
            axes.plot(
                weighting.p,
                f / by,
                marker="o",
                markersize=10,
                fillstyle="none",
                color=task_colour(k),
            )


def _joint_fractions(
    axes: Axes, law: Law, k: int, relative: bool, level: float
) -> None:
    for weighting in law.weightings:
        try:
            f, low, high = law.effective_fraction(weighting, level)
        except UserError:
            return  # p = 1 was not trained: nothing to compare with
        by = weighting.p if relative else 1.0
        bars = [[float(f - low) / by], [float(high - f) / by]]
        axes.errorbar(
            weighting.p,
            float(f) / by,
            yerr=bars if math.isfinite(bars[1][0]) and bars[1][0] < 20 else None,
            fmt=task_marker(k),
            color=task_colour(k),
            markersize=max(4.0, 8.5 - 1.8 * k),  # tasks that agree stay visible
            markeredgecolor="white",
            markeredgewidth=0.6,
            elinewidth=1.2,
            zorder=3,
        )


def draw_irreducible(record: RunRecord, config: Config) -> Drawing:
    """The fitted irreducible loss beside the source's true entropy."""
    words = Drawing(
        name="irreducible_loss",
        title="Irreducible loss: fitted and true",
        caption=captions.IRREDUCIBLE_LOSS.format(percent=100 * config.level),
    )
    truths = {
        task: (record.irreducible.get(task, {}).get(record.test_set) or {}).get(
            "nats_per_token"
        )
        for task in record.tasks
    }
    if not any(truth is not None for truth in truths.values()):
        return words.missing(
            "The true entropy of these data is not known (only the synthetic source "
            "knows it)."
        )
    laws = [
        (record.law(kind, task), kind, k)
        for k, task in enumerate(record.tasks)
        for kind in ("joint", "approximate")
    ]
    laws = [entry for entry in laws if entry[0] is not None]
    if not laws:
        return words.missing("there is no joint or approximate law (see Fitted laws)")
    height = 1.1 + 0.32 * len(laws)
    figure = Figure(figsize=(0.8 * WIDTH, height), layout="constrained")
    _truth_panel(figure.subplots(), laws, truths, config.level)
    return words.drawn(figure)


def _truth_limits(
    axes: Axes, laws: Sequence[Law], truths: dict[str, float | None]
) -> None:
    """Limits by the values: an open interval would hide them; it runs off the edge."""
    values = [law.parameters["irreducible_loss"] for law in laws]
    values += [truth for truth in truths.values() if truth is not None]
    low, high = axes.get_xlim()
    reach = max(0.6 * (max(values) - min(values)), 0.05 * max(values))
    axes.set_xlim(max(low, min(values) - reach), min(high, max(values) + reach))


def _truth_panel(
    axes: Axes,
    laws: Sequence[tuple[Law, str, int]],
    truths: dict[str, float | None],
    level: float,
) -> None:
    labels = []
    for row, (law, kind, k) in enumerate(laws):
        value = law.parameters["irreducible_loss"]
        one = law.coefficients(level)["irreducible_loss"]
        low, high = one.low, one.high
        if math.isfinite(high - low):
            axes.plot([low, high], [row] * 2, color=task_colour(k), alpha=0.5)
        axes.plot(value, row, task_marker(k), color=task_colour(k), markersize=6.5)
        error = law.standard_errors["irreducible_loss"]
        text = f"{value:.3f}" + (f" ± {error:.2g}" if math.isfinite(error) else "")
        truth = truths.get(law.task)
        if truth is not None:
            axes.plot([truth] * 2, [row - 0.42, row + 0.42], color=INK, linewidth=2)
            text += f"   truth {truth:.3f}   ({100 * (value - truth) / truth:+.1f} %)"
        axes.text(
            1.02, row, text, transform=axes.get_yaxis_transform(), fontsize=8,
            va="center",
        )  # fmt: skip
        labels.append(f"{law.task}, {kind} law")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(False, axis="y")
    _truth_limits(axes, [law for law, _, _ in laws], truths)
    axes.set_xlabel("irreducible loss (nats per target token)")
