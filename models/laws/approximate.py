"""The approximate joint law: any mixture at any size, [M] eq. 11."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from models.errors import UserError
from models.laws import capacity_law
from models.laws.capacity import Capacity, capacity
from models.laws.capacity_law import CapacityLaw
from models.laws.fitting import (
    Options,
    conclude,
    reference_size,
    robust_scale,
    target,
)
from models.laws.joint import check_sizes
from models.laws.law import Law
from models.laws.observations import Observations
from models.laws.solver import Array, minimize

_FOLDS = 10
# Runs of one size tell next to nothing of the exponent, which then runs to any bound;
# none that was measured over sizes is larger than this.
_LARGEST_ALPHA = 1.0
_TIE = 1.05
_TOLERANCE = 1e-8  # of the cost: a fold's refit is judged, not kept


def fit_approximate(
    runs: Observations, form: str = "auto", options: Options | None = None
) -> Law:
    """``L_i = beta (f_i(p) x)**-alpha_i + irreducible_loss_i``, [M] eq. 11.

    Args:
      runs: Runs of one task and one test set.
      form: Capacity function: ``flexible`` (eq. 12), ``linear`` (eq. 13),
        ``transfer``, ``transfer+repetition``, or ``auto``: the one that predicts
        mixtures it has not seen best, and the simpler one on a tie.
      options: How to fit.

    Returns:
      The law; its ``form`` says which capacity function it has.

    Raises:
      UserError: Too few sizes or weightings.
    """
    options = options or Options()
    if not options.single_size:
        check_sizes("approximate", runs, options)
    if form != "auto":
        return _fit(runs, form, options)
    without_draws = dataclasses.replace(options, draws=0)
    tried, refused = {}, []
    for label in _candidates(runs):
        try:
            tried[label] = _fit(runs, label, without_draws)
        except UserError as error:
            refused.append(error)
    if not tried:
        raise refused[0]
    chosen = next(iter(tried)) if len(tried) == 1 else _best(runs, tried, options)
    if options.draws == 0:
        return tried[chosen]
    # Again for the draws alone, from where the search has already arrived.
    found = _fit(runs, chosen, options, start=tried[chosen].theta)
    return dataclasses.replace(found, warnings=tried[chosen].warnings)


def unseen_error(runs: Observations, law: Law, options: Options | None = None) -> float:
    """Root mean square error on weightings left out in turn.

    Args:
      runs: The rows the law was fitted on.
      law: An approximate law; each refit starts from it.
      options: How it was fitted.
    """
    options = options or Options()
    form, y, left_out = _bound(runs, law.form, options), target(runs), _folds(runs)
    theta = minimize(
        form,
        y,
        np.repeat(law.theta[None], len(left_out), axis=0),
        scale=robust_scale(y, options),
        weights=(~left_out).astype(float),
        max_iterations=60,
        tolerance=_TOLERANCE,
    ).theta
    errors = (form.evaluate(theta)[0] - y)[left_out]
    return math.sqrt(float(np.mean(errors**2)))


def _folds(runs: Observations) -> NDArray[np.bool_]:
    """Rows to leave out together, [folds, rows]: neighbours never share a fold."""
    weightings, index = runs.weightings()
    count = min(_FOLDS, len(weightings))
    return index % count == np.arange(count)[:, None]


def _best(runs: Observations, tried: dict[str, Law], options: Options) -> str:
    """The first form, from the simplest on, that is about as good as the best."""
    reference = dataclasses.replace(options, reference=reference_size(runs, options))
    errors = {label: unseen_error(runs, law, reference) for label, law in tried.items()}
    least = min(errors.values())
    by_size = sorted(tried, key=lambda label: len(tried[label].parameters))
    return next(label for label in by_size if errors[label] <= _TIE * least + 1e-12)


def _candidates(runs: Observations) -> tuple[str, ...]:
    """Capacity functions that these mixtures can tell apart."""
    if np.isnan(runs.shares).any() or len(runs.tasks) == 1:
        return ("linear", "flexible")
    if str(runs.task[0]) not in runs.tasks:
        return ("transfer",)
    if len(runs.tasks) == 2:
        return ("linear", "flexible", "transfer+repetition")
    return ("linear", "flexible", "transfer", "transfer+repetition")


def _bound(runs: Observations, label: str, options: Options) -> CapacityLaw:
    task = str(runs.task[0])
    own = runs.tasks.index(task) if task in runs.tasks else -1
    x = runs.n / reference_size(runs, options)
    form = CapacityLaw(x, runs.p, runs.shares, capacity(label, runs.tasks, own))
    if len(np.unique(runs.n)) > 1:
        return form
    return dataclasses.replace(form, largest_alpha=_LARGEST_ALPHA)


def _fit(
    runs: Observations, label: str, options: Options, start: Array | None = None
) -> Law:
    weightings, _ = runs.weightings()
    bound = _bound(runs, label, options)
    _check_weightings(runs, bound.capacity, options)
    return conclude(
        "approximate",
        label,
        bound,
        capacity_law.starts(bound, target(runs)) if start is None else start[None],
        runs,
        weightings,
        options,
    )


def _check_weightings(runs: Observations, chosen: Capacity, options: Options) -> None:
    """Refuses a capacity function with more coefficients than weights tell."""
    where = f"fit approximate {runs.task[0]}/{runs.test_set[0]}"
    needed = len(set(chosen.names) - set(options.fixed))
    if chosen.label.startswith("transfer"):
        if np.isnan(runs.shares).any():
            raise UserError(
                f"{where}: transfer between tasks needs the whole mixture of every "
                "run; add a mixture column"
            )
        told = len(runs.weightings()[0]) - 1
    else:
        told = len(np.unique(runs.p[(runs.p > 0) & (runs.p < 1)]))
    if told < needed:
        raise UserError(
            f"{where}: {told} weights for the {needed} coefficients of "
            f"the {chosen.label} capacity function; train more mixtures, take a "
            "simpler function or fix a coefficient"
        )
