"""From a form and its starting points to the record of a fitted law."""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Mapping
from typing import Literal

import numpy as np

from models.errors import UserError
from models.laws import diagnostics
from models.laws.law import CEILINGS, AnyLaw
from models.laws.noise import seed_noise
from models.laws.observations import Observations
from models.laws.solver import Array, Best, Form, best_of
from models.laws.uncertainty import (
    Spread,
    calibrated_draws,
    perturbation_draws,
    spread,
)

_RELATIVE_SCALE = 0.01  # [N] App. I's .025 is one per cent of its losses


@dataclasses.dataclass(frozen=True)
class Options:
    """How laws are fitted.

    Attributes:
      reference: Reference size; the geometric mean of the sizes when None.
      robust_scale: Where soft_l1 turns from squares to absolute values; 1 % of the
        median value when None.
      draws: How many draws of the parameters to keep.
      uncertainty: ``t`` draws tables with the residuals' own, uncertain, spread;
        ``perturbation`` moves every point by 1 % ([M] fn. 5).
      seed: Of the draws.
      fixed: Parameters that are given, name -> value.
      single_size: Let the approximate law describe the weights alone where there are
        too few sizes for an exponent; it then says nothing about other sizes.
    """

    reference: float | None = None
    robust_scale: float | None = None
    draws: int = 0
    uncertainty: Literal["t", "perturbation"] = "t"
    seed: int = 0
    fixed: Mapping[str, float] = dataclasses.field(default_factory=dict)
    single_size: bool = False

    def without_draws(self) -> Options:
        """The same, with draws only where the standard errors are taken from them."""
        if self.uncertainty == "perturbation":
            return self
        return dataclasses.replace(self, draws=0)


@dataclasses.dataclass(frozen=True)
class _Fixed:
    """A form some of whose parameters are given."""

    form: Form
    names: tuple[str, ...]
    lower: Array
    upper: Array

    def evaluate(self, theta: Array) -> tuple[Array, Array]:
        return self.form.evaluate(theta)


def reference_size(runs: Observations, options: Options) -> float:
    """What sizes are divided by, so that no coefficient carries their unit."""
    if options.reference is not None:
        return options.reference
    return math.exp(float(np.log(np.unique(runs.n)).mean()))


def target(runs: Observations) -> Array:
    """What falls with size: the loss, or a metric's distance to its ceiling."""
    ceiling = CEILINGS.get(runs.metric)
    return runs.value if ceiling is None else ceiling - runs.value


def robust_scale(y: Array, options: Options) -> float:
    """The soft_l1 scale, in the units of the values."""
    if options.robust_scale is not None:
        return options.robust_scale
    return _RELATIVE_SCALE * float(np.median(np.abs(y))) or 1e-12


def check_sizes(kind: str, runs: Observations, options: Options) -> None:
    """Raises UserError unless there are enough sizes for what is shared."""
    sizes = len(np.unique(runs.n))
    needed = 3 - len({"alpha", "irreducible_loss"} & set(options.fixed))
    if sizes < needed:
        raise UserError(
            f"fit {kind} {runs.task[0]}/{runs.test_set[0]}: {sizes} model "
            f"size{'s' * (sizes > 1)}, needs {needed}; train more sizes or fix alpha "
            "or irreducible_loss"
        )


