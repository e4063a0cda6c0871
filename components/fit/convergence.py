"""Convergence correction: learning curves -> extrapolated rows, [M] App. G."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from components.artifacts.trial import format_mixture
from components.fit.config import Config
from components.fit.held_out import cell
from components.fit.table import Line
from models.errors import UserError
from models.laws.curve import fit_learning_curve

FILE_NAME = "extrapolated.csv"
_WARM_UP = 0.1  # share of the steps that no power law describes
_POINTS = 8
_MOVING = 0.01  # fall over the last doubling of steps that counts as unconverged


def extrapolate(lines: Sequence[Line], config: Config) -> tuple[list[Line], list[str]]:
    """Rows of kind ``extrapolated`` for runs with a small weight and a curve.

    Args:
      lines: The table's rows, of every kind.
      config: Horizon and largest weight.

    Returns:
      New rows, with ``low`` and ``high`` ends of a 95 % interval beside the value,
      and sentences about what was corrected and what could not be.
    """
    if config.convergence.horizon == 1 or config.metric != "loss":
        return [], []
    present = {_run(line) for line in lines if line["loss_kind"] == "extrapolated"}
    finals = {
        _run(line): line
        for line in lines
        if line["loss_kind"] == "final"
        and line["loss"] is not None
        and 0 < line["p"] <= config.convergence.max_p
    }
    curves: dict[tuple, list[Line]] = {}
    for line in lines:
        if line["loss_kind"] == "curve" and _run(line) in finals:
            curves.setdefault(_run(line), []).append(line)
    found, notes = [], []
    for run, final in finals.items():
        if run in present or run not in curves:
            continue
        try:
            found.append(_extrapolated(final, curves[run], config.convergence.horizon))
        except UserError as error:
            notes.append(f"{final['trial']} {final['task']} not extrapolated: {error}")
    if found:
        moved = max(abs(line["loss"] - finals[_run(line)]["loss"]) for line in found)
        notes.insert(
            0,
            f"convergence correction: {len(found)} losses of runs with p <= "
            f"{config.convergence.max_p:g} extrapolated to "
            f"{config.convergence.horizon:g}x their steps; largest change {moved:.4f}",
        )
    return found, notes


def unconverged(lines: Sequence[Line]) -> list[str]:
    """Names runs whose loss still moved over the last doubling of their steps."""
    curves: dict[tuple, list[tuple[float, float]]] = {}
    for line in lines:
        # Fitted on another metric, the table's losses are text still.
        loss, step = line.get("loss"), line.get("step")
        if line["loss_kind"] == "curve" and isinstance(loss, float) and step:
            curves.setdefault(_run(line), []).append((step, loss))
    moving = []
    for run, points in curves.items():
        points.sort()
        last, loss = points[-1]
        half = [value for step, value in points if step <= last / 2]
        if half and half[-1] > loss * (1 + _MOVING):
            moving.append((half[-1] / loss - 1, f"{run[0]} {run[1]}"))
    if not moving:
        return []
    moving.sort(reverse=True)
    worst = ", ".join(f"{name} {100 * share:.1f} %" for share, name in moving[:3])
    return [
        f"{len(moving)} of {len(curves)} curves still fell by more than "
        f"{100 * _MOVING:g} % over the last doubling of steps: {worst}; a run that has "
        "not converged imitates an irreducible loss"
    ]


def _run(line: Line) -> tuple:
    return (line["trial"], line["task"], line["test_set"], line.get("origin"))


def _extrapolated(final: Line, curve: Sequence[Line], horizon: float) -> Line:
    points = [
        (line["step"], line["loss"])
        for line in curve
        if line.get("step") and line["loss"] is not None
    ]
    last = max((step for step, _ in points), default=0)
    points = [(step, loss) for step, loss in points if step >= _WARM_UP * last]
    if len(points) < _POINTS:
        raise UserError(f"{len(points)} evaluations after warm-up, needs {_POINTS}")
    fitted = fit_learning_curve(*zip(*points, strict=True))
    low, high = fitted.interval(horizon * last)
    changed = {
        "loss_kind": "extrapolated",
        "step": horizon * last,
        "loss": float(fitted.predict(horizon * last)),
        "low": float(low),
        "high": float(high),
    }
    return Line(final.where, {**final, **changed})


def to_csv(lines: Sequence[Line], metric: str) -> str:
    """The new rows, in the columns of the metrics table that they have."""
    names = ["trial", "size", "seed", "task", "p", "mixture", "test_set", "n", "step"]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*names, metric, "loss_kind", "low", "high"])
    for line in lines:
        shown = dict(line) | {"mixture": format_mixture(line["mixture"] or {})}
        cells = [cell(shown.get(name)) for name in (*names, metric)]
        ends = [cell(line["low"]), cell(line["high"])]
        writer.writerow([*cells, line["loss_kind"], *ends])
    return buffer.getvalue()
