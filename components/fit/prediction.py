"""``predict``: what fitted laws say about sizes and mixtures."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.artifacts.trial import check_mixture, format_mixture
from components.fit import law_file, table
from components.fit.held_out import cell
from models.errors import UserError
from models.laws.law import Law

KINDS = ("shared", "approximate", "joint", "individual")  # the first that can


@dataclasses.dataclass(frozen=True)
class Prediction:
    """One task's predicted value at one size and mixture.

    Attributes:
      task, test_set, metric: What is predicted.
      law: Kind of the law that predicts it.
      n, p: The size, and the task's own weight.
      predicted, low, high: The value and its interval for a newly trained model;
        the ends are infinite where the fit leaves them open.
      note: Said when the point is outside what was fitted; else empty.
    """

    task: str
    test_set: str
    metric: str
    law: str
    n: float
    p: float
    predicted: float
    low: float
    high: float
    note: str


def predict(
    laws: Path, n: float, p: Mapping[str, float], level: float = 0.95
) -> list[Prediction]:
    """Predicts every task with a positive weight in a mixture.

    Args:
      laws: Law file, or the folder that ``fit`` made.
      n: Non-embedding parameters.
      p: The mixture; with two tasks one of them is enough.
      level: Nominal coverage of the interval.

    Raises:
      UserError: No such file or task, an impossible n or mixture, or a mixture
        that none of the laws can predict.
    """
    known = law_file.load(laws).laws
    mixture = complete_mixture(known, p)
    groups: dict[tuple[str, str], list[Law]] = {}
    for law in known:
        if mixture.get(law.task, 0.0) > 0 or law.task not in law.tasks:
            groups.setdefault((law.task, law.test_set), []).append(law)
    found = [_first(group, n, mixture, level) for group in groups.values()]
    if not found:
        raise UserError(
            f"p {format_mixture(mixture)}: no law for a task with a positive weight"
        )
    return found


def complete_mixture(laws: Sequence[Law], p: Mapping[str, float]) -> dict[str, float]:
    """The whole mixture; the other of two tasks gets the rest.

    Raises:
      UserError: An unknown task, or weights that do not sum to 1.
    """
    tasks = list(dict.fromkeys(name for law in laws for name in law.tasks))
    unknown = [task for task in p if task not in tasks]
    if unknown:
        raise UserError(
            f"unknown task {', '.join(unknown)}; these laws know {', '.join(tasks)}"
        )
    mixture = dict(p)
    if len(mixture) == 1 and len(tasks) == 2:
        (own, weight), *_ = p.items()
        mixture = {task: weight if task == own else 1.0 - weight for task in tasks}
    check_mixture(mixture)
    return mixture


def prediction_text(predictions: Sequence[Prediction]) -> str:
    """The predictions as a table for a person."""
    lines = []
    for one in predictions:
        interval = "no interval"
        if math.isfinite(one.high):
            interval = f"{one.low:.4f} to {one.high:.4f}"
        note = f"  ({one.note})" if one.note else ""
        lines.append(
            f"{one.task:<8} {one.test_set:<12} p = {one.p:<6g} n = {one.n:<10.4g} "
            f"{one.metric} {one.predicted:.4f}  [{interval}]  {one.law} law{note}"
        )
    return "\n".join(lines)


def prediction_json(predictions: Sequence[Prediction]) -> str:
    """The predictions for a program; null where an end is open."""
    records = [
        {
            key: None
            if isinstance(value, float) and not math.isfinite(value)
            else value
            for key, value in dataclasses.asdict(one).items()
        }
        for one in predictions
    ]
    return json.dumps(records, indent=1, ensure_ascii=False)


def predict_table(laws: Path, rows: Path, level: float = 0.95) -> str:
    """A table with ``predicted, low, high`` and, where it has a loss, ``error``.

    Args:
      laws: Law file, or the folder that ``fit`` made.
      rows: Table with ``task, n`` and ``p`` or ``mixture``.
      level: Nominal coverage of the interval.

    Returns:
      CSV text: the rows' own columns, then the new ones.

    Raises:
      UserError: As `predict`, naming the row.
    """
    known = law_file.load(laws).laws
    lines = table.read_points(rows)
    columns = list(lines[0]) + ["predicted", "low", "high", "error"]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    for line in lines:
        one = _predicted_line(known, line, level)
        metric = line.get(one.metric)
        error = "" if metric is None else cell(one.predicted - float(metric))
        shown = {name: _shown(line[name]) for name in line}
        ends = {"low": cell(one.low), "high": cell(one.high), "error": error}
        writer.writerow(shown | {"predicted": cell(one.predicted)} | ends)
    return buffer.getvalue()


def _predicted_line(laws: Sequence[Law], line: table.Line, level: float) -> Prediction:
    wanted = line.get("test_set")
    group = [
        law
        for law in laws
        if law.task == line["task"] and wanted in (None, "", law.test_set)
    ]
    if not group:
        tasks = ", ".join(dict.fromkeys(law.task for law in laws))
        raise UserError(
            f"{line.where}: no law of {line['task']}"
            f"{f' on {wanted}' if wanted else ''}; these laws know {tasks}"
        )
    p = line["mixture"] if line["mixture"] is not None else line["p"]
    try:
        return _first(group, line["n"], p, level)
    except UserError as error:
        raise UserError(f"{line.where}: {error}") from None


def _first(
    laws: Sequence[Law], n: float, p: float | Mapping[str, float], level: float
) -> Prediction:
    """The prediction of the most general law that can make it."""
    able = [law for law in laws if law.kind in KINDS]
    ordered = sorted(able, key=lambda law: KINDS.index(law.kind))
    refusals = []
    for law in ordered:
        try:
            predicted = float(law.predict(n, p))
            low, high = law.interval(n, p, level)
        except UserError as error:
            refusals.append(error)
            continue
        own = float(p.get(law.task, 0.0)) if isinstance(p, Mapping) else float(p)
        return Prediction(
            task=law.task,
            test_set=law.test_set,
            metric=law.metric,
            law=law.kind,
            n=float(n),
            p=own,
            predicted=predicted,
            low=float(low),
            high=float(high),
            note=range_note(law, n, own),
        )
    raise (
        refusals[0]
        if refusals
        else UserError(
            f"no law of {laws[0].task} can predict a size; fit with --law approximate"
        )
    )


def range_note(law: Law, n: float, p: float) -> str:
    """Says when a point lies outside the fitted runs; else empty."""
    low, high = law.fitted_range["n"]
    notes = []
    if low == high and abs(n / high - 1) > 1e-6:
        notes.append(f"fitted at n = {high:.4g} alone: says nothing of other sizes")
    elif n > high:
        notes.append(f"{n / high:.3g}x the largest fitted size")
    elif n < low:
        notes.append(f"{low / n:.3g}x below the smallest fitted size")
    low, high = law.fitted_range["p"]
    if not low - 1e-9 <= p <= high + 1e-9:
        notes.append(f"p = {p:g} is outside the fitted {low:g} to {high:g}")
    return "; ".join(notes)


def _shown(value: object) -> object:
    if isinstance(value, Mapping):
        return format_mixture(value)
    return "" if value is None else value
