"""One law a weighting: [M] eq. 3 and 6."""

from __future__ import annotations

import dataclasses

import numpy as np

from models.errors import UserError
from models.laws import grouped
from models.laws.fitting import Options, conclude, reference_size, target
from models.laws.law import Law
from models.laws.observations import Observations

_NAMED = 5
_NAMES = ("alpha", "beta", "irreducible_loss")


def fit_univariate(runs: Observations, options: Options | None = None) -> Law:
    """``L = beta x**-alpha + irreducible_loss``, [M] eq. 3.

    Args:
      runs: Runs of one task, one test set and one weighting.
      options: How to fit.

    Returns:
      The law, of kind ``individual``.

    Raises:
      UserError: Fewer sizes than coefficients.
    """
    options = options or Options()
    weightings, index = runs.weightings()
    sizes = len(np.unique(runs.n))
    needed = 3 - len(set(_NAMES) & set(options.fixed))
    if sizes < needed:
        raise UserError(
            f"fit individual {runs.task[0]}/{runs.test_set[0]}: p = "
            f"{weightings[0].label} has {sizes} model size{'s' * (sizes > 1)}, needs "
            f"{needed}; runs: {', '.join(dict.fromkeys(runs.trial.tolist()))}"
        )
    x = runs.n / reference_size(runs, options)
    form = grouped.grouped_form(x, index, _NAMES)
    return conclude(
        "individual",
        "none",
        form,
        grouped.starts(form, target(runs)),
        runs,
        weightings,
        options,
    )


def fit_individual(
    runs: Observations, options: Options | None = None
) -> tuple[list[Law], list[str]]:
    """``L_i = beta_{p,i} x**-alpha_{p,i} + irreducible_loss_{p,i}``, [M] eq. 6.

    Args:
      runs: Runs of one task and one test set.
      options: How to fit.

    Returns:
      One law a weighting, by p, and a sentence about the weightings that have too
      few sizes for one.
    """
    # One law a weighting is looked at, not propagated: no draws.
    options = dataclasses.replace(options or Options(), draws=0)
    weightings, index = runs.weightings()
    laws, left_out = [], []
    for k in range(len(weightings)):
        try:
            laws.append(fit_univariate(runs.take(index == k), options))
        except UserError as error:
            left_out.append((weightings[k].label, str(error)))
    if len(left_out) < 2:
        return laws, [said for _, said in left_out]
    labels = [label for label, _ in left_out]
    shown = "; ".join(labels[:_NAMED]) + ("; .." if len(labels) > _NAMED else "")
    return laws, [
        f"fit individual {runs.task[0]}/{runs.test_set[0]}: {len(labels)} of "
        f"{len(weightings)} weightings have too few model sizes for a law of their own "
        f"(p = {shown}); the first: {left_out[0][1]}"
    ]
