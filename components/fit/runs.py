"""Which rows of a table are fitted, which are held out and which are left out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from components.artifacts import metrics_table
from components.fit.config import Config, HeldOut
from components.fit.table import Line
from models.errors import UserError
from models.laws.observations import Observations, observations

_SAME = 1e-6
POOLED = ("none",)  # as `by`: nothing sets runs apart but their mixture


@dataclasses.dataclass(frozen=True)
class Runs:
    """A table's rows, sorted by what becomes of them.

    Attributes:
      fitted: Rows that laws are fitted on.
      held_out: Rows that laws are compared with, empty or not.
      held_out_kinds: ``size`` or ``mixture`` for each of them.
      notes: What was left out and why, sentences.
      curves: Every measurement along the training of the fitted runs whose amounts of
        data are known; None where there is none.
    """

    fitted: Observations
    held_out: Observations | None
    held_out_kinds: tuple[str, ...]
    notes: tuple[str, ...]
    curves: Observations | None = None


def sort_rows(lines: Sequence[Line], config: Config, where: str) -> Runs:
    """Chooses the rows to fit.

    Args:
      lines: The table's rows.
      config: Metric, test sets and what is held out.
      where: The table's name, for messages.

    Raises:
      UserError: Nothing is left to fit, or something named is not in the table.
    """
    notes: list[str] = []
    kept = _final(lines, notes)
    kept = _chosen_test_sets(kept, config.test_sets, where)
    kept = _measured(kept, config.metric, notes)
    kept = _trained(kept, notes)
    kinds = [_held_out_kind(line, config.held_out, _first_task(lines)) for line in kept]
    _check_held_out(config.held_out, lines, kinds, where)
    if kept and all(kinds):
        raise UserError(f"{where}: every row is held out; nothing is left to fit")
    if not kept:
        raise UserError(f"{where}: no row to fit; {'; '.join(notes)}")
    for name in config.by:
        if name not in kept[0] and config.by != POOLED:
            raise UserError(
                f"{where}: no column {name} to set runs apart by; it has "
                f"{', '.join(kept[0])}"
            )
    by = _group_columns(kept, config.by, notes)
    everything = as_observations(kept, config.metric, by)
    held = [k for k, kind in enumerate(kinds) if kind]
    fitted = [k for k, kind in enumerate(kinds) if not kind]
    return Runs(
        fitted=everything.take(_index(fitted)),
        held_out=everything.take(_index(held)) if held else None,
        held_out_kinds=tuple(kinds[k] for k in held),
        notes=tuple(notes),
        curves=_curves(lines, config, [kept[k] for k in fitted], by),
    )


def _curves(
    lines: Sequence[Line], config: Config, fitted: Sequence[Line], by: tuple[str, ...]
) -> Observations | None:
    """The rows of fitted runs, along their training, that say what they had seen."""
    runs = {_run(line) for line in fitted}
    chosen = [
        line
        for line in lines
        if _run(line) in runs
        and line["loss_kind"] in ("curve", "final")
        and line[config.metric] is not None
        and line.get("tokens_seen") is not None
        and line.get("step") is not None
        and line["trial"]
    ]
    if config.metric != "loss" or not chosen:
        return None
    return as_observations(chosen, config.metric, by, lines)


def _index(chosen: list[int]) -> np.ndarray:
    return np.array(chosen, dtype=int)


def _final(lines: Sequence[Line], notes: list[str]) -> list[Line]:
    """Final rows; the extrapolated one instead where a trial has it."""
    corrected = {_run(line) for line in lines if line["loss_kind"] == "extrapolated"}
    if corrected:
        losses = "loss" if len(corrected) == 1 else "losses"
        notes.append(
            f"{len(corrected)} final {losses} replaced by extrapolation to "
            "convergence ([M] App. G)"
        )
    kinds = {"final", "extrapolated", "curve"}
    for line in lines:
        if line["loss_kind"] not in kinds:
            raise UserError(
                f"{line.where}, column loss_kind: {line['loss_kind']!r}; expected "
                "final, curve or extrapolated"
            )
    return [
        line
        for line in lines
        if line["loss_kind"] == "extrapolated"
        or (line["loss_kind"] == "final" and _run(line) not in corrected)
    ]


def _run(line: Line) -> tuple:
    return (line["trial"], line["task"], line["test_set"], line.get("origin"))


def _chosen_test_sets(
    lines: list[Line], chosen: tuple[str, ...], where: str
) -> list[Line]:
    known = dict.fromkeys(line["test_set"] for line in lines)
    for name in chosen:
        if name not in known:
            raise UserError(
                f"{where}: no test set {name}; the table has {', '.join(known)}"
            )
    return [line for line in lines if not chosen or line["test_set"] in chosen]


def _measured(lines: list[Line], metric: str, notes: list[str]) -> list[Line]:
    """Leaves out rows without a value: failed trials."""
    failed = [line["trial"] or line.where for line in lines if line[metric] is None]
    if failed:
        names = dict.fromkeys(failed)
        shown = ", ".join(list(names)[:5]) + (", ..." if len(names) > 5 else "")
        rows = "row" if len(failed) == 1 else "rows"
        notes.append(f"{len(failed)} {rows} without {metric} left out: {shown}")
    return [line for line in lines if line[metric] is not None]


def _trained(lines: list[Line], notes: list[str]) -> list[Line]:
    """Leaves out zero-shot rows; tasks that no mixture contains stay."""
    trained = {line["task"] for line in lines if line["p"] > 0}
    kept = [
        line
        for line in lines
        if line["p"] > 0 or (line["task"] not in trained and line["mixture"])
    ]
    if len(kept) < len(lines):
        count = len(lines) - len(kept)
        rows = "row" if count == 1 else "rows"
        notes.append(f"{count} zero-shot {rows} (p = 0) left out")
    return kept


def _first_task(lines: Sequence[Line]) -> str:
    """The task whose weight a single number means."""
    for line in lines:
        if line["mixture"]:
            return next(iter(line["mixture"]))
    return lines[0]["task"]


def _held_out_kind(line: Line, held_out: HeldOut, first: str) -> str:
    """``mixture`` or ``size`` for a held-out row, empty for one that is fitted."""
    if any(_is_mixture(line, mixture, first) for mixture in held_out.mixtures):
        return "mixture"
    return "size" if line["size"] in held_out.sizes else ""


def _is_mixture(line: Line, mixture: float | Mapping[str, float], first: str) -> bool:
    if isinstance(mixture, Mapping):
        own = mixture.get(line["task"], 0.0)
        if line["mixture"] is None:
            return abs(line["p"] - own) < _SAME
        tasks = {*mixture, *line["mixture"]}
        return all(
            abs(mixture.get(t, 0.0) - line["mixture"].get(t, 0.0)) < _SAME
            for t in tasks
        )
    if line["mixture"] is not None:
        return abs(line["mixture"].get(first, 0.0) - mixture) < _SAME
    own = mixture if line["task"] == first else 1.0 - mixture
    return abs(line["p"] - own) < _SAME


def _check_held_out(
    held_out: HeldOut, lines: Sequence[Line], kinds: list[str], where: str
) -> None:
    sizes = dict.fromkeys(line["size"] for line in lines)
    for size in held_out.sizes:
        if size not in sizes:
            raise UserError(
                f"{where}: held-out size {size} is not in the table, which has "
                f"{', '.join(sizes)}"
            )
    if held_out.mixtures and "mixture" not in kinds:
        raise UserError(
            f"{where}: no row has a held-out mixture ({held_out.mixtures}); expected "
            "weights that occur in the table"
        )


def as_observations(
    lines: Sequence[Line],
    metric: str,
    by: tuple[str, ...],
    table: Sequence[Line] | None = None,
) -> Observations:
    """The rows as arrays; rows without a value must have been left out.

    Args:
      lines: Checked rows.
      metric: The column that is fitted.
      by: Columns that set runs apart beside their mixture.
      table: Rows that tell what runs had seen of every task; ``lines`` when omitted.
    """
    seen = _tokens_seen(table or lines)
    origins: dict[str, set] = {}
    for line in lines:
        origins.setdefault(line["test_set"], set()).add(line.get("origin"))
    return observations(
        task=[line["task"] for line in lines],
        n=[line["n"] for line in lines],
        p=[line["p"] for line in lines],
        value=[line[metric] for line in lines],
        mixture=[line["mixture"] for line in lines],
        test_set=[_test_set(line, origins) for line in lines],
        trial=[line["trial"] or line.where.rpartition(": ")[2] for line in lines],
        size=[line["size"] for line in lines],
        seed=[line["seed"] for line in lines],
        n_enc=[_or_nan(line.get("n_enc")) for line in lines],
        n_dec=[_or_nan(line.get("n_dec")) for line in lines],
        tokens=[seen.get((line["trial"], line.get("step"))) for line in lines],
        step=[_or_nan(line.get("step")) for line in lines],
        group=[",".join(f"{c}={_value(line[c])}" for c in by) for line in lines],
        metric=metric,
    )


def _tokens_seen(lines: Sequence[Line]) -> dict[tuple, dict[str, float]]:
    """(trial, step) -> target tokens that the run had seen of every task.

    A task without a row has as many as its weight says.
    """
    found: dict[tuple, dict[str, float]] = {}
    for line in lines:
        if line["trial"] and line.get("tokens_seen") is not None:
            seen = found.setdefault((line["trial"], line.get("step")), {})
            seen[line["task"]] = line["tokens_seen"]
    for line in lines:
        seen = found.get((line["trial"], line.get("step")), {})
        own = seen.get(line["task"])
        for task, weight in (line["mixture"] or {}).items():
            if task not in seen and own is not None and line["p"] > 0:
                seen[task] = own * weight / line["p"]
    return found


def _value(cell: object) -> str:
    """A group's value; commas separate columns."""
    return "" if cell is None else str(cell).replace(",", ";")


