"""Curves of one variable: learning curves, and quality against loss.

[M] App. G (``L(t) = a t**-b + c``), [N] eq. 13 (``BLEU = c_B L**-p_B``) and the line
of [M] Fig. 8 and 19.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from models.errors import UserError
from models.laws import grouped
from models.laws.solver import Array, Best, Form, best_of
from models.laws.uncertainty import Spread, delta_variance, spread, t_factor

_LEAST_SQUARES = 1e6  # a soft_l1 scale, in units of the data, that leaves squares


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """A fitted curve.

    Attributes:
      kind: ``learning``, ``power`` or ``linear``.
      parameters: Name -> estimate.
      covariance: In that order; NaN without degrees of freedom.
      residual_sd, dof: Of the points around the curve.
      r2: Share of the variance it explains; NaN when there is none.
      reference: What the variable is divided by.
    """

    kind: str
    parameters: Mapping[str, float]
    covariance: Array
    residual_sd: float
    dof: float
    r2: float
    reference: float

    def predict(self, x: ArrayLike) -> Array:
        """The curve's value, in the shape of ``x``."""
        return self._evaluate(x)[0].reshape(np.shape(x))

    def interval(self, x: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """Interval of the curve's value; infinite without degrees of freedom."""
        values, jacobian = self._evaluate(x)
        variance = np.nan_to_num(delta_variance(jacobian, self.covariance), nan=np.inf)
        half = t_factor(level, self.dof) * np.sqrt(variance)
        shape = np.shape(x)
        return (values - half).reshape(shape), (values + half).reshape(shape)

    def _evaluate(self, x: ArrayLike) -> tuple[Array, Array]:
        form = _FORMS[self.kind](np.asarray(x, float).ravel() / self.reference)
        theta = np.array(list(self.parameters.values()))
        values, jacobian = form.evaluate(theta[None])
        return values[0], jacobian[0]


@dataclasses.dataclass(frozen=True)
class _Power:
    """``c x**-p``."""

    x: Array
    names: tuple[str, ...] = ("c", "p")

    @property
    def lower(self) -> Array:
        return np.array([0.0, -50.0])

    @property
    def upper(self) -> Array:
        return np.array([np.inf, 50.0])

    def evaluate(self, theta: Array) -> tuple[Array, Array]:
        log_x = np.log(self.x)
        power = np.exp(-theta[:, [1]] * log_x)
        slopes = np.stack([power, -theta[:, [0]] * power * log_x], axis=2)
        return theta[:, [0]] * power, slopes


@dataclasses.dataclass(frozen=True)
class _Line:
    """``u + v x``."""

    x: Array
    names: tuple[str, ...] = ("u", "v")

    @property
    def lower(self) -> Array:
        return np.full(2, -np.inf)

    @property
    def upper(self) -> Array:
        return np.full(2, np.inf)

    def evaluate(self, theta: Array) -> tuple[Array, Array]:
        slopes = np.column_stack([np.ones_like(self.x), self.x])
        return theta @ slopes.T, np.broadcast_to(slopes, (len(theta), *slopes.shape))


_FORMS = {"learning": grouped.grouped_form, "power": _Power, "linear": _Line}


def fit_learning_curve(steps: ArrayLike, losses: ArrayLike) -> Curve:
    """``L(t) = a t**-b + c``, [M] App. G: where a run is heading.

    Args:
      steps: Training steps of the evaluations, after the warm-up, [points].
      losses: Loss at each, [points].

    Returns:
      The curve, with t over its geometric mean; ``predict(horizon)`` extrapolates.

    Raises:
      UserError: Fewer than four distinct steps, or one that is not positive.
    """
    t, y = _checked(steps, losses, 4, "learning curve")
    reference = float(np.exp(np.log(t).mean()))
    form = grouped.grouped_form(t / reference)
    scale = 0.01 * float(np.median(np.abs(y))) or 1.0
    best = best_of(form, y, grouped.starts(form, y), scale=scale)
    return _curve("learning", form, y, best, scale, reference)


def fit_quality(losses: ArrayLike, metric: ArrayLike, kind: str = "linear") -> Curve:
    """A quality metric against loss.

    Args:
      losses: Loss of each run, [points].
      metric: Its BLEU, chrF, BLEURT, .., [points].
      kind: ``power`` for ``c_B L**-p_B`` ([N] eq. 13), ``linear`` for ``u + v L``
        ([M] Fig. 8, 19).

    Raises:
      UserError: Fewer than three distinct losses, or another kind.
    """
    if kind not in ("power", "linear"):
        raise UserError(f"quality law {kind!r}: expected power or linear")
    x, y = _checked(losses, metric, 3, "quality law")
    if kind == "linear":
        form, start = _Line(x), np.polynomial.polynomial.polyfit(x, y, 1)
    else:
        if not (y > 0).all():
            raise UserError("quality law power: expected positive values of the metric")
        line = np.polynomial.polynomial.polyfit(np.log(x), np.log(y), 1)
        form, start = _Power(x), np.array([np.exp(line[0]), -line[1]])
    scale = _LEAST_SQUARES * float(np.abs(y).max() or 1.0)
    best = best_of(form, y, start[None], scale=scale)
    return _curve(kind, form, y, best, scale, 1.0)


def _checked(x: ArrayLike, y: ArrayLike, needed: int, what: str) -> tuple[Array, Array]:
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.shape != y.shape or x.ndim != 1:
        raise UserError(f"{what}: {x.shape} against {y.shape} values; expected pairs")
    if not (np.isfinite(x).all() and np.isfinite(y).all() and (x > 0).all()):
        raise UserError(f"{what}: expected finite values at positive points")
    if len(np.unique(x)) < needed:
        raise UserError(f"{what}: {len(np.unique(x))} distinct points, needs {needed}")
    return x, y


def _curve(
    kind: str, form: Form, y: Array, best: Best, scale: float, reference: float
) -> Curve:
    free = np.ones(len(form.names), dtype=bool)
    known: Spread = spread(form, y, best.theta, scale=scale, free=free)
    residuals = form.evaluate(best.theta[None])[0][0] - y
    total = float(((y - y.mean()) ** 2).sum())
    return Curve(
        kind=kind,
        parameters=dict(zip(form.names, best.theta.tolist(), strict=True)),
        covariance=known.covariance,
        residual_sd=known.residual_sd,
        dof=known.dof,
        r2=1.0 - float((residuals**2).sum()) / total if total > 0 else float("nan"),
        reference=reference,
    )
