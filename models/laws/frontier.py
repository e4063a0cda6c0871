"""The predicted trade-off between tasks at any size: Fernandes et al. 2023, Fig. 7."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from models.errors import UserError
from models.laws.approximate import ApproximateLaw
from models.laws.law import Law
from models.laws.query import Query
from models.laws.solver import Array

_EDGE = 0.01  # weights of 0 are zero-shot: no law describes them


@dataclasses.dataclass(frozen=True, eq=False)
class Frontier:
    """What every mixture costs each task at one size.

    Attributes:
      n: The size.
      tasks: Names, in the order of the columns.
      weights: The mixtures, [points, tasks].
      losses: Predicted value of each task, [points, tasks].
      low, high: Interval of the law's value, [points, tasks].
      law: Kind of the laws that predict.
    """

    n: float
    tasks: tuple[str, ...]
    weights: Array
    losses: Array
    low: Array
    high: Array
    law: str = ApproximateLaw.kind


def frontier(
    laws: Sequence[Law],
    n: float,
    points: int = 101,
    level: float = 0.95,
    tokens: float | None = None,
) -> Frontier:
    """Every task's predicted value along the simplex of mixtures.

    Args:
      laws: Laws of any mixture, one a task; the mixture is over their tasks.
      n: Non-embedding parameters.
      points: How many mixtures at least; exactly with two tasks.
      level: Nominal coverage of the band.
      tokens: Training tokens of all tasks, for laws that depend on them.

    Raises:
      UserError: Fewer than two laws, or one that cannot predict a new mixture.
    """
    tasks = check_laws(laws)
    weights = simplex(len(tasks), points)
    query = Query(n, as_mixture(tasks, weights), tokens=tokens)
    losses = np.column_stack([law.predict(query) for law in laws])
    bands = [law.interval(query, level, measured=False) for law in laws]
    low = np.column_stack([band[0] for band in bands])
    high = np.column_stack([band[1] for band in bands])
    return Frontier(n, tasks, weights, losses, low, high)


def simplex(tasks: int, points: int) -> Array:
    """Mixtures with positive weights, evenly over the simplex, [points, tasks]."""
    if tasks == 2:
        first = np.linspace(_EDGE, 1.0 - _EDGE, points)
        return np.column_stack([first, 1.0 - first])
    steps = tasks
    while math.comb(steps - 1, tasks - 1) < points:
        steps += 1
    cuts = itertools.combinations(range(1, steps), tasks - 1)
    edges = np.array([(0, *cut, steps) for cut in cuts])
    return np.diff(edges, axis=1) / steps


def as_mixture(tasks: Sequence[str], weights: Array) -> Mapping[str, Array]:
    """Task -> its column of weights."""
    return {task: weights[..., k] for k, task in enumerate(tasks)}


def check_laws(laws: Sequence[Law]) -> tuple[str, ...]:
    """The laws' tasks; raises UserError unless they span a trade-off."""
    tasks = tuple(law.task for law in laws)
    if len(laws) < 2 or len(set(tasks)) < len(tasks):
        raise UserError(
            "a trade-off needs one approximate law for each of two or more tasks; "
            f"found {', '.join(tasks) or 'none'}; fit with --law approximate"
        )
    known = [law.task for law in laws if not law.any_mixture]
    if known:
        raise UserError(
            f"the laws of {', '.join(known)} know only the mixtures they were fitted "
            "on; fit with --law approximate"
        )
    return tasks