def _test_set(line: Line, origins: Mapping[str, set]) -> str:
    """A test set measured by original language counts as one test set for each."""
    name = line["test_set"]
    return f"{name}:{line['origin']}" if len(origins[name]) > 1 else name


def _group_columns(
    lines: Sequence[Line], by: tuple[str, ...], notes: list[str]
) -> tuple[str, ...]:
    """The columns that set runs apart beside their mixture."""
    if by:
        return () if by == POOLED else by
    return (*_several_cohorts(lines, notes), *_telling_columns(lines, notes))


def _several_cohorts(lines: Sequence[Line], notes: list[str]) -> tuple[str, ...]:
    """The column ``cohort``, where a task was trained in several of them."""
    cohorts: dict[str, set[str]] = {}
    for line in lines:
        cohorts.setdefault(line["task"], set()).add(str(line.get("cohort") or ""))
    if all(len(names) == 1 for names in cohorts.values()):
        return ()
    notes.append(
        "tasks were trained in several cohorts: each cohort has its own laws (fit.by; "
        "by = none pools them)"
    )
    return ("cohort",)


def _telling_columns(lines: Sequence[Line], notes: list[str]) -> tuple[str, ...]:
    """A column outside the contract that tells apart what should be one run.

    Rows of one task, test set, size, mixture and seed are one run, unless the table
    varies something else, such as the size of the data; then that sets curves apart.
    """
    cells: dict[tuple, list[Line]] = {}
    for line in lines:
        mixture = tuple(sorted((line["mixture"] or {}).items()))
        own = (line["task"], line["test_set"], line.get("origin"), line["n"])
        own = (*own, line.get("n_enc"), line.get("n_dec"))
        cells.setdefault((*own, line["p"], mixture, line["seed"]), []).append(line)
    crowded = [cell for cell in cells.values() if len(cell) > 1]
    if not crowded:
        return ()
    for name in lines[0]:
        if name in metrics_table.COLUMNS:
            continue
        if all(len({line[name] for line in cell}) == len(cell) for cell in crowded):
            notes.append(
                f"runs of one size, mixture and seed differ in {name}: each of its "
                "values has its own curve (fit.by)"
            )
            return (name,)
    return ()


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
