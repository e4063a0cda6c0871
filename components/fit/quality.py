"""Quality against loss: BLEU and the others as functions of the loss of a run.

One curve for each task, test set and original language: [N] finds that BLEU follows a
power of the loss on target-original text and not on source-original text; [M] Fig. 8
and 19 that chrF and BLEURT are nearly linear in it.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Sequence

from components.fit.held_out import cell
from components.fit.table import Line
from models.errors import UserError
from models.laws.curve import Curve, fit_quality

FILE_NAME = "quality.csv"
METRICS = ("bleu", "chrf", "bleurt", "comet")
_NAMES = {"power": ("c", "p"), "linear": ("u", "v")}


@dataclasses.dataclass(frozen=True)
class Quality:
    """One fitted curve of one metric.

    Attributes:
      task, test_set, origin, metric: What it is of.
      kind: ``power`` for ``metric = c loss**-p`` ([N] eq. 13), ``linear`` for
        ``metric = u + v loss`` ([M] Fig. 8, 19).
      curve: The curve.
      points: Runs it was fitted to.
      better: Whether it leaves less than the other kind does.
    """

    task: str
    test_set: str
    origin: str
    metric: str
    kind: str
    curve: Curve
    points: int
    better: bool


def fit_qualities(lines: Sequence[Line]) -> tuple[list[Quality], list[str]]:
    """Both curves of every metric that a table has beside its losses.

    Args:
      lines: The table's rows.

    Returns:
      The curves, and sentences about metrics that allow none.

    Raises:
      UserError: A value of a metric that is no number.
    """
    groups: dict[tuple[str, str, str, str], list[tuple[float, float]]] = {}
    for line in lines:
        if line["loss_kind"] != "final" or not line["p"] > 0:
            continue
        loss = _value(line, "loss")
        for metric in METRICS:
            value = _value(line, metric)
            if loss is not None and value is not None and loss > 0:
                origin = str(line.get("origin") or "")
                key = (line["task"], line["test_set"], origin, metric)
                groups.setdefault(key, []).append((loss, value))
    found, notes = [], []
    for key, pairs in groups.items():
        try:
            found += _both(key, pairs)
        except UserError as error:
            notes.append(f"{key[3]} of {key[0]}/{key[1]}: {error}")
    return found, notes


def _both(
    key: tuple[str, str, str, str], pairs: list[tuple[float, float]]
) -> list[Quality]:
    curves, best = _curves(pairs)
    return [
        Quality(*key, curve.kind, curve, len(pairs), curve is best) for curve in curves
    ]


def better_curve(pairs: Sequence[tuple[float, float]]) -> Curve:
    """The curve that explains more of a metric's values at some losses.

    Args:
      pairs: Loss and metric of each run.

    Raises:
      UserError: There are too few different losses.
    """
    return _curves(pairs)[1]


def _curves(pairs: Sequence[tuple[float, float]]) -> tuple[list[Curve], Curve]:
    """The curves of both kinds, or of the one there can be; and the better one."""
    losses, values = zip(*pairs, strict=True) if pairs else ((), ())
    kinds = ("power", "linear") if min(values, default=0) > 0 else ("linear",)
    curves = [fit_quality(losses, values, kind) for kind in kinds]
    return curves, max(curves, key=lambda curve: curve.r2)


def _value(line: Line, name: str) -> float | None:
    text = line.get(name)
    if text is None or (isinstance(text, str) and not text.strip()):
        return None
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{line.where}, column {name}: {text!r}; expected a number")
    return value


def to_csv(found: Sequence[Quality]) -> str:
    """One line a curve, with both coefficients and their standard errors."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    head = "task,test_set,origin,metric,kind,first,first_error,second,second_error"
    writer.writerow([*head.split(","), "r2", "residual_sd", "points", "better"])
    for one in found:
        cells = [one.task, one.test_set, one.origin, one.metric, one.kind]
        for value, error in _coefficients(one.curve):
            cells += [cell(value), cell(error)]
        cells += [cell(one.curve.r2), cell(one.curve.residual_sd)]
        writer.writerow([*cells, one.points, "yes" if one.better else "no"])
    return buffer.getvalue()


def quality_table(found: Sequence[Quality]) -> str | None:
    """The better curve of each metric, for the report."""
    if not found:
        return None
    lines = [f"\n{'quality against loss':<34}{'curve':<30}{'R2':>9}{'points':>8}"]
    for one in found:
        if not one.better:
            continue
        origin = f":{one.origin}" if one.origin else ""
        name = f"{one.metric} {one.task} {one.test_set}{origin}"
        (first, _), (second, error) = _coefficients(one.curve)
        shown = f"{first:.4g} loss^-({second:.3g} +/- {error:.2g})"
        if one.kind == "linear":
            shown = f"{first:.4g} + ({second:.3g} +/- {error:.2g}) loss"
        lines.append(f"{name:<34}{shown:<30}{one.curve.r2:>9.4f}{one.points:>8}")
    return "\n".join(lines)


def _coefficients(curve: Curve) -> list[tuple[float, float]]:
    """Both coefficients with their standard errors."""
    names = list(curve.parameters)
    return [
        (curve.parameters[name], math.sqrt(curve.covariance[k, k]))
        for name in _NAMES[curve.kind]
        for k in (names.index(name),)
    ]
