"""Power laws of size with a curve for each weighting, and what the curves share.

``L = beta x**-alpha + irreducible_loss`` for one weighting (Fernandes et al. 2023,
eq. 3 and 6), for all of them with one alpha and irreducible loss (eq. 7), or with
one alpha only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, TypeVar

import numpy as np

from models.errors import UserError
from models.laws import grouped
from models.laws.fitting import (
    Options,
    bounded,
    check_sizes,
    conclude,
    reference_size,
    robust_scale,
    target,
)
from models.laws.grouped import GroupedPowerLaw
from models.laws.law import Law
from models.laws.observations import Observations, Weighting
from models.laws.query import Points
from models.laws.solver import Array, best_of_each

_NAMED = 5


@dataclasses.dataclass(frozen=True, eq=False)
class PowerLaw(Law):
    """A power law that knows only the weightings it was fitted on.

    ``own`` names the coefficients of which every weighting has its own; the others
    are shared by all of them.
    """

    own: ClassVar[tuple[str, ...]] = ()

    def _form(self, points: Points) -> GroupedPowerLaw:
        x = points.n / self.reference["n"]
        return grouped.grouped_form(
            x, self._known(points), _labels(self.weightings), self.own
        )


@dataclasses.dataclass(frozen=True, eq=False)
class IndividualLaw(PowerLaw):
    """The law of one weighting alone."""

    kind: ClassVar[str] = "individual"
    form: ClassVar[str] = "none"
    equation: ClassVar[str] = "L = beta (n/n0)^-alpha + Linf   [M] eq. 6"


@dataclasses.dataclass(frozen=True, eq=False)
class SharedLaw(PowerLaw):
    """One exponent for all weightings; each has its beta and irreducible loss."""

    kind: ClassVar[str] = "shared"
    form: ClassVar[str] = "alpha"
    equation: ClassVar[str] = "L = beta_p (n/n0)^-alpha + Linf_p"
    own: ClassVar[tuple[str, ...]] = ("beta", "irreducible_loss")


@dataclasses.dataclass(frozen=True, eq=False)
class JointLaw(PowerLaw):
    """One exponent and irreducible loss for all weightings; each has its beta."""

    kind: ClassVar[str] = "joint"
    form: ClassVar[str] = "alpha+irreducible_loss"
    equation: ClassVar[str] = "L = beta_p (n/n0)^-alpha + Linf   [M] eq. 7"
    own: ClassVar[tuple[str, ...]] = ("beta",)

    def _log_fraction(self, points: Points) -> tuple[Array, Array]:
        """``f = (beta_1 / beta_p)**(1 / alpha)``, Fernandes et al. 2023, eq. 10."""
        names = list(self.parameters)
        index = self._known(points)
        betas = np.array([names.index(self._beta(k)) for k in index])
        groups = {self.weightings[k].group for k in index.tolist()}
        whole = [
            k for k, w in enumerate(self.weightings) if w.p == 1 and {w.group} == groups
        ]
        if not whole:
            raise UserError(
                f"{self.name}: the effective fraction compares with p = 1, which was "
                "not trained; use the approximate law"
            )
        one = names.index(self._beta(whole[0]))
        theta, alpha = np.maximum(self.theta, 1e-12), self.parameters["alpha"]
        log_f = (np.log(theta[one]) - np.log(theta[betas])) / alpha
        jacobian = np.zeros((len(index), len(theta)))
        rows = np.arange(len(index))
        jacobian[rows, names.index("alpha")] = -log_f / alpha
        jacobian[rows, betas] -= 1.0 / (alpha * theta[betas])
        jacobian[rows, one] += 1.0 / (alpha * theta[one])
        return log_f, jacobian

    def _beta(self, weighting: int) -> str:
        return f"beta[{self.weightings[weighting].label}]"


Kind = TypeVar("Kind", bound=PowerLaw)


def fit_univariate(runs: Observations, options: Options | None = None) -> IndividualLaw:
    """``L = beta x**-alpha + irreducible_loss``, Fernandes et al. 2023, eq. 3.

    Args:
      runs: Runs of one task, one test set and one weighting.
      options: How to fit.

    Raises:
      UserError: Fewer sizes than coefficients.
    """
    options = options or Options()
    _check_alone(runs, options)
    return _fit(IndividualLaw, runs, options)


def fit_individual(
    runs: Observations, options: Options | None = None
) -> tuple[list[IndividualLaw], list[str]]:
    """One law a weighting, Fernandes et al. 2023, eq. 6.

    ``L_i = beta_{p,i} x**-alpha_{p,i} + irreducible_loss_{p,i}``

    Args:
      runs: Runs of one task and one test set.
      options: How to fit.

    Returns:
      One law a weighting, by p, and a sentence about the weightings that have too
      few sizes for one.
    """
    # One law a weighting is looked at, not propagated.
    options = (options or Options()).without_draws()
    weightings, _ = runs.weightings
    parts, refused = [], {}
    for weighting, rows in zip(weightings, runs.by_weighting(), strict=True):
        try:
            _check_alone(rows, options)
        except UserError as error:
            refused[weighting.label] = str(error)
        else:
            parts.append(rows)
    laws = _fit_together(parts, options)
    if len(refused) < 2:
        return laws, list(refused.values())
    shown = "; ".join(list(refused)[:_NAMED]) + (
        "; .." if len(refused) > _NAMED else ""
    )
    return laws, [
        f"fit individual {runs.task[0]}/{runs.test_set[0]}: {len(refused)} of "
        f"{len(weightings)} weightings have too few model sizes for a law of their own "
        f"(p = {shown}); the first: {next(iter(refused.values()))}"
    ]


def _check_alone(runs: Observations, options: Options) -> None:
    """Raises UserError unless one weighting's sizes are enough for a law."""
    sizes = len(np.unique(runs.n))
    needed = 3 - len({"alpha", "beta", "irreducible_loss"} & set(options.fixed))
    if sizes < needed:
        raise UserError(
            f"fit individual {runs.task[0]}/{runs.test_set[0]}: p = "
            f"{runs.weightings[0][0].label} has {sizes} model size{'s' * (sizes > 1)}, "
            f"needs {needed}; runs: {', '.join(dict.fromkeys(runs.trial.tolist()))}"
        )


