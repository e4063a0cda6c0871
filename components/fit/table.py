"""Tables that people bring: at least task, n, p and loss.

Columns and their defaults: ``task, n`` and the metric are required, and ``p`` or the
mixture; ``mixture`` may be text, columns of weights, or follow from the rows of a run;
``test_set`` is ``in_domain``, ``size`` is n in short, ``seed`` 0, ``trial`` is made
from the row's mixture, size and seed; without ``loss_kind`` the last step of a run is
``final``; ``n_enc, n_dec, step, origin`` may be missing.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.artifacts import metrics_table
from components.fit import columns as columns_of
from components.fit import mixtures
from components.fit.cells import Line, expect, is_missing
from components.fit.table_files import Record, load
from models.errors import UserError
from models.laws.law import CEILINGS

log = logging.getLogger(__name__)

_NAMES = ("task", "test_set", "trial", "size", "loss_kind")
# Scores of trained judges: below 0 is worse than a poor translation, and not wrong.
_JUDGED = ("bleurt", "comet")


def read(
    path: Path,
    metric: str = "loss",
    columns: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
) -> list[Line]:
    """Reads and checks a table.

    Args:
      path: A file that `table_files.load` reads, or a folder with ``metrics.csv``.
      metric: The column that will be fitted.
      columns: Our name of a column -> the table's name of it.
      notes: Where to add what was left out, changed or assumed; logged when omitted.

    Returns:
      Its rows with numbers in the numeric columns; ``None`` for an empty cell. A
      row's ``mixture`` is a mapping or ``None``.

    Raises:
      UserError: Names file, row, column, value and what is expected.
    """
    file = path / metrics_table.FILE_NAME if path.is_dir() else path
    found: list[str] = []
    names, records = columns_of.renamed(file, *load(file), columns or {})
    columns_of.check_names(file, names, ("task", "n", metric))
    lines = _filled(file, records, ("task", "n"), found)
    if not lines:
        raise UserError(f"{file}: no rows; expected one row a run, task and test set")
    _unify_tasks(lines, found)
    mixtures.fill(file, names, lines, metric, found)
    _mark_last_steps(lines, found)
    for line in lines:
        _check(line, metric)
    _check_unique(lines)
    mixtures.complete_pairs(lines)
    if notes is None:
        for note in found:
            log.warning("%s: %s", file, note)
    else:
        notes += found
    return lines


def read_points(path: Path, columns: Mapping[str, str] | None = None) -> list[Line]:
    """Reads the points of a prediction: ``task, n`` and ``p`` or ``mixture``.

    Raises:
      UserError: Names file, row, column, value and what is expected.
    """
    names, records = columns_of.renamed(path, *load(path), columns or {})
    columns_of.check_names(path, names, ("task", "n"))
    lines = [Line(f"{path}: row {k}", row) for k, row in enumerate(records, start=2)]
    if not lines:
        raise UserError(f"{path}: no rows to predict")
    mixtures.fill(path, names, lines, "loss", [])
    for line in lines:
        line["task"] = str(line["task"] or "").strip()
        expect(line, "n", lambda n: n > 0, "a positive number of parameters")
        expect(line, "p", lambda p: 0 <= p <= 1, "a probability in [0, 1]")
    return lines


def _filled(
    file: Path, records: Sequence[Record], required: Sequence[str], notes: list[str]
) -> list[Line]:
    """Rows with what every row needs; others are left out with a note."""
    lines, empty = [], []
    for k, record in enumerate(records, start=2):
        missing = [name for name in required if is_missing(record[name])]
        if missing:
            empty.append(f"{k} ({', '.join(missing)})")
            continue
        line = Line(f"{file}: row {k}", record)
        for name in _NAMES:
            cell = line.get(name)
            line[name] = "" if is_missing(cell) else str(cell).strip()
        lines.append(line)
    if empty:
        shown = ", ".join(empty[:5]) + (", ..." if len(empty) > 5 else "")
        notes.append(f"rows with empty cells are left out: {shown}")
    return lines


def _unify_tasks(lines: Sequence[Line], notes: list[str]) -> None:
    """One spelling for each task: that of its first row."""
    spelling: dict[str, str] = {}
    for line in lines:
        task = spelling.setdefault(line["task"].lower(), line["task"])
        if task != line["task"]:
            notes.append(f"task {line['task']} is read as {task}")
            line["task"] = task
    notes[:] = list(dict.fromkeys(notes))


def _mark_last_steps(lines: Sequence[Line], notes: list[str]) -> None:
    """Without ``loss_kind`` the last step of a run is final, earlier ones its curve."""
    unmarked = [line for line in lines if not line["loss_kind"]]
    last: dict[tuple, float] = {}
    for line in unmarked:
        step = line.get("step")
        if step is not None:
            key = _run_of(line)
            last[key] = max(step, last.get(key, step))
    earlier = 0
    for line in unmarked:
        step = line.get("step")
        curve = step is not None and step < last[_run_of(line)]
        line["loss_kind"] = "curve" if curve else "final"
        earlier += curve
    if earlier:
        notes.append(
            f"the last step of each run is its final value; {earlier} rows of earlier "
            "steps belong to learning curves"
        )


def _check(line: Line, metric: str) -> None:
    """Completes a row; raises UserError for a value that cannot be."""
    expect(line, "n", lambda n: n > 0, "a positive number of parameters")
    expect(line, "p", lambda p: 0 <= p <= 1, "a probability in [0, 1]")
    for name in ("n_enc", "n_dec"):
        if line.get(name) is not None:
            expect(line, name, lambda n: n > 0, "a positive number of parameters")
    _check_measured(line, metric)
    line["seed"] = _seed(line)
    line["test_set"] = line["test_set"] or "in_domain"
    line["size"] = line["size"] or f"{line['n']:.6g}"


def _check_measured(line: Line, metric: str) -> None:
    """What is fitted falls towards 0: a loss, or the distance to a ceiling."""
    if line[metric] is None:
        return
    if metric not in _JUDGED:
        expect(line, metric, lambda value: value >= 0, "0 or more")
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
    expect(line, metric, lambda value: value <= ceiling, f"at most {ceiling:g}")


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


def _run_of(line: Line) -> tuple:
    """What identifies a run and what was measured of it, without the step."""
    extra = () if line["trial"] else tuple(sorted(_others(line).items()))
    shape = (line["n"], line.get("n_enc"), line.get("n_dec"), line.get("cohort"))
    return (
        line["trial"] or (*shape, line["p"], line.get("seed"), str(line["mixture"])),
        line["task"],
        line["test_set"],
        line.get("origin"),
        *extra,
    )


def _key(line: Line) -> tuple:
    return (*_run_of(line), line.get("step"), line["loss_kind"])


def _others(line: Line) -> dict[str, str]:
    """Columns outside the contract tell rows without a trial's name apart."""
    known = {*metrics_table.COLUMNS, "mixture"}
    return {str(k): str(v) for k, v in line.items() if k not in known}
