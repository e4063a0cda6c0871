"""The outcome of a recommendation in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models.laws.objectives import Problem, sign
from models.laws.solver import Array

if TYPE_CHECKING:
    from models.laws.recommendation import Alternative


def verdict(
    alternatives: tuple[Alternative, ...],
    feasible: bool,
    problem: Problem,
    best: Array,
) -> str:
    parts = []
    if not feasible:
        parts.append(_infeasible(problem, best))
    for other in alternatives:
        low, high = other.gain_interval
        span = f"{other.gain:.4f} ({low:.4f} to {high:.4f})"
        if other.exceeds_uncertainty:
            parts.append(f"better than {other.name} weights by {span}")
        elif other.gain_interval[1] < 0:
            parts.append(
                f"{other.name} weights would be better by {-other.gain:.4f} "
                f"({-high:.4f} to {-low:.4f}), beyond what is allowed"
            )
        else:
            parts.append(
                f"{other.name} weights are as good within the uncertainty: {span}"
            )
    return "; ".join(parts)


def warnings(problem: Problem, best: Array) -> tuple[str, ...]:
    """Where the laws are asked beyond the runs that they were fitted on."""
    n, found = problem.n, []
    low = min(law.fitted_range["n"][0] for law in problem.laws)
    high = max(law.fitted_range["n"][1] for law in problem.laws)
    if low == high and abs(n / high - 1) > 1e-6:
        found.append(
            f"the laws know one size, {high:.4g}, and say nothing of n = {n:.4g}: the "
            "weights are those of that size at best"
        )
    elif n > high * (1 + 1e-6):
        found.append(f"n is {n / high:.3g}x the largest fitted size ({high:.4g})")
    for law, weight in zip(problem.laws, best, strict=True):
        least, most = law.fitted_range["p"]
        if not least - 1e-9 <= weight <= most + 1e-9:
            found.append(
                f"weight {weight:.3g} of {law.task} is outside the fitted {least:g} "
                f"to {most:g}"
            )
    return tuple(found)


def _infeasible(problem: Problem, best: Array) -> str:
    """Which requirements cannot hold, and what can be had instead."""
    losses = problem.losses(best[None])[0]
    parts = []
    for k, law in enumerate(problem.laws):
        if np.isfinite(problem.limits[k]):
            relation = "<=" if law.ceiling is None else ">="
            limit, reached = sign(law) * problem.limits[k], sign(law) * losses[k]
            parts.append(f"{law.task}{relation}{limit:g} (nearest {reached:.4f})")
    return f"infeasible at n = {problem.n:.4g}: {', '.join(parts)}"
