"""The outcome of a recommendation in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models.laws.choice import range_notes, weight_notes
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
        parts.append(infeasible(problem, best))
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
    """Where the laws are asked beyond their runs, and what their fits warned of."""
    found = [
        f"n = {problem.n:.4g}: {note}" for note in range_notes(problem.laws, problem.n)
    ]
    for law, weight in zip(problem.laws, best, strict=True):
        found += weight_notes(law, float(weight))
    for law in problem.laws:
        found += [f"{law.name}: {text}" for text in law.warnings]
    return tuple(found)


def infeasible(problem: Problem, best: Array) -> str:
    """Which requirements cannot hold, and what can be had instead."""
    losses = problem.losses(best[None])[0]
    parts = []
    for k, law in enumerate(problem.laws):
        if np.isfinite(problem.limits[k]):
            relation = "<=" if law.ceiling is None else ">="
            limit, reached = sign(law) * problem.limits[k], sign(law) * losses[k]
            parts.append(f"{law.task}{relation}{limit:g} (nearest {reached:.4f})")
    return f"infeasible at n = {problem.n:.4g}: {', '.join(parts)}"
