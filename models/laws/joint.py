"""One law for all weightings of a task: [M] eq. 7."""

from __future__ import annotations

import numpy as np

from models.errors import UserError
from models.laws import grouped
from models.laws.fitting import Options, conclude, reference_size, target
from models.laws.law import Law, grouped_form
from models.laws.observations import Observations


def fit_joint(runs: Observations, options: Options | None = None) -> Law:
    """``L_i = beta_{p,i} x**-alpha_i + irreducible_loss_i``, [M] eq. 7.

    Args:
      runs: Runs of one task and one test set, of any number of weightings.
      options: How to fit.

    Returns:
      The law, with one ``beta[LABEL]`` for each weighting.

    Raises:
      UserError: Too few sizes for an exponent and an irreducible loss.
    """
    options = options or Options()
    weightings, index = runs.weightings()
    check_sizes("joint", runs, options)
    names = ("alpha", *_betas(weightings), "irreducible_loss")
    x = runs.n / reference_size(runs, options)
    form = grouped_form(x, index, names, len(runs))
    return conclude(
        "joint",
        "alpha+irreducible_loss",
        form,
        grouped.starts(form, target(runs)),
        runs,
        weightings,
        options,
    )


def check_sizes(kind: str, runs: Observations, options: Options) -> None:
    """Raises UserError unless the sizes can tell what is shared."""
    sizes = len(np.unique(runs.n))
    needed = 3 - len({"alpha", "irreducible_loss"} & set(options.fixed))
    if sizes < needed:
        raise UserError(
            f"fit {kind} {runs.task[0]}/{runs.test_set[0]}: {sizes} model "
            f"size{'s' * (sizes > 1)}, needs {needed}; train more sizes or fix alpha "
            "or irreducible_loss"
        )


def _betas(weightings: tuple) -> list[str]:
    return [f"beta[{weighting.label}]" for weighting in weightings]
