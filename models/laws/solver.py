"""Robust bounded least squares, many fits at once.

Minimises the cost of `scipy.optimize.least_squares(loss="soft_l1")`, the
objective of [N] App. I, by Levenberg-Marquardt with projection on the bounds.
Starts, bootstrap draws and simulated tables are rows of one batch, which is what
makes a thousand refits cost little more than one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_COSINE = 1e-9  # largest cosine between the residuals and a column of J at rest
_PATIENT = 300  # steps of a search that is not given up
_QUICK = 40  # steps after which starts that lag behind are given up
_HOPEFUL = 2.0  # by at most this factor of the lowest cost
_DECREMENT = 1e-13  # a step that promises less of the cost is not worth taking
_FREE = 1e-3  # damping below which a step is nearly Gauss and Newton's
_AGREEMENT = 1e-6  # relative difference of costs within which two starts agree


class Form(Protocol):
    """A law's formula bound to the rows it is evaluated on.

    Attributes:
      names: Names of the parameters.
      lower, upper: Their bounds, [parameters].
    """

    names: tuple[str, ...]
    lower: Array
    upper: Array

    def evaluate(self, theta: Array) -> tuple[Array, Array]:
        """Values [batch, rows] and Jacobian [batch, rows, parameters]."""
        ...


@dataclasses.dataclass(frozen=True)
class Solution:
    """Where a batch of fits came to rest.

    Attributes:
      theta: Parameters, [batch, parameters].
      cost: Robust cost at ``theta``, [batch].
      cosine: Largest cosine between the residuals and a free column of the
        Jacobian, [batch]: 0 at a stationary point, whatever the units.
      iterations: Steps taken until the slowest of the batch rested.
    """

    theta: Array
    cost: Array
    cosine: Array
    iterations: int


@dataclasses.dataclass(frozen=True)
class Best:
    """The best of several starts.

    Attributes:
      theta: Parameters, [parameters].
      cost: Robust cost.
      cosine: See `Solution`.
      starts: How many starts were tried.
      agreeing: How many of them ended at this cost.
    """

    theta: Array
    cost: float
    cosine: float
    starts: int
    agreeing: int

    @property
    def certified(self) -> bool:
        """Stationary, and found from more than one start."""
        return self.cosine < 1e-5 and (self.agreeing > 1 or self.starts == 1)


def soft_l1(residuals: Array, scale: float | Array) -> tuple[Array, Array, Array]:
    """Cost terms, and the weights of the gradient and of the curvature.

    ``scale**2 (sqrt(1 + (r / scale)**2) - 1)``, without its cancellation: half a
    square for small residuals, linear for outliers ([N] App. I).
    """
    root = np.sqrt(1.0 + (residuals / scale) ** 2)
    return residuals**2 / (root + 1.0), 1.0 / root, root**-3


def minimize(
    form: Form,
    y: Array,
    starts: Array,
    *,
    scale: float | Array,
    weights: Array | None = None,
    max_iterations: int = _PATIENT,
    tolerance: float = _DECREMENT,
) -> Solution:
    """Minimises the robust cost from every start.

    Args:
      form: The law on its rows.
      y: Measured values, [rows], or [batch, rows] for one table a start.
      starts: Parameters to start from, [batch, parameters].
      scale: Where soft_l1 turns from squares to absolute values, in units of y; a
        number, or one for each start, [batch].
      weights: Weight of each squared residual, [rows] or [batch, rows]; all 1 if None.
      max_iterations: Limit for the slowest fit of the batch.
      tolerance: Share of the cost that a step must promise to be taken.

    Returns:
      The end of each fit, in the order of ``starts``.
    """
    y = np.broadcast_to(np.asarray(y, float), (len(starts), np.shape(y)[-1]))
    root_weights = np.sqrt(
        np.broadcast_to(1.0 if weights is None else weights, y.shape)
    )
    scale = np.broadcast_to(np.reshape(scale, (-1, 1)), (len(starts), 1))
    theta = np.clip(np.asarray(starts, float), form.lower, form.upper)
    cost, gradient, curvature = _system(form, y, theta, scale, root_weights)
    damping = np.full(len(theta), 1e-4)
    cosine = _cosine(form, theta, cost, gradient, curvature)
    floor = 1e-24 * (y**2).sum(1)
    active = np.flatnonzero((cosine > _COSINE) & (cost > floor))
    iteration = 0
    while len(active) and iteration < max_iterations:
        iteration += 1
        here = theta[active]
        step = _step(form, here, gradient[active], curvature[active], damping[active])
        promised = -(gradient[active] * step).sum(1)
        trial = np.clip(here + step, form.lower, form.upper)
        new = _system(form, y[active], trial, scale[active], root_weights[active])
        better = new[0] < cost[active]
        gain = (cost[active] - new[0]) / np.maximum(cost[active], floor[active])
        moved = active[better]
        theta[moved] = trial[better]
        cost[moved], gradient[moved], curvature[moved] = (part[better] for part in new)
        damping[active] *= np.where(better, 0.2, 6.0)
        damping[active] = np.maximum(damping[active], 1e-12)
        at_rest = (theta[moved], cost[moved], gradient[moved], curvature[moved])
        cosine[moved] = _cosine(form, *at_rest)
        resting = promised <= tolerance * np.maximum(cost[active], floor[active])
        resting |= better & (gain < 1e-14)
        resting &= damping[active] < _FREE  # a short step promises little anywhere
        resting |= damping[active] > 1e10
        resting |= (cosine[active] <= _COSINE) | (cost[active] <= floor[active])
        active = active[~resting]
    return Solution(theta, cost, cosine, iteration)


def best_of(
    form: Form,
    y: Array,
    starts: Array,
    *,
    scale: float,
    weights: Array | None = None,
) -> Best:
    """Minimises from several starts and keeps the best, saying how many agree."""
    rows = None if weights is None else weights[None]
    return best_of_each(form, y[None], [starts], scales=[scale], weights=rows)[0]


def best_of_each(
    form: Form,
    tables: Array,
    starts: Sequence[Array],
    *,
    scales: Sequence[float],
    weights: Array | None = None,
) -> list[Best]:
    """`best_of` for several tables with the same form, in one batch.

    Args:
      form: The law on its rows.
      tables: Measured values, [tables, rows].
      starts: For each table, the parameters to start from, [starts, parameters].
      scales: For each table, where soft_l1 turns from squares to absolute values.
      weights: Weight of each row's squared residual, [tables, rows]; 1 when omitted.
    """
    table_of = np.repeat(np.arange(len(tables)), [len(own) for own in starts])
    if weights is None:
        weights = np.ones_like(tables)
    scale = np.asarray(scales, float)

    def search(theta: Array, of: NDArray[np.int64], limit: int) -> Solution:
        return minimize(
            form,
            tables[of],
            theta,
            scale=scale[of],
            weights=weights[of],
            max_iterations=limit,
        )

    quick = search(np.concatenate(starts), table_of, _QUICK)
    lowest = np.full(len(tables), np.inf)
    np.minimum.at(lowest, table_of, quick.cost)
    hopeful = quick.cost <= _HOPEFUL * lowest[table_of] + 1e-300
    solution_of = table_of[hopeful]
    solution = search(quick.theta[hopeful], solution_of, _PATIENT)
    found = []
    for k, y in enumerate(tables):
        own = np.flatnonzero(solution_of == k)
        best = own[np.argmin(solution.cost[own])]
        tolerance = _AGREEMENT * solution.cost[best] + 1e-20 * float((y**2).sum())
        agreeing = solution.cost[own] <= solution.cost[best] + tolerance
        found.append(
            Best(
                theta=solution.theta[best],
                cost=float(solution.cost[best]),
                cosine=float(solution.cosine[best]),
                starts=len(starts[k]),
                agreeing=int(agreeing.sum()),
            )
        )
    return found


def _system(
    form: Form, y: Array, theta: Array, scale: Array, root_weights: Array
) -> tuple[Array, Array, Array]:
    """Cost [batch], gradient [batch, k] and Gauss-Newton matrix [batch, k, k]."""
    values, jacobian = form.evaluate(theta)
    residuals = (values - y) * root_weights
    terms, slope, curve = soft_l1(residuals, scale)
    transposed = np.swapaxes(jacobian, 1, 2)
    # The weights go to what is multiplied with the Jacobian: it is much the largest.
    gradient = (transposed @ (root_weights * slope * residuals)[:, :, None])[:, :, 0]
    curvature = (transposed * (root_weights**2 * curve)[:, None, :]) @ jacobian
    return terms.sum(1), gradient, curvature


def _held(form: Form, theta: Array, gradient: Array) -> NDArray[np.bool_]:
    """Parameters at a bound that the gradient presses against it."""
    at_lower = (theta <= form.lower) & (gradient > 0)
    at_upper = (theta >= form.upper) & (gradient < 0)
    return at_lower | at_upper


def _step(
    form: Form, theta: Array, gradient: Array, curvature: Array, damping: Array
) -> Array:
    """The damped Gauss-Newton step, in the parameters that are free to move."""
    free = ~_held(form, theta, gradient)
    diagonal = np.einsum("bkk->bk", curvature)
    moving = free & (diagonal > 0)
    # Every parameter in units of its own influence: what is left of the condition
    # number is the law's, not that of the units.
    unit = np.where(moving, np.sqrt(np.where(moving, diagonal, 1.0)), 1.0)
    matrix = curvature / (unit[:, :, None] * unit[:, None, :])
    matrix *= moving[:, :, None] & moving[:, None, :]
    k = np.arange(matrix.shape[1])
    matrix[:, k, k] = np.where(moving, 1.0 + damping[:, None] + 1e-15, 1.0)
    push = np.where(moving, gradient / unit, 0.0)
    return -np.linalg.solve(matrix, push[:, :, None])[:, :, 0] / unit


def _cosine(
    form: Form, theta: Array, cost: Array, gradient: Array, curvature: Array
) -> Array:
    diagonal = np.einsum("bkk->bk", curvature)
    length = np.sqrt(diagonal * 2.0 * cost[:, None])
    free = ~_held(form, theta, gradient) & (length > 0)
    ratio = np.abs(gradient) / np.where(free, length, 1.0)
    return np.where(free, ratio, 0.0).max(1)
