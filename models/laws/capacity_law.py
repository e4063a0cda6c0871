"""The form of the approximate joint law, [M] eq. 11.

``L = beta (f(p) x)**-alpha + irreducible_loss`` with ``x = n / reference``.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from models.laws import grouped
from models.laws.capacity import Capacity
from models.laws.solver import Array


@dataclasses.dataclass(frozen=True)
class CapacityLaw:
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


def starts(form: CapacityLaw, y: Array, count: int = 6) -> Array:
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
    one = np.zeros(len(form.x), dtype=int)
    for c, f in zip(candidates, fractions, strict=True):
        pooled = grouped.GroupedPowerLaw(
            f * form.x, one, one, one, ("alpha", "beta", "irreducible_loss"), 1, 1
        )
        first = grouped.starts(pooled, y, count=1)[:1]
        _, _, sse = grouped.project(pooled, y, first[:, 0])
        found.append(np.concatenate([first[0], c]))
        costs.append(sse[0])
    return np.array(found)[np.argsort(costs)[:count]]
