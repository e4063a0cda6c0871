"""Usual ways to choose weights, and how a recommendation compares with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from models.errors import UserError
from models.laws.choice import range_notes, weight_notes
from models.laws.objectives import Problem, sign
from models.laws.solver import Array

TEMPERATURE = 5.0


@dataclasses.dataclass(frozen=True)
class Alternative:
    """A usual way to choose weights, beside the recommended ones.

    Attributes:
      name: ``uniform``, ``proportional`` or ``temperature 5``.
      weights, losses: Per task.
      objective: Its value of the objective.
      gain: How much better the recommendation's objective is, which is corrected for
        having been chosen as the best; this one was not chosen, and needs none.
      gain_interval: Interval of the gain; the correction is part of it.
    """

    name: str
    weights: Mapping[str, float]
    losses: Mapping[str, float]
    objective: float
    gain: float
    gain_interval: tuple[float, float]

    @property
    def exceeds_uncertainty(self) -> bool:
        """Whether the gain is distinguishable from none."""
        return self.gain_interval[0] > 0


def usual_mixtures(
    tasks: Sequence[str], examples: Mapping[str, float] | None
) -> dict[str, Array]:
    """Uniform weights and, with data sizes, proportional and temperature ones.

    Raises:
      UserError: ``examples`` lacks a task or has a number that is not positive.
    """
    found = {"uniform": np.full(len(tasks), 1.0 / len(tasks))}
    if examples is None:
        return found
    bad = [task for task in tasks if not examples.get(task, 0) > 0]
    if bad:
        raise UserError(
            f"examples: {', '.join(bad)}: expected the number of training examples, "
            "a positive number for every task"
        )
    share = np.array([float(examples[task]) for task in tasks])
    share /= share.sum()
    flat = share ** (1.0 / TEMPERATURE)
    return found | {
        "proportional": share,
        f"temperature {TEMPERATURE:g}": flat / flat.sum(),
    }


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
