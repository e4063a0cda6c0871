"""``predict``: what fitted laws say about sizes, shapes and mixtures."""

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
from models.laws.bivariate import BivariateLaw
from models.laws.choice import LawSet, parse_group, range_notes, weight_notes
from models.laws.law import Law
from models.laws.query import Query


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a bivariate law says of a split between encoder and decoder.

    Attributes:
      n_enc, n_dec: Parameters of either side.
      penalty: How many times larger the reducible value is than with the best split
        of as many parameters, Ghorbani et al. 2021, Fig. 10.
      best_n_enc, best_n_dec: That split, their Proposition 1.
    """

    n_enc: float
    n_dec: float
    penalty: float
    best_n_enc: float
    best_n_dec: float


@dataclasses.dataclass(frozen=True)
class Prediction:
    """One task's predicted value at one size or shape, and mixture.

    Attributes:
      task, test_set, metric: What is predicted.
      law: Kind of the law that predicts it.
      backtest: What the back-test thinks of that law.
      group: The group of runs; empty where there is one.
      n, p: The size, and the task's own weight.
      predicted, low, high: The value and its interval for a newly trained model;
        the ends are infinite where the fit leaves them open.
      shape: What a bivariate law says of the shape.
      note: How far the point is outside of what was fitted; else empty.
      warnings: The law's own.
    """

    task: str
    test_set: str
    metric: str
    law: str
    backtest: str
    group: str
    n: float
    p: float
    predicted: float
    low: float
    high: float
    shape: Shape | None
    note: str
    warnings: tuple[str, ...]


def predict(
    laws: Path,
    n: float | None,
    p: Mapping[str, float],
    level: float = 0.95,
    *,
    sides: tuple[float, float] | None = None,
    by: Mapping[str, str] | None = None,
    tokens: float | None = None,
) -> list[Prediction]:
    """Predicts every task with a positive weight in a mixture.

    Args:
      laws: Law file, or the folder that ``fit`` made.
      n: Non-embedding parameters; None where both sides are given.
      p: The mixture; with two tasks one of them is enough. Empty for all that the
        laws of a shape were fitted on.
      level: Nominal coverage of the interval.
      sides: Parameters of encoder and decoder, for bivariate laws.
      by: Column -> value of the group of runs, where there are several.
      tokens: Training tokens of all tasks; as many as the fitted runs had when None.

    Raises:
      UserError: No such file, task or group, an impossible size or mixture, or a
        mixture that none of the laws can predict.
    """
    known = law_file.load(laws).known
    if sides is not None:
        return _predict_shapes(_of_shapes(known, laws), sides, p, level, by or {})
    group = known.group_named(by or {})
    if p and not any(p.values()):
        raise UserError(
            f"p {format_mixture(p)}: no law describes a task that is not trained on; "
            "expected a positive weight"
        )
    mixture = complete_mixture(known, p)
    query = Query(n, mixture, group=group, tokens=tokens)
    targets = dict.fromkeys((law.task, law.test_set) for law in known.laws)
    found = []
    for task, test_set in targets:
        if mixture.get(task, 0.0) > 0 or task not in known.tasks:
            law = known.answering(task, test_set, query)
            found.append(_predicted(known, law, query, level))
    if not found:
        raise UserError(
            f"p {format_mixture(mixture)}: no law for a task with a positive weight"
        )
    return found


def _of_shapes(known: LawSet, laws: Path) -> LawSet:
    shapes = tuple(law for law in known.laws if isinstance(law, BivariateLaw))
    if not shapes:
        raise UserError(
            f"{laws}: no bivariate law, which a shape needs; fit with --law bivariate"
        )
    return LawSet(shapes, known.backtests)


def _predict_shapes(
    known: LawSet,
    sides: tuple[float, float],
    p: Mapping[str, float],
    level: float,
    by: Mapping[str, str],
) -> list[Prediction]:
    """What every bivariate law of a group says of a shape."""
    group = known.group_named(by)
    found = [
        _predicted(known, law, Query(None, weighting, *sides), level)
        for law in known.laws
        for weighting in law.weightings
        if weighting.group == group and _is_of(law, p)
    ]
    if not found:
        labels = dict.fromkeys(law.weightings[0].label for law in known.laws)
        raise UserError(
            f"p {format_mixture(p)}: no bivariate law of this mixture; those there are "
            f"are of p = {', '.join(labels)}"
        )
    return found


def _is_of(law: Law, p: Mapping[str, float]) -> bool:
    weighting = law.weightings[0]
    known = weighting.mixture or {law.task: weighting.p}
    return all(
        abs(known.get(task, 0.0) - weight) < 1e-6
        for task, weight in p.items()
        if task in known or weighting.mixture
    )


def complete_mixture(laws: LawSet, p: Mapping[str, float]) -> dict[str, float]:
    """The whole mixture; the other of two tasks gets the rest, a single task all.

    Raises:
      UserError: An unknown task, or weights that do not sum to 1.
    """
    tasks = laws.tasks
    if not p and len(tasks) > 1:
        raise UserError(f"--p is missing; these laws know {', '.join(tasks)}")
    p = p or {tasks[0]: 1.0}
    unknown = [task for task in p if task not in tasks]
    if unknown:
        raise UserError(
            f"unknown task {', '.join(unknown)}; these laws know {', '.join(tasks)}"
        )
    mixture = dict(p)
    if len(mixture) == 1 and len(tasks) == 2:
        (own, weight), *_ = p.items()
        mixture = {task: weight if task == own else 1.0 - weight for task in tasks}
    if len(tasks) > 1:  # with one task the rest of its mixtures has no name
        check_mixture(mixture)
    return mixture


def _predicted(known: LawSet, law: Law, query: Query, level: float) -> Prediction:
    points = query.points(law.task, law.tasks, law.weightings)
    n, own = float(points.n[0]), float(points.own[0])
    low, high = law.interval(query, level)
    shape = _shape(law, points.n_enc, points.n_dec, n)
    notes = [*range_notes([law], n), *weight_notes(law, own)]
    return Prediction(
        task=law.task,
        test_set=law.test_set,
        metric=law.metric,
        law=law.kind,
        backtest=known.opinion(law),
        group=points.group,
        n=n,
        p=own,
        predicted=float(law.predict(query)),
        low=float(low),
        high=float(high),
        shape=shape,
        note="; ".join(notes),
        warnings=law.warnings,
    )


def _shape(law: Law, n_enc: object, n_dec: object, n: float) -> Shape | None:
    if not isinstance(law, BivariateLaw):
        return None
    best_enc, best_dec = (float(side) for side in law.optimal_split(n))
    enc, dec = (
        float(side[0]) if side is not None else best
        for side, best in ((n_enc, best_enc), (n_dec, best_dec))
    )
    penalty = law.split_penalty(enc / (enc + dec))
    return Shape(enc, dec, penalty, best_enc, best_dec)


def prediction_text(predictions: Sequence[Prediction]) -> str:
    """The predictions as a table for a person.

    How far they extrapolate comes first; which law answers, what the back-test
    thinks of it, and what the fit warned of, last.
    """
    far = dict.fromkeys(one.note for one in predictions if one.note)
    lines = [f"extrapolation: {note}" for note in far]
    lines += [_line(one) for one in predictions]
    kinds = dict.fromkeys((one.law, one.backtest) for one in predictions)
    lines += [f"{kind} law: {opinion}" for kind, opinion in kinds]
    for one in predictions:
        lines += [
            f"warning: {one.law} law of {one.task}, {one.test_set}: {text}"
            for text in one.warnings
        ]
    return "\n".join(lines)


def _line(one: Prediction) -> str:
    interval = "no interval"
    if math.isfinite(one.high):
        interval = f"{one.low:.4f} to {one.high:.4f}"
    size = f"n = {one.n:<10.4g}"
    split = ""
    if one.shape is not None:
        shape = one.shape
        size = f"n_enc = {shape.n_enc:<9.4g} n_dec = {shape.n_dec:<9.4g}"
        split = (
            f"  reducible part {shape.penalty:.3f}x that of the best split, "
            f"{shape.best_n_enc:.4g} + {shape.best_n_dec:.4g}"
        )
    group = f"{one.group} " if one.group else ""
    return (
        f"{one.task:<8} {one.test_set:<12} {group}p = {one.p:<6g} {size} "
        f"{one.metric} {one.predicted:.4f}  [{interval}]  {one.law} law{split}"
    )


def prediction_json(predictions: Sequence[Prediction]) -> str:
    """The predictions for a program; null where an end is open."""
    records = [dataclasses.asdict(one) for one in predictions]
    for record in records:
        for name in ("low", "high"):
            if not math.isfinite(record[name]):
                record[name] = None
    return json.dumps(records, indent=1, ensure_ascii=False)


def predict_table(
    laws: Path, rows: Path, level: float = 0.95, by: Mapping[str, str] | None = None
) -> str:
    """A table with ``predicted, low, high, law`` and, where it has a loss, ``error``.

    Args:
      laws: Law file, or the folder that ``fit`` made.
      rows: Table with ``task, n`` and ``p`` or ``mixture``; where the laws are of
        several groups of runs, also with the columns that set them apart.
      level: Nominal coverage of the interval.
      by: The group of all rows, where the table does not say it.

    Returns:
      CSV text: the rows' own columns, then the new ones.

    Raises:
      UserError: As `predict`, naming the row.
    """
    known = law_file.load(laws).known
    lines = table.read_points(rows)
    columns = [*lines[0], "predicted", "low", "high", "error", "law"]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    for line in lines:
        try:
            one = _predicted_row(known, line, level, by or {})
        except UserError as error:
            raise UserError(f"{line.where}: {error}") from None
        measured = line.get(one.metric)
        writer.writerow(
            {name: _shown(line[name]) for name in line}
            | {name: cell(getattr(one, name)) for name in ("predicted", "low", "high")}
            | {"error": "" if measured is None else cell(one.predicted - measured)}
            | {"law": one.law}
        )
    return buffer.getvalue()


def _predicted_row(
    known: LawSet, line: table.Line, level: float, by: Mapping[str, str]
) -> Prediction:
    task, wanted = line["task"], line.get("test_set")
    sets = dict.fromkeys(law.test_set for law in known.laws if law.task == task)
    if not sets or (wanted and wanted not in sets):
        tasks = ", ".join(dict.fromkeys(law.task for law in known.laws))
        where = f" on {wanted}" if sets else ""
        raise UserError(f"no law of {task}{where}; these laws know {tasks}")
    if not wanted and len(sets) > 1:
        raise UserError(
            f"laws of {len(sets)} test sets ({', '.join(sets)}); expected a column "
            "test_set"
        )
    columns = {name for group in known.groups for name in parse_group(group)}
    own = {name: str(line[name]) for name in columns if line.get(name) is not None}
    mixture = line["mixture"] if line["mixture"] is not None else line["p"]
    query = Query(line["n"], mixture, group=known.group_named({**by, **own}))
    law = known.answering(task, wanted or next(iter(sets)), query)
    return _predicted(known, law, query, level)


def _shown(value: object) -> object:
    if isinstance(value, Mapping):
        return format_mixture(value)
    return "" if value is None else value
