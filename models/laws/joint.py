"""One law for all weightings of a task: [M] eq. 7, and lesser degrees of sharing."""

from __future__ import annotations

from typing import Literal

import numpy as np

from models.errors import UserError
from models.laws import grouped
from models.laws.fitting import Options, conclude, reference_size, target
from models.laws.law import Law
from models.laws.observations import Observations, Weighting

Sharing = Literal["alpha+irreducible_loss", "alpha"]
EQUATION_7: Sharing = "alpha+irreducible_loss"


def fit_joint(
    runs: Observations,
    options: Options | None = None,
    sharing: Sharing = EQUATION_7,
) -> Law:
    """``L_i = beta_{p,i} x**-alpha_i + irreducible_loss_i``, [M] eq. 7.

    Args:
      runs: Runs of one task and one test set, of any number of weightings.
      options: How to fit.
      sharing: ``alpha`` gives every weighting its own irreducible loss too; such a
        law's kind is ``shared``, not ``joint``.

    Returns:
      The law, with one ``beta[LABEL]`` for each weighting.

    Raises:
      UserError: Too few sizes for what is shared.
    """
    options = options or Options()
    weightings, index = runs.weightings()
    check_sizes("joint", runs, options)
    floors = ["irreducible_loss"]
    if sharing == "alpha":
        floors = _each("irreducible_loss", weightings)
    names = ("alpha", *_each("beta", weightings), *floors)
    x = runs.n / reference_size(runs, options)
    form = grouped.grouped_form(x, index, names)
    return conclude(
        "joint" if sharing == EQUATION_7 else "shared",
        sharing,
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


def _each(stem: str, weightings: tuple[Weighting, ...]) -> list[str]:
    return [f"{stem}[{weighting.label}]" for weighting in weightings]
