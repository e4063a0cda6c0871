"""The runs that a table already holds, and the laws they give: for planning more."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from components.fit import table
from components.fit.config import Config
from components.fit.runs import sort_rows
from models.errors import UserError
from models.laws.approximate import fit_approximate
from models.laws.choice import group_named
from models.laws.fitting import Options
from models.laws.law import Law
from models.laws.observations import Observations
from models.laws.solver import Array

_SAME = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class DoneRuns:
    """Trained runs, one an entry.

    Attributes:
      where: The table's name, for messages.
      tasks: The tasks that their mixtures are over.
      names: Trial of each, [runs].
      n: Size of each, [runs].
      shares: Mixture of each, [runs, tasks].
      seeds: Seed of each, [runs].
      laws: Approximate laws that they give, by task; a task with too few runs for a
        law has none.
    """

    where: str
    tasks: tuple[str, ...]
    names: tuple[str, ...]
    n: Array
    shares: Array
    seeds: Array
    laws: Mapping[str, Law]

    def find(self, n: float, shares: Sequence[float], seed: int) -> int | None:
        """The run of this size, mixture and seed."""
        same = np.abs(self.n / n - 1.0) < _SAME
        same &= (np.abs(self.shares - np.asarray(shares)) < _SAME).all(1)
        same &= self.seeds == seed
        return int(np.argmax(same)) if same.any() else None


def read_done(
    path: Path,
    tasks: Sequence[str] | None = None,
    without_sizes: Sequence[str] = (),
    by: Mapping[str, str] | None = None,
) -> DoneRuns:
    """Reads the runs of a table and fits what can be fitted.

    Args:
      path: CSV or Parquet file of runs, or the folder that ``evaluate`` made.
      tasks: The order of the tasks; that of the table when omitted.
      without_sizes: Names of sizes that the fit must not see.
      by: Column -> value of the group of runs, where there are several.

    Raises:
      UserError: The table cannot be read, has other tasks, or leaves a mixture open.
    """
    config = Config()
    lines = table.read(path, config.metric)
    lines = [line for line in lines if line["size"] not in without_sizes]
    if not lines:
        raise UserError(f"{path}: no row of a size that the fit may see")
    runs = sort_rows(lines, config, str(path)).fitted
    runs = _one_group(runs, by or {}, path)
    names = tuple(tasks or runs.tasks)
    unknown = [task for task in runs.tasks if task not in names]
    if unknown:
        raise UserError(
            f"{path}: its mixtures have {', '.join(unknown)}; expected the tasks "
            f"{', '.join(names)}"
        )
    shares = np.column_stack(
        [
            runs.shares[:, runs.tasks.index(task)]
            if task in runs.tasks
            else np.zeros(len(runs))
            for task in names
        ]
    )
    if np.isnan(shares).any():
        row = int(np.argmax(np.isnan(shares).any(1)))
        raise UserError(
            f"{path}: run {runs.trial[row]} does not tell its whole mixture; add a "
            "mixture column, for example en-de=0.3,en-fr=0.3,en-zh=0.4"
        )
    keys = np.column_stack([runs.n, runs.seed, shares]).round(9)
    _, first = np.unique(keys, axis=0, return_index=True)
    first = np.sort(first)
    return DoneRuns(
        where=str(path),
        tasks=names,
        names=tuple(runs.trial[first].tolist()),
        n=runs.n[first],
        shares=shares[first],
        seeds=runs.seed[first],
        laws=_laws(runs),
    )


def _one_group(runs: Observations, by: Mapping[str, str], path: Path) -> Observations:
    """The rows of the group that was named, or of the only one."""
    groups = [str(one.group[0]) for one in runs.by_group()]
    try:
        return runs.take(runs.group == group_named(groups, by))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _laws(runs: Observations) -> dict[str, Law]:
    """Laws of one test set: ``in_domain``, or else the first."""
    sets = list(dict.fromkeys(runs.test_set.tolist()))
    chosen = "in_domain" if "in_domain" in sets else sets[0]
    found = {}
    for task, test_set, group in runs.by_task():
        if test_set != chosen or task not in runs.tasks:
            continue
        try:
            law = fit_approximate(group, "auto", Options())
        except UserError:  # too few runs yet: a typical law stands in
            continue
        if law.dof > 0 and not any("bound" in warning for warning in law.warnings):
            found[task] = law
    return found
