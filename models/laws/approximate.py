"""The approximate joint law: any mixture at any size, [M] eq. 11."""

from __future__ import annotations

import dataclasses

import numpy as np

from models.errors import UserError
from models.laws import capacity_law
from models.laws.capacity import Capacity, capacity
from models.laws.capacity_law import CapacityLaw
from models.laws.fitting import Options, conclude, reference_size, target
from models.laws.joint import check_sizes
from models.laws.law import Law
from models.laws.observations import Observations

AUTO = ("linear", "flexible")


def fit_approximate(
    runs: Observations, form: str = "auto", options: Options | None = None
) -> Law:
    """``L_i = beta (f_i(p) x)**-alpha_i + irreducible_loss_i``, [M] eq. 11.

    Args:
      runs: Runs of one task and one test set.
      form: Capacity function: ``flexible`` (eq. 12), ``linear`` (eq. 13) or
        ``auto``: the one with the lower AICc, and the simpler one on a tie.
      options: How to fit.

    Returns:
      The law; its ``form`` says which capacity function it has.

    Raises:
      UserError: Too few sizes or weightings.
    """
    options = options or Options()
    check_sizes("approximate", runs, options)
    if form != "auto":
        return _fit(runs, form, options)
    without_draws = dataclasses.replace(options, draws=0)
    tried, refused = {}, []
    for label in AUTO:
        try:
            tried[label] = _fit(runs, label, without_draws)
        except UserError as error:
            refused.append(error)
    if not tried:
        raise refused[0]
    return _fit(runs, _simplest(tried), options)


def _fit(runs: Observations, label: str, options: Options) -> Law:
    weightings, _ = runs.weightings()
    chosen = capacity(label, runs.tasks, _own(runs))
    _check_weightings(runs, chosen, options)
    x = runs.n / reference_size(runs, options)
    bound = CapacityLaw(x, runs.p, runs.shares, chosen)
    return conclude(
        "approximate",
        label,
        bound,
        capacity_law.starts(bound, target(runs)),
        runs,
        weightings,
        options,
    )


def _simplest(tried: dict[str, Law]) -> str:
    """The lowest AICc; a more flexible form must win by 2 to be taken."""
    best = next(iter(tried))
    for label, law in tried.items():
        new, old = law.statistics["aicc"], tried[best].statistics["aicc"]
        if new is not None and (old is None or new < old - 2.0):
            best = label
    return best


def _own(runs: Observations) -> int:
    task = str(runs.task[0])
    return runs.tasks.index(task) if task in runs.tasks else -1


def _check_weightings(runs: Observations, chosen: Capacity, options: Options) -> None:
    """Refuses a capacity function with more coefficients than weights tell."""
    interior = np.unique(runs.p[(runs.p > 0) & (runs.p < 1)])
    needed = len(set(chosen.names) - set(options.fixed))
    if len(interior) < needed:
        raise UserError(
            f"fit approximate {runs.task[0]}/{runs.test_set[0]}: {len(interior)} "
            f"weights between 0 and 1 for the {needed} coefficients of the "
            f"{chosen.label} capacity function; train more mixtures, take a simpler "
            "function or fix a coefficient"
        )
