"""Standard errors and intervals that hold with few model sizes."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from models.laws.solver import Array, Form, minimize, soft_l1

PERTURBATION = 0.01  # [M] fn. 5: one per cent of each measured value
_DRAW_TOLERANCE = 1e-5  # of a draw's cost: far below what the draw scatters by
_SINGULAR = 1e-13
_TOGETHER = 2**17  # numbers in the Jacobian of one batch of draws: about a cache


@dataclasses.dataclass(frozen=True)
class Spread:
    """How well a fit pins its parameters.

    Attributes:
      covariance: Of the parameters, [parameters, parameters].
      residual_sd: Standard deviation of one measurement around the law.
      dof: Degrees of freedom of ``residual_sd``.
      undetermined: Parameters on which the fitted values do not depend.
    """

    covariance: Array
    residual_sd: float
    dof: float
    undetermined: NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Coefficient:
    """One estimated coefficient.

    Attributes:
      value: The estimate.
      standard_error: Infinite where the runs do not determine it.
      low, high: Interval; what cannot be negative ends at 0.
    """

    value: float
    standard_error: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Misfit:
    """How far a kind of law is off beyond the sizes it has seen, from a back-test.

    Attributes:
      sd: Standard deviation of its errors that its own intervals do not explain.
      step: Logarithm of the left-out size over the largest one that was fitted.
      points: How many predictions that rests on.
    """

    sd: float = 0.0
    step: float = 1.0
    points: int = 0

    def at(self, n: Array, largest: float) -> Array:
        """The standard deviation at these sizes, [rows].

        0 within the fitted sizes, all of it from a quarter of the step on, and in
        proportion to the logarithm of the size beyond the step.
        """
        steps = np.maximum(np.log(n / largest), 0.0) / self.step
        return self.sd * np.maximum(np.minimum(4.0 * steps, 1.0), steps)


def t_factor(level: float, dof: float) -> float:
    """Half width of a central interval, in standard errors; inf without dof."""
    if dof <= 0:
        return float("inf")
    return float(stdtrit(dof, 0.5 + 0.5 * level))


def spread(
    form: Form,
    y: Array,
    theta: Array,
    *,
    scale: float,
    free: NDArray[np.bool_],
    weights: Array | None = None,
) -> Spread:
    """Covariance of a robust least-squares fit.

    The variance is Huber's for an M-estimate: for residuals well inside ``scale``
    it is the usual ``sum(r**2) / dof``, and outliers do not inflate it. A parameter
    at a bound counts as if it were inside: its neighbours are not surer for it.

    Args:
      form: The law on its rows.
      y: Measured values, [rows].
      theta: Fitted parameters, [parameters].
      scale: The soft_l1 scale of the fit.
      free: Which parameters were fitted, [parameters].
      weights: Weight of each row's squared residual, [rows]; 1 when omitted.

    Returns:
      The spread; NaN where there are no degrees of freedom.
    """
    values, jacobian = form.evaluate(theta[None])
    root = np.ones(len(y)) if weights is None else np.sqrt(weights)
    residuals, jacobian = (values[0] - y) * root, jacobian[0] * free * root[:, None]
    _, slope, curve = soft_l1(residuals, scale)
    dof = len(y) - int(free.sum())
    length = np.sqrt((jacobian**2).sum(0))
    moving = length > _SINGULAR * max(length.max(), 1.0)
    unit = np.where(moving, length, 1.0)
    eigenvalues, vectors = np.linalg.eigh((jacobian / unit).T @ (jacobian / unit))
    inverse = (vectors / np.maximum(eigenvalues, _SINGULAR)) @ vectors.T
    inverse *= np.outer(moving, moving) / np.outer(unit, unit)
    if dof <= 0:
        return Spread(inverse * np.nan, float("nan"), 0.0, free & ~moving)
    psi = slope * residuals
    variance = float((psi**2).sum()) / dof / float(curve.mean()) ** 2
    return Spread(variance * inverse, variance**0.5, float(dof), free & ~moving)


def delta_variance(jacobian: Array, covariance: Array) -> Array:
    """Variance of functions with these gradients, [..., parameters] -> [...]."""
    return np.einsum("...i,ij,...j->...", jacobian, covariance, jacobian)


def calibrated_draws(
    form: Form,
    theta: Array,
    *,
    residual_sd: float,
    dof: float,
    scale: float,
    draws: int,
    rng: np.random.Generator,
    weights: Array | None = None,
) -> Array:
    """Refits of tables drawn from the fitted law: a bootstrap with t tails.

    Each draw first draws the standard deviation of the noise from what ``dof``
    degrees of freedom leave open, then the table, then refits. Resampling the
    residuals instead would ignore both that and the residuals' own shrinkage.

    Returns:
      Parameters, [draws, parameters].
    """
    values, _ = form.evaluate(theta[None])
    noise_sd = residual_sd * np.sqrt(dof / rng.chisquare(dof, size=(draws, 1)))
    root = np.ones(values.shape[1]) if weights is None else np.sqrt(weights)
    tables = values + noise_sd / root * rng.standard_normal((draws, len(root)))
    return _refit(form, tables, theta, 1e3 * max(scale, residual_sd), weights)


def perturbation_draws(
    form: Form,
    y: Array,
    theta: Array,
    *,
    scale: float,
    draws: int,
    rng: np.random.Generator,
) -> Array:
    """[M] fn. 5: refits of the measured values moved by 1 % Gaussian noise.

    Returns:
      Parameters, [draws, parameters].
    """
    noise = PERTURBATION * np.abs(y) * rng.standard_normal((draws, len(y)))
    return _refit(form, y + noise, theta, scale)


def _refit(
    form: Form,
    tables: Array,
    theta: Array,
    scale: float,
    weights: Array | None = None,
) -> Array:
    found = np.empty((len(tables), len(theta)))
    count = max(16, _TOGETHER // (tables.shape[1] * len(theta)))
    for first in range(0, len(tables), count):
        batch = tables[first : first + count]
        found[first : first + count] = minimize(
            form,
            batch,
            np.repeat(theta[None], len(batch), axis=0),
            scale=scale,
            weights=weights,
            max_iterations=40,
            tolerance=_DRAW_TOLERANCE,
        ).theta
    return found
