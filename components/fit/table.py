"""Tables that people bring: CSV or Parquet with at least task, n, p and loss.

Columns and their defaults: ``task, n, p`` and the metric are required; ``mixture``
is derived where p and two tasks tell it; ``test_set`` is ``in_domain``, ``size`` is
n in short, ``seed`` 0, ``trial`` is made from the row's mixture, size and seed,
``loss_kind`` is ``final``; ``n_enc, n_dec, step, origin`` may be missing.
"""

from __future__ import annotations

import csv
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from components.artifacts import metrics_table
from components.artifacts.trial import parse_mixture
from models.errors import UserError
from models.laws.law import CEILINGS

log = logging.getLogger(__name__)

REQUIRED = ("task", "n", "p")
_NUMBERS = ("n", "p", "n_enc", "n_dec", "step")
# Scores of trained judges: below 0 is worse than a poor translation, and not wrong.
_JUDGED = ("bleurt", "comet")


class Line(dict):
    """One row: column -> text or number, and where it stands."""

    def __init__(self, where: str, cells: Mapping[str, object]):
        super().__init__(cells)
        self.where = where


def read(path: Path, metric: str = "loss") -> list[Line]:
    """Reads and checks a table.

    Args:
      path: A CSV or Parquet file, or a folder with ``metrics.csv``.
      metric: The column that will be fitted.

    Returns:
      Its rows with numbers in the numeric columns; ``None`` for an empty cell. A
      row's ``mixture`` is a mapping or ``None``.

    Raises:
      UserError: Names file, row, column, value and what is expected.
    """
    file = path / metrics_table.FILE_NAME if path.is_dir() else path
    try:
        columns, records = _load(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{file}: cannot be read as a table: {reason}") from error
    missing = [name for name in (*REQUIRED, metric) if name not in columns]
    if missing:
        raise UserError(
            f"{file}: no column {', '.join(missing)}; expected task, n, p and "
            f"{metric}, found {', '.join(columns) or 'nothing'}"
        )
    lines = [
        _checked(Line(f"{file}: row {k}", record), metric)
        for k, record in enumerate(records, start=2)
    ]
    if not lines:
        raise UserError(f"{file}: no rows; expected one row a run, task and test set")
    _check_unique(lines)
    _derive_mixtures(lines)
    return lines


def read_points(path: Path) -> list[Line]:
    """Reads the points of a prediction: ``task, n`` and ``p`` or ``mixture``.

    Raises:
      UserError: Names file, row, column, value and what is expected.
    """
    try:
        columns, records = _load(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{path}: cannot be read as a table: {reason}") from error
    if not {"task", "n"} <= set(columns) or not {"p", "mixture"} & set(columns):
        raise UserError(
            f"{path}: expected the columns task, n and p or mixture, found "
            f"{', '.join(columns) or 'nothing'}"
        )
    if not records:
        raise UserError(f"{path}: no rows to predict")
    lines = []
    for k, record in enumerate(records, start=2):
        line = Line(f"{path}: row {k}", record)
        for name in ("n", "p", "loss"):
            if name in line:
                line[name] = _number(line, name)
        _expect(line, "n", lambda n: n > 0, "a positive number of parameters")
        if line.get("p") is None:
            line["p"] = (_mixture(line, own=False) or {}).get(line["task"])
        _expect(line, "p", lambda p: 0 < p <= 1, "a probability in (0, 1]")
        line["mixture"] = _mixture(line)
        lines.append(line)
    return lines


def _load(file: Path) -> tuple[Sequence[str], list[dict[str, object]]]:
    if file.suffix == ".parquet":
        return _load_parquet(file)
    with open(file, encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream, strict=True)
        columns = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = columns
        records = list(reader)
    for k, record in enumerate(records, start=2):
        if None in record or None in record.values():
            raise UserError(
                f"{file}: row {k}: another number of cells than the header's "
                f"{len(columns)}"
            )
    return columns, records


def _load_parquet(file: Path) -> tuple[Sequence[str], list[dict[str, object]]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UserError(
            f"{file}: reading Parquet needs the package pyarrow; install it or save "
            "the table as CSV"
        ) from error
    try:
        content = pyarrow.parquet.read_table(file)
    except pyarrow.ArrowInvalid as error:
        raise UserError(f"{file}: not a Parquet file: {error}") from error
    return content.column_names, content.to_pylist()


def _checked(line: Line, metric: str) -> Line:
    """The row with its cells converted; raises UserError for a bad one."""
    for name in (*_NUMBERS, metric):
        if name in line:
            line[name] = _number(line, name)
    task = str(line["task"] or "").strip()
    if not task:
        raise UserError(f"{line.where}, column task: empty; expected a task's name")
    line["task"] = task
    _expect(line, "n", lambda n: n > 0, "a positive number of parameters")
    _expect(line, "p", lambda p: 0 <= p <= 1, "a probability in [0, 1]")
    for name in ("n_enc", "n_dec"):
        if line.get(name) is not None:
            _expect(line, name, lambda n: n > 0, "a positive number of parameters")
    _check_measured(line, metric)
    line["mixture"] = _mixture(line)
    line["seed"] = _seed(line)
    line["test_set"] = str(line.get("test_set") or "in_domain")
    line["loss_kind"] = str(line.get("loss_kind") or "final")
    line["size"] = str(line.get("size") or f"{line['n']:.6g}")
    line["trial"] = str(line.get("trial") or "")
    return line


def _check_measured(line: Line, metric: str) -> None:
    """What is fitted falls towards 0: a loss, or the distance to a ceiling."""
    if line[metric] is None:
        return
    if metric not in _JUDGED:
        _expect(line, metric, lambda value: value >= 0, "0 or more")
    ceiling = CEILINGS.get(metric)
    if ceiling is None:
        return
    # Scores are sums of rounded numbers: 100.00000000000004 is a BLEU of 100.
    if math.isclose(line[metric], ceiling, rel_tol=1e-9):
        log.warning(
            "%s, column %s: at its highest value, %g; the row is left out, because a "
            "law describes the distance to that value",
            line.where,
            metric,
            ceiling,
        )
        line[metric] = None
        return
    _expect(line, metric, lambda value: value <= ceiling, f"at most {ceiling:g}")


def _number(line: Line, name: str) -> float | None:
    cell = line[name]
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{line.where}, column {name}: {cell!r}; expected a number")
    return value


def _expect(
    line: Line, name: str, holds: Callable[[float], bool], expected: str
) -> None:
    if line[name] is None:
        raise UserError(f"{line.where}, column {name}: empty; expected {expected}")
    if not holds(line[name]):
        raise UserError(
            f"{line.where}, column {name}: {line[name]:g}; expected {expected}"
        )


def _seed(line: Line) -> int:
    cell = line.get("seed")
    if cell is None or cell == "":
        return 0
    try:
        return int(float(cell))
    except (ValueError, OverflowError, TypeError):
        raise UserError(
            f"{line.where}, column seed: {cell!r}; expected a whole number"
        ) from None


def _mixture(line: Line, own: bool = True) -> dict[str, float] | None:
    """The row's mixture, checked against its p where there is one."""
    text = str(line.get("mixture") or "").strip()
    if not text:
        return None
    try:
        mixture = parse_mixture(text)
    except UserError as error:
        raise UserError(f"{line.where}, column mixture: {error}") from None
    weight = mixture.get(line["task"], 0.0)
    if own and abs(weight - line["p"]) > 1e-3:
        raise UserError(
            f"{line.where}, column p: {line['p']:g}, but the mixture gives "
            f"{line['task']} {weight:g}; expected the same weight"
        )
    return mixture


def _derive_mixtures(lines: Sequence[Line]) -> None:
    """Completes mixtures from p where a table has two tasks and no mixture."""
    tasks = list(dict.fromkeys(line["task"] for line in lines))
    if len(tasks) != 2 or any(line["mixture"] for line in lines):
        return
    for line in lines:
        rest = round(1.0 - line["p"], 12)
        line["mixture"] = {t: line["p"] if t == line["task"] else rest for t in tasks}


def _check_unique(lines: Sequence[Line]) -> None:
    """Refuses two measurements of the same thing."""
    seen: dict[tuple, Line] = {}
    for line in lines:
        key = _key(line)
        if key in seen:
            raise UserError(
                f"{line.where}: the same trial, step, task and test set as "
                f"{seen[key].where.rpartition(': ')[2]} ({line['task']}, "
                f"p = {line['p']:g}, n = {line['n']:g}); expected one row each; runs "
                "that differ in their seed need a seed or trial column"
            )
        seen[key] = line


def _key(line: Line) -> tuple:
    extra = () if line["trial"] else tuple(sorted(_others(line).items()))
    shape = (line["n"], line.get("n_enc"), line.get("n_dec"))
    return (
        line["trial"] or (*shape, line["p"], line["seed"], str(line["mixture"])),
        line.get("step"),
        line["task"],
        line["test_set"],
        line.get("origin"),
        line["loss_kind"],
        *extra,
    )


def _others(line: Line) -> dict[str, str]:
    """Columns outside the contract tell rows without a trial's name apart."""
    known = {*metrics_table.COLUMNS, "mixture"}
    return {str(k): str(v) for k, v in line.items() if k not in known}
