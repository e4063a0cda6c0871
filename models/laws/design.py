"""Which runs pin a prediction best for the money: optimal design."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from models.errors import UserError
from models.laws.capacity import capacity
from models.laws.capacity_law import CapacityLaw
from models.laws.solver import Array

# Coefficients to plan with before there is a fit: [M]'s typical curve (alpha about
# .3, reducible loss about .4 of the irreducible at the reference size, f near p).
TYPICAL = (0.3, 0.4, 1.2, 0.2, 0.8, 1.0)
_PRIOR = (0.15, 0.4, 0.5, 0.4, 0.4, 0.6)  # what is known of them without any run


@dataclasses.dataclass(frozen=True)
class Design:
    """Runs in the order in which they are worth their cost.

    Attributes:
      order: Index of each candidate, the most useful one first.
      cost_share: Cost of the first k runs over that of all, [runs].
      widths: Standard error of the prediction after the first k runs over that after
        all of them, [runs].
    """

    order: tuple[int, ...]
    cost_share: tuple[float, ...]
    widths: tuple[float, ...]

    def enough(self, ratio: float = 1.3) -> int:
        """How many of the runs keep the interval within this ratio."""
        return next(k for k, w in enumerate(self.widths, 1) if w <= ratio)


def design(
    n: ArrayLike,
    p: ArrayLike,
    cost: ArrayLike,
    *,
    target_n: float,
    target_p: Sequence[float],
    done: Sequence[int] = (),
    coefficients: Sequence[float] = TYPICAL,
    noise_sd: float = 0.004,
) -> Design:
    """Greedy c-optimal design for the approximate law of each of two tasks.

    Every step takes the run that lowers the variance of the predictions at the
    target the most for its cost (a run informs both tasks' laws, at p and 1 - p).

    Args:
      n: Size of each candidate, [runs].
      p: First task's weight in each, [runs].
      cost: What each costs, in any unit, [runs].
      target_n: Size of the model to predict.
      target_p: First task's weights there.
      done: Candidates that have already been trained; they come first.
      coefficients: Coefficients to plan with, in the order alpha, beta (at the
        candidates' mean size), irreducible_loss, c1, c2, c3.
      noise_sd: Seed-to-seed standard deviation of a loss.

    Raises:
      UserError: No candidates, or a size or cost that is not positive.
    """
    sizes, own, price = (np.asarray(part, float) for part in (n, p, cost))
    if not len(sizes) or not ((sizes > 0) & (price > 0)).all():
        raise UserError("plan: expected candidates with positive sizes and costs")
    reference = float(np.exp(np.log(sizes).mean()))
    theta = np.asarray(coefficients, float)
    prior = np.diag(1.0 / np.square(_PRIOR))
    rows = [_jacobian(sizes / reference, share, theta) for share in (own, 1.0 - own)]
    at = np.asarray(target_p, float)
    there = np.full(len(at), target_n / reference)
    goals = [_jacobian(there, share, theta) for share in (at, 1.0 - at)]
    information = [prior.copy(), prior.copy()]
    # Zero-shot rows are never fitted.
    usable = [own > 0, own < 1]
    left = list(range(len(sizes)))
    order, shares, widths = [], [], []
    while left:
        forced = [k for k in done if k in left]
        chosen = (
            forced[0]
            if forced
            else _most_useful(left, rows, usable, information, goals, price, noise_sd)
        )
        left.remove(chosen)
        for k in range(2):
            information[k] += _gain(rows[k], usable[k], chosen, noise_sd)
        order.append(chosen)
        shares.append(float(price[order].sum() / price.sum()))
        widths.append(_variance(information, goals) ** 0.5)
    return Design(tuple(order), tuple(shares), tuple(w / widths[-1] for w in widths))


def _jacobian(x: Array, p: Array, theta: Array) -> Array:
    form = CapacityLaw(x, p, np.column_stack([p, 1.0 - p]), capacity("flexible"))
    return form.evaluate(theta[None])[1][0]


def _gain(rows: Array, usable: Array, k: int, noise_sd: float) -> Array:
    return np.outer(rows[k], rows[k]) / noise_sd**2 * usable[k]


def _variance(information: list[Array], goals: list[Array]) -> float:
    """Mean variance of the predictions at the target."""
    parts = [
        np.einsum("ri,ij,rj->r", goal, np.linalg.inv(known), goal)
        for known, goal in zip(information, goals, strict=True)
    ]
    return float(np.mean(parts))


def _most_useful(
    left: list[int],
    rows: list[Array],
    usable: list[Array],
    information: list[Array],
    goals: list[Array],
    price: Array,
    noise_sd: float,
) -> int:
    """The candidate with the largest fall of log variance for its cost."""
    before = _variance(information, goals)
    best, most = left[0], -np.inf
    for k in left:
        after = _variance(
            [
                known + _gain(part, use, k, noise_sd)
                for known, part, use in zip(information, rows, usable, strict=True)
            ],
            goals,
        )
        worth = np.log(before / after) / price[k]
        if worth > most:
            best, most = k, worth
    return best
