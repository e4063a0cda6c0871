"""The mixture of every row: written in it, in columns of weights, or by its run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.artifacts.trial import format_mixture
from components.fit.cells import NUMBERS, Line, expect, is_missing, number, parse_number
from models.errors import UserError

# A column with the weight of a task: the task's name, with or without one of these.
_PREFIXES = ("", "p_", "w_", "weight_", "share_", "p:", "w:")


def weight_columns(columns: Sequence[str], tasks: Sequence[str]) -> dict[str, str]:
    """Task -> the column that holds its weight; empty unless there is one for each."""
    lower = {name.lower(): name for name in columns}
    for prefix in _PREFIXES:
        found = {
            task: lower[f"{prefix}{task}".lower()]
            for task in tasks
            if f"{prefix}{task}".lower() in lower
        }
        if found and len(found) == len(tasks):
            others = {
                name[len(prefix) :]: name
                for name in columns
                if prefix and name.lower().startswith(prefix)
            }
            # Tasks that are trained and not evaluated have weights, too.
            return {task: name for task, name in others.items()} | found
    return {}


def read_weights(
    record: Mapping[str, object], columns: Mapping[str, str], where: str
) -> dict[str, float]:
    """The weights of a row from its columns; an empty cell is a weight of 0.

    Raises:
      UserError: A cell is not a number of at least 0.
    """
    weights = {}
    for task, name in columns.items():
        cell = record[name]
        try:
            weights[task] = 0.0 if is_missing(cell) else parse_number(cell)
        except (TypeError, ValueError):
            weights[task] = math.nan
        if not weights[task] >= 0:
            raise UserError(
                f"{where}, column {name}: {cell!r}; expected the weight of {task}"
            )
    return weights


def parse_weights(text: str, where: str) -> dict[str, float]:
    """``en-de=0.3,en-zh=0.7`` -> task -> weight, before any check of their sum.

    Raises:
      UserError: A part cannot be read, or a task is named twice.
    """
    weights: dict[str, float] = {}
    for part in text.replace(";", ",").split(","):
        task, equals, weight = (piece.strip() for piece in part.partition("="))
        try:
            value = parse_number(weight)
        except ValueError:
            equals = ""
        if not equals or not task or task in weights or value < 0:
            raise UserError(
                f"{where}, column mixture: cannot read {part.strip()!r} of {text!r}; "
                "expected each task once, as en-de=0.3,en-zh=0.7"
            )
        weights[task] = value
    return weights


def normalised(
    weights: Mapping[str, float], where: str
) -> tuple[dict[str, float], bool]:
    """Weights that sum to 1, and whether rounding had to be undone.

    Percentages are divided by 100. A sum that rounding explains is divided out: each
    weight may be off by half a unit of its last decimal.

    Raises:
      UserError: They sum to something else.
    """
    total = sum(weights.values())
    if math.isclose(total, 100.0, rel_tol=0.02) and max(weights.values()) > 1:
        weights = {task: weight / 100.0 for task, weight in weights.items()}
        total /= 100.0
    slack = sum(_rounding(weight) for weight in weights.values())
    if abs(total - 1.0) > slack + 1e-9:
        raise UserError(
            f"{where}: the weights {format_mixture(weights)} sum to {total:.6g}; "
            "expected 1; name every task of the run, with weights or percentages"
        )
    if abs(total - 1.0) <= 1e-9:
        return dict(weights), False
    return {task: weight / total for task, weight in weights.items()}, True


def _rounding(weight: float) -> float:
    """Half a unit of the last decimal of a weight; 0.3 counts as 0.30."""
    if weight in (0.0, 1.0):
        return 0.0
    decimals = f"{weight:.12f}".rstrip("0").partition(".")[2]
    return 0.5 * 10.0 ** -max(len(decimals), 2)


def of_runs(
    rows: Sequence[tuple[object, str, float]],
) -> dict[object, dict[str, float]]:
    """Run -> its mixture, where the rows of all its tasks give weights that sum to 1.

    Args:
      rows: Run, task and the task's own weight of every row.
    """
    found: dict[object, dict[str, float]] = {}
    conflicting = set()
    for run, task, weight in rows:
        weights = found.setdefault(run, {})
        if weights.setdefault(task, weight) != weight:
            conflicting.add(run)
    complete = {}
    for run, weights in found.items():
        slack = sum(_rounding(weight) for weight in weights.values())
        total = sum(weights.values())
        if run not in conflicting and abs(total - 1.0) <= slack + 1e-9:
            complete[run] = {task: w / total for task, w in weights.items()}
    return complete


def fill(
    file: Path,
    names: Sequence[str],
    lines: Sequence[Line],
    metric: str,
    notes: list[str],
) -> None:
    """Reads numbers and weights; completes p and mixture from each other."""
    tasks = list(dict.fromkeys(str(line["task"]) for line in lines))
    columns = weight_columns(names, tasks)
    rounded, percent = 0, _in_percent(lines)
    for line in lines:
        for name in (*NUMBERS, metric, "loss"):
            if name in line:
                line[name] = number(line, name)
        if percent and line.get("p") is not None:
            line["p"] /= 100.0
        weights: dict[str, float] = {}
        text = str(line.get("mixture") or "").strip()
        if text:
            weights = parse_weights(text, line.where)
        elif columns:
            weights = read_weights(line, columns, line.where)
        line["mixture"] = None
        if weights:
            spelled = {task.lower(): task for task in tasks}
            weights = {spelled.get(t.lower(), t): w for t, w in weights.items()}
            where = f"{line.where}, column mixture" if text else line.where
            line["mixture"], was = normalised(weights, where)
            rounded += was
        _fill_p(line)
    if rounded:
        notes.append(
            f"the weights of {rounded} rows were rounded; divided by their sum"
        )
    if percent:
        notes.append("column p holds percentages; divided by 100")
    if any(line.get("p") is None for line in lines):
        raise UserError(
            f"{file}: no column p and no mixture; expected the sampling weight of the "
            "row's task (p), the mixture as text, or one column of weights for each "
            f"task; try --columns p=COLUMN, of {', '.join(names)}"
        )
    _mixtures_of_runs(lines, notes)


def _in_percent(lines: Sequence[Line]) -> bool:
    """Whether p runs from 0 to 100 without a sign that says so."""
    cells = [line["p"] for line in lines if not is_missing(line.get("p"))]
    try:
        values = [parse_number(cell) for cell in cells]
    except (TypeError, ValueError):
        return False
    trained = [value for value in values if value]
    return bool(trained) and min(trained) >= 1 and 1 < max(trained) <= 100


def _fill_p(line: Line) -> None:
    """The task's own weight, from the mixture where there is no p."""
    mixture = line["mixture"]
    if mixture is None:
        return
    weight = mixture.get(line["task"], 0.0)
    if line.get("p") is not None:
        expect(line, "p", lambda p: 0 <= p <= 1, "a probability in [0, 1]")
    if line.get("p") is None:
        line["p"] = weight
    elif abs(weight - line["p"]) > 0.006:
        raise UserError(
            f"{line.where}, column p: {line['p']:g}, but the mixture gives "
            f"{line['task']} {weight:g}; expected the same weight"
        )
    else:
        line["p"] = weight if abs(weight - line["p"]) > 1e-9 else line["p"]


def _mixtures_of_runs(lines: Sequence[Line], notes: list[str]) -> None:
    """The mixture of a run from the weights of its tasks' rows."""
    rows = [
        ((line.get("trial"), line["n"]), line["task"], line["p"])
        for line in lines
        if line.get("trial") and line["mixture"] is None
    ]
    found = of_runs(rows)
    filled = 0
    for line in lines:
        run = (line.get("trial"), line["n"])
        if line["mixture"] is None and run in found:
            line["mixture"] = found[run]
            filled += 1
    if filled and len({line["task"] for line in lines}) > 1:
        notes.append("the mixture of a run is taken from the rows of its tasks")


def complete_pairs(lines: Sequence[Line]) -> None:
    """Completes mixtures from p where a table has two tasks and no mixture."""
    tasks = list(dict.fromkeys(line["task"] for line in lines))
    if len(tasks) != 2 or any(line["mixture"] for line in lines):
        return
    for line in lines:
        rest = round(1.0 - line["p"], 12)
        line["mixture"] = {t: line["p"] if t == line["task"] else rest for t in tasks}
