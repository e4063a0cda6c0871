"""The power law with shared coefficients: Fernandes et al. 2023, eq. 3, 6 and 7.

``L = beta_b x**-alpha_a + irreducible_loss_c`` where every row says which of the
alphas, betas and irreducible losses is its own, and ``x = n / reference``. With
one of each it is the univariate law (eq. 3), with one beta a weighting and the
rest shared it is the joint law (eq. 7).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from models.laws.solver import Array

ALPHA_RANGE = (1e-4, 10.0)
_GRID = np.geomspace(0.01, 6.0, 48)

Index = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class GroupedPowerLaw:
    """The form on its rows; the parameters are alphas, betas, irreducible losses.

    Attributes:
      x: Model sizes over the reference size, [rows].
      alpha_of, beta_of, floor_of: Which coefficient each row uses, [rows].
      names: Names of the parameters.
    """

    x: Array
    alpha_of: Index
    beta_of: Index
    floor_of: Index
    names: tuple[str, ...]
    alphas: int
    betas: int

    @property
    def floors(self) -> int:
        """Number of irreducible losses."""
        return len(self.names) - self.alphas - self.betas

    @property
    def lower(self) -> Array:
        """alpha > 0, beta >= 0, irreducible loss >= 0."""
        rest = self.betas + self.floors
        return np.concatenate([np.full(self.alphas, ALPHA_RANGE[0]), np.zeros(rest)])

    @property
    def upper(self) -> Array:
        """Only alpha is bounded above."""
        rest = self.betas + self.floors
        return np.concatenate(
            [np.full(self.alphas, ALPHA_RANGE[1]), np.full(rest, np.inf)]
        )

    def evaluate(self, theta: Array) -> tuple[Array, Array]:
        """Values [batch, rows] and Jacobian [batch, rows, parameters]."""
        beta_at = self.alphas + self.beta_of
        floor_at = self.alphas + self.betas + self.floor_of
        log_x = np.log(self.x)
        power = np.exp(-theta[:, self.alpha_of] * log_x)
        reducible = theta[:, beta_at] * power
        jacobian = np.zeros((*power.shape, theta.shape[1]))
        rows = np.arange(len(self.x))
        jacobian[:, rows, self.alpha_of] = -reducible * log_x
        jacobian[:, rows, beta_at] = power
        jacobian[:, rows, floor_at] = 1.0
        return reducible + theta[:, floor_at], jacobian


def grouped_form(
    x: Array,
    weighting: Index | None = None,
    labels: Sequence[str] = (),
    own: Collection[str] = (),
) -> GroupedPowerLaw:
    """The form with some coefficients shared by all weightings.

    Args:
      x: Model sizes over the reference size, [rows].
      weighting: Index of each row's weighting, [rows]; all the same when omitted.
      labels: Name of each weighting.
      own: Of alpha, beta and irreducible_loss, those that every weighting has its
        own of, as ``beta[LABEL]``.
    """
    one = np.zeros(len(x), dtype=int)
    index = one if weighting is None else weighting
    names = {
        stem: [f"{stem}[{label}]" for label in labels] if stem in own else [stem]
        for stem in ("alpha", "beta", "irreducible_loss")
    }
    alpha_of, beta_of, floor_of = (index if stem in own else one for stem in names)
    return GroupedPowerLaw(
        x,
        alpha_of,
        beta_of,
        floor_of,
        tuple(itertools.chain(*names.values())),
        len(names["alpha"]),
        len(names["beta"]),
    )


def starts(form: GroupedPowerLaw, y: Array, count: int = 3) -> Array:
    """Starting points by variable projection on a grid of exponents.

    Given alpha the law is linear in the rest, so for every alpha of a grid the
    best bounded betas and irreducible losses have a closed form; what remains is
    a function of one variable, whose lowest local minima are the starts.

    Args:
      form: The law on its rows.
      y: Measured values, [rows].
      count: How many starts to return at most.

    Returns:
      [starts, parameters], the best first.
    """
    span = max(np.ptp(np.log(form.x)), 1e-9)
    grid = np.clip(_GRID * np.log(64.0) / span, *ALPHA_RANGE)
    beta, floor, sse = project(form, y, grid)
    padded = np.pad(sse, 1, constant_values=np.inf)
    local = (sse <= padded[:-2]) & (sse <= padded[2:])
    local[[0, -1]] &= sse[[0, -1]] <= sse.min()  # an end is a start only as the best
    order = np.flatnonzero(local)[np.argsort(sse[local])][:count]
    neighbours = np.clip(order[:1] + np.array([1, -1]), 0, len(grid) - 1)
    chosen = np.unique(np.concatenate([order, neighbours]))
    chosen = chosen[np.argsort(sse[chosen])]
    alpha = np.repeat(grid[chosen][:, None], form.alphas, axis=1)
    return np.concatenate([alpha, beta[chosen], floor[chosen]], axis=1)


def project(
    form: GroupedPowerLaw, y: Array, alphas: Array
) -> tuple[Array, Array, Array]:
    """Best non-negative betas and irreducible losses for given exponents.

    Args:
      form: The law on its rows (all of them take the same exponent here).
      y: Measured values, [rows].
      alphas: Exponents to try, [grid].

    Returns:
      Betas [grid, betas], irreducible losses [grid, floors] and the sum of
      squares [grid].
    """
    power = np.exp(-alphas[:, None] * np.log(form.x))
    member = np.eye(form.betas)[form.beta_of]
    owner = np.zeros(form.betas, dtype=int)
    owner[form.beta_of] = form.floor_of
    pool = np.eye(form.floors)[owner]
    uu, u, uy = power**2 @ member, power @ member, (power * y) @ member
    count, total = member.sum(0), y @ member
    used = np.ones_like(uu)
    floor = np.zeros((len(alphas), form.floors))
    beta = np.zeros_like(uu)
    for _ in range(6):
        top = (total - used * uy * u / uu) @ pool
        bottom = (count - used * u * u / uu) @ pool
        floor = np.maximum(0.0, top / np.maximum(bottom, 1e-12))
        beta = (uy - floor[:, owner] * u) / uu
        if np.array_equal(beta > 0, used > 0):
            break
        used = (beta > 0).astype(float)
    beta = np.maximum(beta, 0.0)
    fitted = beta[:, form.beta_of] * power + floor[:, form.floor_of]
    return beta, floor, ((fitted - y) ** 2).sum(1)
