"""What a scientist would write in the margin of a fit."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import fdtrc

from models.laws.observations import Observations
from models.laws.solver import Array, Best, Form
from models.laws.uncertainty import Spread

_SIGNIFICANT = 0.01
_FLAT = 3.0  # a curve is flat when it moves less than this many residual sds


def warnings(
    form: Form,
    best: Best,
    spread: Spread,
    runs: Observations,
    y: Array,
    weights: Array,
) -> tuple[str, ...]:
    """Sentences about a fit, each saying what to do."""
    found = _bounds(form, best)
    sizes = len(np.unique(runs.n))
    if sizes < 4:
        plural = "s" if sizes > 1 else ""
        found.append(
            f"{sizes} model size{plural}; the exponent needs 4 or more to be trusted"
        )
    found += _lonely(runs)
    if spread.dof == 0:
        found.append("as many coefficients as runs: no error can be estimated")
    elif spread.dof < 3:
        found.append(f"{spread.dof:g} degrees of freedom: the intervals are wide")
    lost = np.flatnonzero(spread.undetermined)
    if len(lost):
        names = ", ".join(form.names[k] for k in lost)
        found.append(f"{names}: the fitted values do not depend on it; not determined")
    if spread.dof > 0 and sizes > 1 and _movement(runs, y) < _FLAT * spread.residual_sd:
        found.append(
            "the curve is flat over these sizes: it moves less than "
            f"{_FLAT:g} times the scatter; add a smaller model or fix alpha"
        )
    found += _lack_of_fit(runs, spread, y, weights)
    if not best.certified:
        found.append(
            f"the fit is not certified: {best.agreeing} of {best.starts} starts agree, "
            f"gradient cosine {best.cosine:.1e}"
        )
    return tuple(found)


def _bounds(form: Form, best: Best) -> list[str]:
    """Parameters that stopped at a bound."""
    found = []
    for k, name in enumerate(form.names):
        low, high, value = form.lower[k], form.upper[k], best.theta[k]
        if low == high or low < value < high:
            continue
        side = "lower" if value <= low else "upper"
        found.append(f"{name} stopped at its {side} bound {value:g}{_reason(name)}")
    return found


def _reason(name: str) -> str:
    if name.startswith("alpha"):
        return "; these sizes do not show a power law: add a smaller model or fix alpha"
    if name.startswith("irreducible_loss"):
        return "; these sizes do not show where the curve ends: add a larger model"
    if name.startswith("beta"):
        return "; the loss does not fall with size here"
    return ""


def _lack_of_fit(
    runs: Observations, spread: Spread, y: Array, weights: Array
) -> list[str]:
    """Compares the scatter around the law with that between seeds."""
    _, index = runs.weightings
    # One weighting has one weight, so that weighted values compare within a cell.
    weighted = y * np.sqrt(weights)
    sizes, size_of = np.unique(runs.n, return_inverse=True)
    cells = index * len(sizes) + size_of.ravel()
    _, cell = np.unique(cells, return_inverse=True)
    cell = cell.ravel()
    count = np.bincount(cell)
    means = np.bincount(cell, weighted) / count
    pure = float(((weighted - means[cell]) ** 2).sum())
    pure_dof = int((count - 1).sum())
    rest = spread.dof - pure_dof
    if pure_dof < 3 or rest < 1:
        return []
    noise = pure / pure_dof
    misfit = max(spread.dof * spread.residual_sd**2 - pure, 0.0) / rest
    if noise == 0 or fdtrc(rest, pure_dof, misfit / noise) > _SIGNIFICANT:
        return []
    return [
        f"lack of fit: runs scatter {math.sqrt(misfit / noise):.1f}x as much around "
        f"the law as seeds do among themselves ({math.sqrt(noise):.2g}); the form is "
        "wrong for these runs"
    ]


def _lonely(runs: Observations) -> list[str]:
    """Weightings with a single model size, where a curve rests on the others."""
    weightings, index = runs.weightings
    if len(weightings) == 1:
        return []
    lonely = [
        weighting.label
        for k, weighting in enumerate(weightings)
        if len(np.unique(runs.n[index == k])) == 1
    ]
    if not lonely or len(np.unique(runs.n)) == 1:
        return []
    return [f"p = {', '.join(lonely)} has 1 model size; its curve rests on the others"]


def _movement(runs: Observations, y: Array) -> float:
    """Largest fall of the mean value from the smallest to the largest size."""
    _, index = runs.weightings
    falls = [0.0]
    for k in range(index.max() + 1):
        sizes, values = runs.n[index == k], y[index == k]
        small, large = sizes == sizes.min(), sizes == sizes.max()
        falls.append(float(values[small].mean() - values[large].mean()))
    return max(falls)
