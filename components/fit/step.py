"""The work of ``fit``: rows in, laws and their report out."""

from __future__ import annotations

import csv
import dataclasses
import io
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts import manifest, metrics_table
from components.artifacts.manifest import Manifest, write_atomically
from components.fit import convergence, held_out, law_file, points, quality, table
from components.fit.config import Config
from components.fit.report import report_text
from components.fit.runs import Runs, sort_rows
from models.errors import UserError
from models.laws import fit_approximate, fit_individual, fit_joint
from models.laws.bivariate import fit_bivariate
from models.laws.fitting import Options, reference_size
from models.laws.law import Law
from models.laws.observations import Observations
from models.laws.shared_noise import with_shared_noise
from models.laws.sharing import Backtest, choose_sharing, fit_shared

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
    extrapolated, said = convergence.extrapolate(lines, config)
    runs = sort_rows([*lines, *extrapolated], config, str(source))
    options = _options(runs, config)
    laws, notes = fit_laws(runs, config, options, str(source))
    notes = [*read, *said, *convergence.unconverged(lines), *notes]
    backtests = _backtests(runs, options) if config.choose_sharing else {}
    for test_set, backtest in backtests.items():
        shared, said = _shared(runs, test_set, backtest, options)
        laws += shared
        notes += said
    qualities, said = quality.fit_qualities(_not_held_out(lines, config))
    notes += said
    for note in notes:
        log.warning("fit: %s", note)
    provenance = {
        "runs": len(runs.fitted),
        "held_out": len(runs.held_out) if runs.held_out is not None else 0,
        "notes": list(notes),
        "capacity": config.capacity,
        "uncertainty": config.uncertainty,
        "seed": config.seed,
        "backtest": {name: manifest.plain(one) for name, one in backtests.items()},
    }
    law_file.save(folder / law_file.FILE_NAME, laws, provenance)
    if extrapolated:
        text = convergence.to_csv(extrapolated, config.metric)
        write_atomically(folder / convergence.FILE_NAME, text)
    if qualities:
        text = quality.to_csv(qualities)
        write_atomically(folder / quality.FILE_NAME, text)
    write_atomically(folder / "coefficients.csv", coefficients_csv(laws))
    points.save(folder / points.FILE_NAME, points.points_of(runs))
    compared = held_out.compare(laws, runs)
    write_atomically(folder / held_out.FILE_NAME, held_out.to_csv(compared))
    text = report_text(laws, runs, notes, compared, backtests)
    text = "\n".join(filter(None, [text, quality.quality_table(qualities)]))
    write_atomically(folder / "report.txt", text + "\n")
    return {
        "laws": len(laws),
        "runs": len(runs.fitted),
        "held_out": provenance["held_out"],
        "warnings": sum(len(law.warnings) for law in laws) + len(notes),
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
    """How much is shared, by test set; those with too few sizes are left out."""
    groups: dict[str, list[Observations]] = {}
    for _, test_set, group in runs.fitted.groups():
        groups.setdefault(test_set, []).append(group)
    found = {name: choose_sharing(parts, options) for name, parts in groups.items()}
    return {name: one for name, one in found.items() if one is not None}


def _shared(
    runs: Runs, test_set: str, backtest: Backtest, options: Options
) -> tuple[list[Law], list[str]]:
    """The chosen laws where they are not fitted anyway, and what that means."""
    notes = []
    if backtest.beaten_by_persistence:
        notes.append(
            f"{test_set}: no law predicts the largest size better than repeating the "
            "next smaller one's loss does; the sizes are too few or too alike"
        )
    if not backtest.rejects_equation_7:
        return [], notes
    notes.append(
        f"{test_set}: the back-test rejects one alpha and irreducible loss for all "
        f"weightings ([M] eq. 7); what predicts best shares {backtest.chosen}"
    )
    laws = []
    for _, name, group in runs.fitted.groups():
        if name == test_set and backtest.chosen == "alpha":
            laws += fit_shared(group, "alpha", dataclasses.replace(options, draws=0))
    return laws, notes


def fit_laws(
    runs: Runs, config: Config, options: Options, where: str
) -> tuple[list[Law], list[str]]:
    """Fits every kind of law to every task and test set.

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
    for _, _, group in runs.fitted.groups():
        for kind in config.laws:
            found, refused = _fit_kind(kind, group, config, options)
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
    for test_set in dict.fromkeys(law.test_set for law in laws):
        which = [
            k
            for k, law in enumerate(laws)
            if (law.kind, law.test_set) == ("approximate", test_set)
        ]
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
    kind: str, group: Observations, config: Config, options: Options
) -> tuple[list[Law], list[str]]:
    """The laws of one kind, and why there are none where there are none."""
    try:
        if kind == "individual":
            return fit_individual(group, options)
        if kind == "joint":
            return [fit_joint(group, options)], []
        if kind == "bivariate":
            return _fit_shapes(group, options)
        return [fit_approximate(group, config.capacity, options)], []
    except UserError as error:
        return [], [str(error)]


def _fit_shapes(group: Observations, options: Options) -> tuple[list[Law], list[str]]:
    """One bivariate law a weighting."""
    weightings, index = group.weightings()
    laws, refused = [], []
    for k in range(len(weightings)):
        try:
            laws.append(fit_bivariate(group.take(index == k), options))
        except UserError as error:
            refused.append(str(error))
    return laws, refused


def coefficients_csv(laws: list[Law]) -> str:
    """Every coefficient of every law with its error and interval, one a line."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(
        "kind,task,test_set,metric,form,p,name,value,standard_error,low,high".split(",")
    )
    for law in laws:
        p = law.weightings[0].label if len(law.weightings) == 1 else ""
        head = [law.kind, law.task, law.test_set, law.metric, law.form, p]
        for name, value in law.parameters.items():
            error = law.standard_errors[name]
            low, high = law.coefficient_interval(name)
            cells = [held_out.cell(number) for number in (value, error, low, high)]
            writer.writerow([*head, name, *cells])
    return buffer.getvalue()
