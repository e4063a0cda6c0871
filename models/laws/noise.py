"""How noisy each weighting is, from runs that differ in their seed alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from models.laws.observations import Observations
from models.laws.solver import Array

_PRIOR_DOF = 8.0  # so many degrees of freedom vote for one noise for all


@dataclasses.dataclass(frozen=True)
class Noise:
    """Relative noise of the weightings.

    Attributes:
      weights: Weight of each row's squared residual, [rows]; 1 on average noise.
      ratios: Label of each weighting -> its standard deviation over the typical
        one; empty where too few seeds tell.
    """

    weights: Array
    ratios: Mapping[str, float]


def seed_noise(runs: Observations, y: Array) -> Noise:
    """Estimates the noise of every weighting from repeated runs.

    The variances are drawn towards their mean, the more the fewer seeds there are:
    a handful of seeds must not decide which runs count.

    Args:
      runs: The rows.
      y: The fitted values, [rows].
    """
    weightings, index = runs.weightings
    if len(weightings) < 2:
        return Noise(np.ones(len(y)), {})
    sizes, size_of = np.unique(runs.n, return_inverse=True)
    _, cell = np.unique(index * len(sizes) + size_of.ravel(), return_inverse=True)
    cell = cell.ravel()
    count = np.bincount(cell)
    deviation = y - (np.bincount(cell, y) / count)[cell]
    squares = np.bincount(index, deviation**2, minlength=len(weightings))
    spare = 1.0 - 1.0 / count[cell]
    dof = np.bincount(index, spare, minlength=len(weightings)).round(9)
    if (dof > 0).sum() < 2 or squares.sum() == 0:
        return Noise(np.ones(len(y)), {})
    typical = squares.sum() / dof.sum()
    variance = (squares + _PRIOR_DOF * typical) / (dof + _PRIOR_DOF)
    ratios = np.sqrt(variance / typical)
    labels = [weighting.label for weighting in weightings]
    return Noise(
        1.0 / ratios[index] ** 2, dict(zip(labels, ratios.tolist(), strict=True))
    )
