"""The work of ``fit``: rows in, laws and their report out."""

from __future__ import annotations

import csv
import dataclasses
import io
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts import manifest, metrics_table
from components.artifacts.manifest import Manifest, write_atomically
from components.fit import (
    convergence,
    held_out,
    law_file,
    points,
    quality,
    summary,
    table,
)
from components.fit.config import Config
from components.fit.law_file import LawFile, Provenance
from components.fit.report import report_text
from components.fit.runs import Runs, sort_rows
from components.fit.summary import summary_text
from models.errors import UserError
from models.laws import (
    ApproximateLaw,
    BivariateLaw,
    IndividualLaw,
    JointLaw,
    Law,
    Observations,
    Options,
    SharedLaw,
    fit_approximate,
    fit_bivariate,
    fit_individual,
    fit_joint,
)
from models.laws.backtest import Backtest, backtest
from models.laws.data_choice import choose_spec
from models.laws.data_fit import fit_data
from models.laws.fitting import reference_size
from models.laws.shared_noise import with_shared_noise

log = logging.getLogger(__name__)


def fit_table(config: Config, *, table: Path, output: Path) -> Manifest:
    """See `components.fit.run`."""
    if not table.exists():
        raise UserError(f"{table}: no such table; expected a CSV or Parquet file")
    if table.is_dir() and not (table / manifest.FILE_NAME).is_file():
        table = table / metrics_table.FILE_NAME
        if not table.is_file():
            raise UserError(
                f"{table.parent}: a folder without {metrics_table.FILE_NAME}; expected "
                "a CSV or Parquet file, or the folder that evaluate made"
            )
    return manifest.complete(
        "fit",
        output,
        config=config,
        inputs={"table": table},
        make=lambda folder: _make(config, table, folder),
    )


def _make(config: Config, source: Path, folder: Path) -> Mapping[str, Any]:
    read: list[str] = []
    lines = table.read(source, config.metric, config.columns, read)
    extrapolated, corrected = convergence.extrapolate(lines, config)
    runs = sort_rows([*lines, *extrapolated], config, str(source))
    options = _options(runs, config)
    laws, left_out = fit_laws(runs, config, options, str(source))
    backtests = _backtests(runs, options) if config.choose_sharing else {}
    shared = [
        *_fit_shared(runs, backtests, options),
        *(_fit_data(runs, options) if "data" in config.laws else ()),
    ]
    qualities, without = quality.fit_qualities(_not_held_out(lines, config))
    notes = [
        *read,
        *corrected,
        *convergence.unconverged(lines),
        *left_out,
        *_backtest_notes(backtests),
        *without,
    ]
    for note in notes:
        log.warning("fit: %s", note)
    held_out_runs = len(runs.held_out) if runs.held_out is not None else 0
    provenance = Provenance(
        runs=len(runs.fitted),
        held_out=held_out_runs,
        notes=tuple(notes),
        capacity=config.capacity,
        uncertainty=config.uncertainty,
        seed=config.seed,
        backtest=backtests,
    )
    content = LawFile(_with_misfit((*laws, *shared), backtests), provenance)
    law_file.save(folder / law_file.FILE_NAME, content)
    if extrapolated:
        text = convergence.to_csv(extrapolated, config.metric)
        write_atomically(folder / convergence.FILE_NAME, text)
    if qualities:
        text = quality.to_csv(qualities)
        write_atomically(folder / quality.FILE_NAME, text)
    write_atomically(folder / "coefficients.csv", coefficients_csv(content.laws))
    points.save(folder / points.FILE_NAME, points.points_of(runs))
    compared = held_out.compare(content.known, runs)
    write_atomically(folder / held_out.FILE_NAME, held_out.to_csv(compared))
    text = report_text(content, compared)
    text = "\n".join(filter(None, [text, quality.quality_table(qualities)]))
    write_atomically(folder / "report.txt", text + "\n")
    text = summary_text(content, compared)
    write_atomically(folder / summary.FILE_NAME, text)
    return {
        "laws": len(content.laws),
        "runs": len(runs.fitted),
        "held_out": held_out_runs,
        "warnings": sum(len(law.warnings) for law in content.laws) + len(notes),
    }


def _not_held_out(lines: list[table.Line], config: Config) -> list[table.Line]:
    """Rows of the sizes that the fit may see."""
    return [line for line in lines if line["size"] not in config.held_out.sizes]


def _options(runs: Runs, config: Config) -> Options:
    return Options(
        reference=reference_size(runs.fitted, Options()),
        robust_scale=config.robust_scale,
        draws=config.draws,
        uncertainty=config.uncertainty,
        seed=config.seed,
        fixed=config.fixed,
        single_size=config.single_size,
    )


def _backtests(runs: Runs, options: Options) -> dict[str, Backtest]:
    """Which kind of law to believe, for each test set where that can be judged."""
    groups: dict[str, list[Observations]] = {}
    for _, test_set, group in runs.fitted.by_task():
        groups.setdefault(test_set, []).append(group)
    found = {
        name: backtest(parts, options, _curves_of(runs, parts))
        for name, parts in groups.items()
    }
    return {name: one for name, one in found.items() if one is not None}


def _fit_shared(
    runs: Runs, backtests: Mapping[str, Backtest], options: Options
) -> list[Law]:
    """The laws that share the exponent alone, where that predicts best."""
    return [
        fit_joint(group, options.without_draws(), SharedLaw)
        for _, test_set, group in runs.fitted.by_task()
        if test_set in backtests and backtests[test_set].chosen == SharedLaw.kind
    ]