def conclude(
    law: type[AnyLaw],
    form: Form,
    starts: Array,
    runs: Observations,
    options: Options,
    best: Best | None = None,
    **own: object,
) -> AnyLaw:
    """Fits a form from its starts and writes everything down.

    Args:
      law: The kind of law to make.
      form: Its form on the rows of ``runs``.
      starts: Parameters to start from, [starts, parameters].
      runs: The rows, of one task and test set.
      options: How to fit.
      best: The fitted parameters, where they have been found with others' in a batch.
      own: Attributes that only this kind of law has.

    Raises:
      UserError: There are fewer rows than parameters.
    """
    y = target(runs)
    where = f"fit {law.kind} {runs.task[0]}/{runs.test_set[0]}"
    bound, free = bounded(form, options, where)
    _check_count(len(y), int(free.sum()), where)
    scale = robust_scale(y, options)
    noise = seed_noise(runs, y)
    best = best or best_of(bound, y, starts, scale=scale, weights=noise.weights)
    known = spread(bound, y, best.theta, scale=scale, free=free, weights=noise.weights)
    draws = _draws(bound, y, best.theta, known, noise.weights, options, where)
    if options.uncertainty == "perturbation" and len(draws) > 1:
        known = dataclasses.replace(known, covariance=np.cov(draws.T))
    values, _ = bound.evaluate(best.theta[None])
    return law(
        task=str(runs.task[0]),
        test_set=str(runs.test_set[0]),
        metric=runs.metric,
        parameters=dict(zip(form.names, best.theta.tolist(), strict=True)),
        covariance=known.covariance,
        residual_sd=known.residual_sd,
        reference={"n": reference_size(runs, options)},
        tasks=runs.tasks,
        weightings=runs.weightings[0],
        statistics=_statistics(y, values[0], int(free.sum()), known.dof),
        fitted_range={"n": _range(runs.n), "p": _range(runs.p)},
        warnings=diagnostics.warnings(bound, best, known, runs, y, noise.weights),
        draws=draws,
        noise=noise.ratios,
        fixed=_names(form, ~free),
        undetermined=_names(form, known.undetermined),
        **own,
    )


def _check_count(runs: int, coefficients: int, where: str) -> None:
    if runs < coefficients:
        raise UserError(
            f"{where}: {runs} runs for {coefficients} coefficients; train more sizes "
            "or fix a coefficient"
        )


def _range(values: Array) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _names(form: Form, chosen: np.ndarray) -> tuple[str, ...]:
    return tuple(form.names[k] for k in np.flatnonzero(chosen))


def bounded(form: Form, options: Options, where: str) -> tuple[_Fixed, np.ndarray]:
    """The form with its given parameters pinned, and which ones are free."""
    lower, upper = form.lower.copy(), form.upper.copy()
    free = np.ones(len(form.names), dtype=bool)
    for name, value in options.fixed.items():
        chosen = [
            k
            for k, known in enumerate(form.names)
            if known == name or known.startswith(f"{name}[")
        ]
        for k in chosen:
            if not lower[k] <= value <= upper[k]:
                raise UserError(
                    f"{where}: {name} fixed at {value:g}; expected "
                    f"{lower[k]:g} to {upper[k]:g}"
                )
            lower[k] = upper[k] = value
            free[k] = False
    return _Fixed(form, form.names, lower, upper), free


def _draws(
    form: Form,
    y: Array,
    theta: Array,
    known: Spread,
    weights: Array,
    options: Options,
    where: str,
) -> Array:
    if options.draws == 0 or (options.uncertainty == "t" and known.dof <= 0):
        return np.empty((0, len(theta)))
    # Each law has its own stream: two tasks' errors must not move together.
    rng = np.random.default_rng([options.seed, zlib.crc32(where.encode())])
    scale = robust_scale(y, options)
    if options.uncertainty == "perturbation":
        return perturbation_draws(
            form, y, theta, scale=scale, draws=options.draws, rng=rng
        )
    return calibrated_draws(
        form,
        theta,
        residual_sd=known.residual_sd,
        dof=known.dof,
        scale=scale,
        draws=options.draws,
        rng=rng,
        weights=weights,
    )


def _statistics(
    y: Array, fitted: Array, coefficients: int, dof: float
) -> dict[str, float | None]:
    residuals = y - fitted
    rows = len(y)
    squares = float((residuals**2).sum())
    total = float(((y - y.mean()) ** 2).sum())
    k = coefficients + 1  # the noise's spread is estimated too
    spare = rows - k - 1
    aicc = None
    if spare > 0 and squares > 0:
        aicc = rows * math.log(squares / rows) + 2 * k + 2 * k * (k + 1) / spare
    return {
        "r2": 1.0 - squares / total if total > 0 else None,
        "rmse": math.sqrt(squares / rows),
        "max_abs_error": float(np.abs(residuals).max()),
        "n_points": float(rows),
        "dof": dof,
        "aicc": aicc,
    }