def _fit_together(
    parts: Sequence[Observations], options: Options
) -> list[IndividualLaw]:
    """One law for each part; those with the same sizes are fitted in one batch."""
    alike: dict[bytes, list[int]] = {}
    for k, rows in enumerate(parts):
        alike.setdefault(rows.n.tobytes(), []).append(k)
    laws: dict[int, IndividualLaw] = {}
    for places in alike.values():
        form = _alone(parts[places[0]], options)
        tables = [target(parts[k]) for k in places]
        found = best_of_each(
            bounded(form, options, "fit individual")[0],
            np.array(tables),
            [grouped.starts(form, y) for y in tables],
            scales=[robust_scale(y, options) for y in tables],
        )
        for k, best in zip(places, found, strict=True):
            start = best.theta[None]
            laws[k] = conclude(IndividualLaw, form, start, parts[k], options, best)
    return [laws[k] for k in range(len(parts))]


def _alone(runs: Observations, options: Options) -> GroupedPowerLaw:
    return grouped.grouped_form(runs.n / reference_size(runs, options))


def fit_joint(
    runs: Observations,
    options: Options | None = None,
    law: type[Kind] = JointLaw,
) -> Kind:
    """One law for all weightings: Fernandes et al. 2023, eq. 7, or with less shared.

    Args:
      runs: Runs of one task and one test set, of any number of weightings.
      options: How to fit.
      law: `JointLaw`, or `SharedLaw` for one exponent and nothing else in common.

    Returns:
      The law, with one ``beta[LABEL]`` for each weighting.

    Raises:
      UserError: Too few sizes for what is shared.
    """
    options = options or Options()
    check_sizes("joint", runs, options)
    return _fit(law, runs, options)


def _fit(law: type[Kind], runs: Observations, options: Options) -> Kind:
    weightings, index = runs.weightings
    x = runs.n / reference_size(runs, options)
    form = grouped.grouped_form(x, index, _labels(weightings), law.own)
    starts = grouped.starts(form, target(runs))
    return conclude(law, form, starts, runs, options)


def _labels(weightings: tuple[Weighting, ...]) -> tuple[str, ...]:
    return tuple(weighting.label for weighting in weightings)