def _with_misfit(
    laws: Sequence[Law], backtests: Mapping[str, Backtest]
) -> tuple[Law, ...]:
    """The laws, each with how wrong its kind was on a size that it had not seen."""
    return tuple(
        dataclasses.replace(law, misfit=backtests[law.test_set].misfit(law.kind))
        if law.test_set in backtests
        else law
        for law in laws
    )


def _curves_of(runs: Runs, groups: Sequence[Observations]) -> list[Observations] | None:
    """The learning curves of the same tasks and test sets, if all have them."""
    if runs.curves is None:
        return None
    known = {(task, name): part for task, name, part in runs.curves.by_task()}
    found = [known.get((str(g.task[0]), str(g.test_set[0]))) for g in groups]
    complete = [part for part in found if part is not None]
    return complete if len(complete) == len(groups) else None


def _fit_data(runs: Runs, options: Options) -> list[Law]:
    """The laws of size, data and mixture, where the table has amounts of data."""
    if runs.curves is None:
        return []
    test_sets: dict[tuple[str, str], list[Observations]] = {}
    for _, test_set, rows in runs.curves.by_task():
        for part in rows.by_group():
            group = str(part.group[0])
            test_sets.setdefault((test_set, group), []).append(part.take(part.p > 0))
    laws: list[Law] = []
    for parts in test_sets.values():
        spec = choose_spec(parts)
        if spec is not None:
            laws += [fit_data(part, spec, options) for part in parts]
    return laws


def _backtest_notes(backtests: Mapping[str, Backtest]) -> list[str]:
    """What the back-tests found against the laws, sentences."""
    notes = []
    for test_set, one in backtests.items():
        if one.beaten_by_persistence:
            notes.append(
                f"{test_set}: no law predicts the largest size better than the loss of "
                "the next smaller size does; the sizes are too few or too alike"
            )
        if one.rejects_equation_7:
            notes.append(
                f"{test_set}: the back-test rejects one alpha and irreducible loss for "
                "all weightings (Fernandes et al. 2023, eq. 7); the "
                f"{one.chosen} law predicts best"
            )
    return notes


def fit_laws(
    runs: Runs, config: Config, options: Options, where: str
) -> tuple[list[Law], list[str]]:
    """Fits every kind of law to every task, test set and group.

    Args:
      runs: The rows.
      config: Which laws.
      options: How they are fitted.
      where: The table's name, for messages.

    Returns:
      The laws, and notes about what was left out.

    Raises:
      UserError: No law could be fitted.
    """
    laws: list[Law] = []
    refusals: list[str] = []
    for _, _, rows in runs.fitted.by_task():
        for kind in config.laws:
            if kind == "data":
                continue  # it is fitted on learning curves
            found, refused = _fit_kind(kind, rows, config, options)
            laws += found
            refusals += refused
    if not laws:
        sizes = np.unique(runs.fitted.n)
        if len(sizes) == 1:
            raise UserError(
                f"{where}: column n: {sizes[0]:g} in every row; expected 3 or more "
                "model sizes, a fixed alpha (--fix), or --single-size for a law of the "
                "weights alone"
            )
        raise UserError(f"{where}: {refusals[0]}")
    _check_fixed(laws, config)
    return _correlated(laws, runs.fitted), [*runs.notes, *refusals]


def _correlated(laws: list[Law], runs: Observations) -> list[Law]:
    """The laws with what the tasks of one trial share."""
    found = list(laws)
    places: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for k, law in enumerate(laws):
        if isinstance(law, ApproximateLaw):
            places.setdefault((law.test_set, law.groups), []).append(k)
    for which in places.values():
        together = with_shared_noise([laws[k] for k in which], runs)
        for k, law in zip(which, together, strict=True):
            found[k] = law
    return found


def _check_fixed(laws: list[Law], config: Config) -> None:
    """Raises UserError for a given coefficient that no law has."""
    known = dict.fromkeys(
        name for law in laws for whole in law.fixed for name in (whole, stem(whole))
    )
    for name in config.fixed:
        if name not in known:
            names = dict.fromkeys(stem(name) for law in laws for name in law.parameters)
            raise UserError(
                f"fixed: none of these laws has a coefficient {name}; they have "
                f"{', '.join(names)}"
            )


def stem(name: str) -> str:
    """``beta[0.3]`` -> ``beta``."""
    return name.partition("[")[0]


def _fit_kind(
    kind: str, rows: Observations, config: Config, options: Options
) -> tuple[list[Law], list[str]]:
    """The laws of one kind, and why there are none where there are none."""
    if kind == IndividualLaw.kind:
        laws, refused = fit_individual(rows, options)
        return list(laws), refused
    parts = [rows]
    if kind == ApproximateLaw.kind:
        parts = rows.by_group()
    elif kind == BivariateLaw.kind:
        parts = rows.by_weighting()
    found, refusals = [], []
    for part in parts:
        try:
            found.append(_fit_one(kind, part, config, options))
        except UserError as error:
            refusals.append(str(error))
    return found, refusals


def _fit_one(kind: str, rows: Observations, config: Config, options: Options) -> Law:
    if kind == JointLaw.kind:
        return fit_joint(rows, options.without_draws())
    if kind == BivariateLaw.kind:
        return fit_bivariate(rows, options.without_draws())
    return fit_approximate(rows, config.capacity, options)


def coefficients_csv(laws: Sequence[Law]) -> str:
    """Every coefficient of every law with its error and interval, one a line."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(
        "kind,task,test_set,metric,form,p,name,value,standard_error,low,high".split(",")
    )
    for law in laws:
        p = law.weightings[0].label if len(law.weightings) == 1 else ""
        head = [law.kind, law.task, law.test_set, law.metric, law.form, p]
        for name, one in law.coefficients().items():
            cells = [held_out.cell(number) for number in dataclasses.astuple(one)]
            writer.writerow([*head, name, *cells])
    return buffer.getvalue()
