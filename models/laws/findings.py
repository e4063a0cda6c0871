"""Tests of what the papers find, on fitted laws: one small function for a question.

Fernandes et al. 2023: exponents and irreducible losses do not depend on a task's weight
(Fig. 4), so one joint law is enough (Fig. 5); capacity curves of cohorts and test sets
are alike (Fig. 6, 10, 15). Ghorbani et al. 2021: the decoder's exponent exceeds the
encoder's (Fig. 9). Noise is estimated from few runs, so every test is an F test.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from models.errors import UserError
from models.laws.approximate import ApproximateLaw
from models.laws.bivariate import BivariateLaw
from models.laws.law import Law
from models.laws.power import IndividualLaw, JointLaw
from models.laws.solver import Array
from models.laws.uncertainty import t_factor

LEVEL = 0.05
_RANK = 1e-8


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A hypothesis of equality, tested.

    Attributes:
      chi_square: Sum of squared deviations in standard errors.
      dof: How many of them are independent.
      error_dof: Degrees of freedom of the standard errors; infinite when they are
        known.
    """

    chi_square: float
    dof: int
    error_dof: float

    @property
    def p_value(self) -> float:
        """Probability of deviations as large when the hypothesis holds."""
        return float(fdtrc(self.dof, self.error_dof, self.chi_square / self.dof))

    @property
    def rejected(self) -> bool:
        """Whether the hypothesis is rejected at the 5 % level."""
        return self.p_value < LEVEL


@dataclasses.dataclass(frozen=True)
class Constancy:
    """Whether a coefficient is the same for every weighting.

    Attributes:
      outcome: The test.
      mean: The common value.
      largest: The largest deviation from it, in standard errors.
      at: The weight p with that deviation.
    """

    outcome: Outcome
    mean: float
    largest: float
    at: float


@dataclasses.dataclass(frozen=True)
class Difference:
    """One quantity less another.

    Attributes:
      outcome: The test of whether they are equal.
      first, second: Their values.
      low, high: 95 % interval of ``first - second``.
    """

    outcome: Outcome
    first: float
    second: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """The difference."""
        return self.first - self.second


@dataclasses.dataclass(frozen=True)
class CurveDifference:
    """Whether two capacity functions are the same curve.

    Attributes:
      outcome: The test, over all weights that both were fitted on.
      p: The weight where they differ most, in standard errors.
      first, second: The effective fractions there.
    """

    outcome: Outcome
    p: float
    first: float
    second: float


def constancy(laws: Sequence[IndividualLaw], name: str) -> Constancy | None:
    """Tests whether ``name`` is the same in the laws of all weightings of a task.

    The weightings are fitted to few runs each, so their standard errors are all based
    on the noise of all of them together.

    Returns:
      The test; None with fewer than two laws that determine the coefficient.
    """
    usable = [
        law
        for law in laws
        if law.dof > 0 and 0 < law.standard_errors.get(name, 0) < math.inf
    ]
    if len(usable) < 2:
        return None
    dof = np.array([law.dof for law in usable])
    noise = np.array([law.residual_sd for law in usable])
    pooled = math.sqrt(float(dof @ noise**2 / dof.sum()))
    if not pooled > 0:
        return None
    value = np.array([law.parameters[name] for law in usable])
    error = np.array([law.standard_errors[name] for law in usable]) * pooled / noise
    weight = error**-2.0
    mean = float(weight @ value / weight.sum())
    # A value deviates from a mean that it is part of.
    own = error * np.sqrt(np.maximum(1 - weight / weight.sum(), 1e-12))
    scores = (value - mean) / own
    k = int(np.argmax(np.abs(scores)))
    outcome = Outcome(
        float(weight @ (value - mean) ** 2), len(usable) - 1, float(dof.sum())
    )
    return Constancy(outcome, mean, float(scores[k]), usable[k].weightings[0].p)


def enough(joint: JointLaw, individual: Sequence[IndividualLaw]) -> Outcome | None:
    """Tests whether the joint law leaves no more than one law for each weighting does.

    Returns:
      The test; None unless both were fitted to the same runs, with runs to spare.
    """
    dof = sum(law.dof for law in individual)
    points = sum(law.statistics["n_points"] for law in individual)
    extra = sum(len(law.parameters) for law in individual) - len(joint.parameters)
    if points != joint.statistics["n_points"] or dof <= 0 or extra <= 0:
        return None
    left = sum(_squares(law) for law in individual)
    if not left > 0:
        return None
    return Outcome(max(0.0, _squares(joint) - left) / (left / dof), extra, float(dof))


