"""Noise that the tasks of one trial share: a lucky seed is lucky for all of them.

Laws of different tasks are fitted apart, but their errors are not independent where
the residuals of one trial are correlated. What is computed from several laws (weights,
gains) needs the covariance between their coefficients.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from models.laws.law import Law
from models.laws.observations import Observations
from models.laws.query import Query
from models.laws.solver import Array

_FEWEST = 6  # trials with both tasks: fewer do not tell a correlation


@dataclasses.dataclass(frozen=True, eq=False)
class _Fitted:
    """A law on its own runs: gradients and residuals over each run's noise."""

    law: Law
    gradient: Array
    residuals: Array
    names: list[object]


def with_shared_noise(laws: Sequence[Law], runs: Observations) -> list[Law]:
    """The laws with the covariance between them.

    With residuals of correlation rho between two tasks of one trial, the coefficients'
    covariance is ``rho V_a J_a' J_b V_b / (s_a s_b)``, where J has one row a trial, V
    are the laws' covariances and s their residual standard deviations.

    Args:
      laws: Approximate laws of one test set, one a task.
      runs: The rows that they were fitted on, and others.

    Returns:
      The laws in the same order; as they were where no trial has two of the tasks.
    """
    usable = [law for law in laws if law.dof > 0 and law.residual_sd > 0]
    fitted = {law.task: _on_its_runs(law, runs) for law in usable}
    found = []
    for law in laws:
        shared = {
            task: cross
            for task, other in fitted.items()
            if law.task in fitted and task != law.task
            for cross in _cross(fitted[law.task], other)
        }
        found.append(dataclasses.replace(law, shared_noise=shared))
    return found


def _on_its_runs(law: Law, runs: Observations) -> _Fitted:
    own = runs.take(
        (runs.task == law.task)
        & (runs.test_set == law.test_set)
        & np.isin(runs.group, law.groups)
    )
    weightings, index = own.weightings
    ratio = np.array([law.noise.get(one.label, 1.0) for one in weightings])[index]
    known = not np.isnan(own.shares).any()
    mixture = dict(zip(own.tasks, own.shares.T, strict=True)) if known else own.p
    query = Query(own.n, mixture)
    keys = np.column_stack([own.n, own.seed, np.nan_to_num(own.shares, nan=-1.0)])
    names = zip(own.trial.tolist(), own.group.tolist(), keys.round(9), strict=True)
    return _Fitted(
        law=law,
        gradient=law.gradient(query) / ratio[:, None],
        residuals=(own.value - law.predict(query)) / ratio,
        names=[(trial, (group, *key)) for trial, group, key in names],
    )


def _cross(first: _Fitted, second: _Fitted) -> list[Array]:
    """Covariance of two laws' coefficients; empty where it cannot be told."""
    pairs = _pairs(first.names, second.names, 0) or _pairs(first.names, second.names, 1)
    if len(pairs) < _FEWEST:
        return []
    mine, other = np.array(pairs).T
    a, b = first.residuals[mine], second.residuals[other]
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    if size == 0:
        return []
    rho = float(a @ b) / size
    between = first.gradient[mine].T @ second.gradient[other]
    scale = rho / (first.law.residual_sd * second.law.residual_sd)
    return [scale * first.law.covariance @ between @ second.law.covariance]


def _pairs(first: list, second: list, part: int) -> list[tuple[int, int]]:
    """Rows of the same trial: by its name, or else by size, mixture and seed."""
    places = {name[part]: row for row, name in enumerate(second)}
    return [
        (row, places[name[part]])
        for row, name in enumerate(first)
        if name[part] in places
    ]
