"""The approximate joint law: any mixture at any size.

``L = beta (f(p) x)**-alpha + irreducible_loss`` with ``x = n / reference``,
Fernandes et al. 2023 ([M]), eq. 11.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from models.errors import UserError
from models.laws import grouped
from models.laws.capacity import Capacity, capacity
from models.laws.fitting import (
    Options,
    check_sizes,
    conclude,
    reference_size,
    robust_scale,
    target,
)
from models.laws.law import Law
from models.laws.observations import Observations, Weighting
from models.laws.query import Points
from models.laws.solver import Array, minimize

_FOLDS = 10
# Runs of one size tell next to nothing of the exponent, which then runs to any bound;
# none that was measured over sizes is larger than this.
_LARGEST_ALPHA = 1.0
_TIE = 1.05
_TOLERANCE = 1e-8  # of the cost: a fold's refit is judged, not kept


@dataclasses.dataclass(frozen=True)
class CapacityForm:
    """The form on its rows: alpha, beta, irreducible_loss, then f's coefficients.

    Attributes:
      x: Model sizes over the reference size, [rows].
      p: The task's own weight, [rows].
      shares: Weight of every task, [rows, tasks].
      capacity: The capacity function f.
      largest_alpha: Upper bound of alpha.
    """

    x: Array
    p: Array
    shares: Array
    capacity: Capacity
    largest_alpha: float = grouped.ALPHA_RANGE[1]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return ("alpha", "beta", "irreducible_loss", *self.capacity.names)

    @property
    def lower(self) -> Array:
        """alpha > 0, beta >= 0, irreducible loss >= 0."""
        return np.array([grouped.ALPHA_RANGE[0], 0.0, 0.0, *self.capacity.lower])

    @property
    def upper(self) -> Array:
        """Bounds above."""
        return np.array([self.largest_alpha, np.inf, np.inf, *self.capacity.upper])

    def evaluate(self, theta: Array) -> tuple[Array, Array]:
        """Values [batch, rows] and Jacobian [batch, rows, parameters]."""
        alpha, beta, floor = (theta[:, [k]] for k in range(3))
        f, slopes = self.capacity.evaluate(theta[:, 3:], self.p, self.shares)
        log_size = np.log(f * self.x)
        power = np.exp(-alpha * log_size)
        reducible = beta * power
        jacobian = np.empty((*power.shape, theta.shape[1]))
        jacobian[:, :, 0] = -reducible * log_size
        jacobian[:, :, 1] = power
        jacobian[:, :, 2] = 1.0
        jacobian[:, :, 3:] = (-alpha * reducible / f)[:, :, None] * slopes
        return reducible + floor, jacobian

    def effective_fraction(self, theta: Array) -> tuple[Array, Array]:
        """f [batch, rows] and its Jacobian [batch, rows, parameters]."""
        f, slopes = self.capacity.evaluate(theta[:, 3:], self.p, self.shares)
        jacobian = np.zeros((*f.shape, theta.shape[1]))
        jacobian[:, :, 3:] = slopes
        return f, jacobian


@dataclasses.dataclass(frozen=True, eq=False)
class ApproximateLaw(Law):
    """The law whose capacity function says what a mixture leaves each task.

    Attributes:
      capacity: The capacity function f.
    """

    kind: ClassVar[str] = "approximate"
    any_mixture: ClassVar[bool] = True

    capacity: Capacity = dataclasses.field(kw_only=True)

    @property
    def form(self) -> str:
        """Name of the capacity function."""
        return self.capacity.label

    @property
    def equation(self) -> str:
        """See `Law`."""
        return f"L = beta (f n/n0)^-alpha + Linf, {self.capacity.equation}"

    def covers(self, weighting: Weighting) -> bool:
        """See `Law`; any mixture of its group."""
        return weighting.group in self.groups

    def _form(self, points: Points) -> CapacityForm:
        if self.task in self.tasks and (points.own == 0).any():
            raise UserError(
                f"{self.name}: p = 0; no run without the task was fitted: expected a "
                "positive weight"
            )
        if self.capacity.needs_mixture and np.isnan(points.shares).any():
            raise UserError(
                f"{self.name}: its {self.form} function needs every task's weight; "
                f"give the whole mixture of {', '.join(self.tasks)}"
            )
        x = points.n / self.reference["n"]
        return CapacityForm(x, points.own, points.shares, self.capacity)

    def _log_fraction(self, points: Points) -> tuple[Array, Array]:
        f, jacobian = self._form(points).effective_fraction(self.theta[None])
        return np.log(f[0]), jacobian[0] / f[0][:, None]


def fit_approximate(
    runs: Observations, form: str = "auto", options: Options | None = None
) -> ApproximateLaw:
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


def unseen_error(
    runs: Observations, law: ApproximateLaw, options: Options | None = None
) -> float:
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
    weightings, index = runs.weightings
    count = min(_FOLDS, len(weightings))
    return index % count == np.arange(count)[:, None]


def _best(
    runs: Observations, tried: dict[str, ApproximateLaw], options: Options
) -> str:
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


def _bound(runs: Observations, label: str, options: Options) -> CapacityForm:
    task = str(runs.task[0])
    own = runs.tasks.index(task) if task in runs.tasks else -1
    x = runs.n / reference_size(runs, options)
    form = CapacityForm(x, runs.p, runs.shares, capacity(label, runs.tasks, own))
    if len(np.unique(runs.n)) > 1:
        return form
    return dataclasses.replace(form, largest_alpha=_LARGEST_ALPHA)


def _fit(
    runs: Observations, label: str, options: Options, start: Array | None = None
) -> ApproximateLaw:
    bound = _bound(runs, label, options)
    _check_weightings(runs, bound.capacity, options)
    starts = _starts(bound, target(runs)) if start is None else start[None]
    return conclude(
        ApproximateLaw, bound, starts, runs, options, capacity=bound.capacity
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
        told = len(runs.weightings[0]) - 1
    else:
        told = len(np.unique(runs.p[(runs.p > 0) & (runs.p < 1)]))
    if told < needed:
        raise UserError(
            f"{where}: {told} weights for the {needed} coefficients of "
            f"the {chosen.label} capacity function; train more mixtures, take a "
            "simpler function or fix a coefficient"
        )


def _starts(form: CapacityForm, y: Array, count: int = 6) -> Array:
    """Starting points: variable projection over exponents, for several f.

    Args:
      form: The law on its rows.
      y: Measured values, [rows].
      count: How many starts to return at most.

    Returns:
      [starts, parameters], the best first.
    """
    candidates = form.capacity.starts()
    fractions, _ = form.capacity.evaluate(candidates, form.p, form.shares)
    found, costs = [], []
    for c, f in zip(candidates, fractions, strict=True):
        pooled = grouped.grouped_form(f * form.x)
        first = grouped.starts(pooled, y, count=1)[:1]
        _, _, sse = grouped.project(pooled, y, first[:, 0])
        found.append(np.concatenate([first[0], c]))
        costs.append(sse[0])
    return np.array(found)[np.argsort(costs)[:count]]