def _squares(law: Law) -> float:
    return law.statistics["n_points"] * law.statistics["rmse"] ** 2


def compare_coefficient(first: Law, second: Law, name: str) -> Difference | None:
    """A coefficient of one law less that of another, fitted to other runs.

    Returns:
      The difference; None where one of them is not determined.
    """
    errors = [law.standard_errors.get(name, math.inf) for law in (first, second)]
    values = [law.parameters.get(name, math.nan) for law in (first, second)]
    variance = errors[0] ** 2 + errors[1] ** 2
    dof = _welch([error**2 for error in errors], [first.dof, second.dof])
    return _difference(values[0], values[1], variance, dof)


def compare_sides(law: BivariateLaw) -> Difference | None:
    """The decoder's exponent less the encoder's.

    Returns:
      The difference; None where the runs do not determine it.
    """
    names = list(law.parameters)
    contrast = np.zeros(len(names))
    contrast[names.index("alpha_dec")] = 1.0
    contrast[names.index("alpha_enc")] = -1.0
    variance = float(contrast @ law.covariance @ contrast)
    values = (law.parameters["alpha_dec"], law.parameters["alpha_enc"])
    return _difference(*values, variance, law.dof)


def _difference(
    first: float, second: float, variance: float, dof: float
) -> Difference | None:
    if not (0 < variance < math.inf and dof > 0 and math.isfinite(first - second)):
        return None
    value = first - second
    half = t_factor(1 - LEVEL, dof) * math.sqrt(variance)
    outcome = Outcome(value**2 / variance, 1, dof)
    return Difference(outcome, first, second, value - half, value + half)


def _welch(variances: Sequence[float], dofs: Sequence[float]) -> float:
    """Degrees of freedom of a sum of estimated variances (Welch-Satterthwaite)."""
    if min(dofs) <= 0 or not math.isfinite(sum(variances)):
        return 0.0
    terms = (v**2 / dof for v, dof in zip(variances, dofs, strict=True))
    return sum(variances) ** 2 / max(sum(terms), 1e-300)


def compare_fractions(
    first: ApproximateLaw, second: ApproximateLaw, weights: ArrayLike
) -> CurveDifference | None:
    """Tests whether two capacity functions are equal at some weights.

    Args:
      first, second: Laws that were fitted to other runs, whose capacity depends on the
        task's own weight alone.
      weights: Where they are compared, in (0, 1).

    Returns:
      The test, on the logarithm of f; None where one of them is not determined.
    """
    p = np.asarray(weights, float)
    logs, spread = [], np.zeros((len(p), len(p)))
    for law in (first, second):
        try:
            log_f, gradient = law.log_fraction(p)
        except UserError:  # f depends on the whole mixture
            return None
        logs.append(log_f)
        spread = spread + gradient @ law.covariance @ gradient.T
    difference = logs[0] - logs[1]
    usable = np.isfinite(difference).all() and np.isfinite(spread).all()
    if not usable or min(first.dof, second.dof) <= 0 or not np.diag(spread).max() > 0:
        return None
    chi_square, rank = _wald(difference, spread)
    outcome = Outcome(chi_square, rank, first.dof + second.dof)
    k = int(np.argmax(np.abs(difference) / np.sqrt(np.diag(spread))))
    shown = [float(np.exp(log_f[k])) for log_f in logs]
    return CurveDifference(outcome, float(p[k]), *shown)


def _wald(difference: Array, covariance: Array) -> tuple[float, int]:
    """Squared deviation in standard errors, in the directions that can vary."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > _RANK * values.max()
    along = vectors[:, kept].T @ difference
    return float((along**2 / values[kept]).sum()), int(kept.sum())


def curvature(losses: ArrayLike, values: ArrayLike) -> Outcome | None:
    """Tests whether values are a straight line of losses: no quadratic term.

    Returns:
      The test; None with fewer than five points or three different losses.
    """
    x, y = np.asarray(losses, float), np.asarray(values, float)
    if len(x) < 5 or len(np.unique(x)) < 4:
        return None
    x = (x - x.mean()) / x.std()
    design = np.vander(x, 3)
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    dof = len(x) - 3
    noise = float(((y - design @ coefficients) ** 2).sum()) / dof
    variance = noise * np.linalg.inv(design.T @ design)[0, 0]
    if not variance > 0:
        return None
    return Outcome(float(coefficients[0] ** 2 / variance), 1, dof)
