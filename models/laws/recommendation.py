"""Weights for a preference over tasks, and what other weights would cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from models.errors import UserError
from models.laws.alternatives import (
    Alternative,
    usual_mixtures,
    verdict,
    warnings,
)
from models.laws.frontier import as_mixture, check_laws
from models.laws.law import Law
from models.laws.objectives import EDGE, Objective, Problem, repetition_caps, sign
from models.laws.query import Query
from models.laws.sigma import drawn_laws, half_width, moved_laws
from models.laws.solver import Array

_DRAWS = 40  # draws of the laws that the winner's curse is averaged over


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """Weights to train with.

    Attributes:
      n: Non-embedding parameters of the model they are for.
      objective: What was minimised.
      preference: Weight of each task in it; they sum to 1.
      weights, weight_intervals: The recommended mixture.
      losses, loss_intervals: What it should give, for a newly trained model.
      believed: The objective there as the laws say; of a metric that rises, larger
        is better.
      value: The same corrected for having been chosen as the best: to compare with
        alternatives.
      optimism: The correction: how much too good a chosen optimum looks.
      alternatives: Other ways to choose.
      requirements: The largest admissible loss of each task that has one.
      feasible: Whether they can all be met; if not, the weights come nearest.
      unconstrained: The weights without the cap on repetition, when that binds.
      level: Nominal coverage of the intervals.
      verdict: The outcome in words.
      warnings: What speaks against trusting it, sentences; extrapolation first.
      law: Which laws predict, in words; empty where nobody says.
      backtest: What the back-test thinks of them.
      test_set, group: Whose losses, and of which group of runs.
    """

    n: float
    objective: str
    preference: Mapping[str, float]
    weights: Mapping[str, float]
    weight_intervals: Mapping[str, tuple[float, float]]
    losses: Mapping[str, float]
    loss_intervals: Mapping[str, tuple[float, float]]
    believed: float
    value: float
    optimism: float
    alternatives: tuple[Alternative, ...]
    requirements: Mapping[str, float]
    feasible: bool
    unconstrained: Mapping[str, float] | None
    level: float
    verdict: str
    warnings: tuple[str, ...]
    law: str = ""
    backtest: str = ""
    test_set: str = ""
    group: str = ""


@dataclasses.dataclass(frozen=True)
class Repetition:
    """A cap on how often a task's examples are seen.

    Attributes:
      planned: Examples of all tasks that the run will draw.
      repeats: How often one may be seen.
    """

    planned: float
    repeats: float


def recommend(
    laws: Sequence[Law],
    n: float,
    preference: Mapping[str, float] | None = None,
    *,
    objective: Objective = "weighted",
    require: Mapping[str, float] | None = None,
    examples: Mapping[str, float] | None = None,
    repetition: Repetition | None = None,
    level: float = 0.95,
) -> Recommendation:
    """The mixture to train with.

    Args:
      laws: Approximate joint laws, one a task.
      n: Non-embedding parameters of the model to train.
      preference: Weight of each task in the objective; equal when omitted.
      objective: See `models.laws.objectives.Problem`.
      require: The worst admissible value of some tasks.
      examples: Training examples available for each task: adds proportional and
        temperature sampling to the comparison.
      repetition: Caps the weights of tasks with few ``examples``.
      level: Nominal coverage of the intervals.

    Raises:
      UserError: An unknown or missing task, an all-zero preference, caps that leave
        no mixture, or laws that do not span a trade-off.
    """
    problem = _problem(laws, n, preference, objective, require, examples, repetition)
    tasks = problem.tasks
    best = problem.solve()
    others = usual_mixtures(tasks, examples)
    spread = _spread(problem, best, np.array(list(others.values())), level)
    query = Query(n, as_mixture(tasks, best))
    intervals = {law.task: law.interval(query, level) for law in laws}
    believed = float(problem.values(best[None])[0])
    value = believed + spread.optimism
    alternatives = _compared(problem, (believed, value), others, spread.gains)
    feasible = problem.feasible(best)
    return Recommendation(
        n=float(n),
        objective=objective,
        preference=_named(tasks, problem.wanted),
        weights=_named(tasks, best),
        weight_intervals=dict(zip(tasks, spread.intervals(best), strict=True)),
        losses={law.task: float(law.predict(query)) for law in laws},
        loss_intervals={t: (float(a), float(b)) for t, (a, b) in intervals.items()},
        believed=problem.shown(believed),
        value=problem.shown(value),
        optimism=spread.optimism,
        alternatives=alternatives,
        requirements=dict(require or {}),
        feasible=feasible,
        unconstrained=_without_caps(problem, best),
        level=level,
        verdict=verdict(alternatives, feasible, problem, best),
        warnings=warnings(problem, best),
    )


def _without_caps(problem: Problem, best: Array) -> dict[str, float] | None:
    """The mixture without the cap on repetition; None where it does not bind."""
    if not (problem.caps < 1).any():
        return None
    free = problem.without_caps().solve()
    binding = np.abs(free - best).max() > 1e-4
    return _named(problem.tasks, free) if binding else None


def _named(tasks: Sequence[str], weights: Array) -> dict[str, float]:
    return dict(zip(tasks, weights.tolist(), strict=True))


def _problem(
    laws: Sequence[Law],
    n: float,
    preference: Mapping[str, float] | None,
    objective: Objective,
    require: Mapping[str, float] | None,
    examples: Mapping[str, float] | None,
    repetition: Repetition | None,
) -> Problem:
    """The choice as a problem; raises UserError for an impossible one."""
    tasks = check_laws(laws)
    limits = np.full(len(tasks), np.inf)
    for task, limit in (require or {}).items():
        if task not in tasks:
            raise UserError(
                f"require: unknown task {task}; these laws know {', '.join(tasks)}"
            )
        k = tasks.index(task)
        limits[k] = limit * sign(laws[k])
    caps = np.ones(len(tasks))
    if repetition is not None:
        caps = repetition_caps(
            tasks, examples or {}, repetition.planned, repetition.repeats
        )
    if caps.sum() < 1:
        raise UserError(
            f"repetition: with at most {repetition.repeats:g} passes the data fill "
            f"only {100 * caps.sum():.0f} % of the planned examples; plan fewer or "
            "allow more"
        )
    wanted = _preference(tasks, preference)
    return Problem(tuple(laws), float(n), tasks, wanted, objective, limits, caps)


@dataclasses.dataclass(frozen=True)
class _Spread:
    """Uncertainty of a choice: half widths, and the optimism of its value."""

    weights: Array
    gains: Array
    optimism: float

    def intervals(self, best: Array) -> list[tuple[float, float]]:
        """Interval of each weight, within [0, 1]."""
        low = np.maximum(best - self.weights, 0.0).tolist()
        high = np.minimum(best + self.weights, 1.0).tolist()
        return list(zip(low, high, strict=True))


def _spread(problem: Problem, best: Array, others: Array, level: float) -> _Spread:
    """Solves again under moved laws."""
    moves, gains = [], []
    compared = np.concatenate([best[None], others])
    for moved in moved_laws(problem.laws):
        solved, differences = [], []
        for laws in (moved.up, moved.down):
            other = dataclasses.replace(problem, laws=laws)
            values = other.values(compared)
            solved.append(other.solve(best))
            differences.append(values[1:] - values[0])
        moves.append((moved.shares, 0.5 * (solved[0] - solved[1])))
        gains.append((moved.shares, 0.5 * (differences[0] - differences[1])))
    if not moves:
        endless = np.full(len(best), np.inf)
        return _Spread(endless, np.full(len(others), np.inf), 0.0)
    return _Spread(
        weights=half_width(problem.laws, moves, level),
        gains=half_width(problem.laws, gains, level),
        optimism=_optimism(problem, best, np.array([move for _, move in moves])),
    )


def _optimism(problem: Problem, best: Array, moves: Array) -> float:
    """By how much a chosen minimum looks lower than it is: the winner's curse.

    The chosen mixture is off the best one by its own uncertainty, which costs what
    the objective rises around its minimum. A smooth objective is believed to be better
    by as much again, because the laws that chose the mixture err in its favour; where
    the largest of several losses counts, the choice makes them equal, and their common
    value errs either way.

    Args:
      problem: The choice.
      best: Its mixture, [tasks].
      moves: By how much the mixture moves with each axis of the laws' uncertainty,
        [axes, tasks]; used where the laws carry no draws.
    """
    now = problem.values(best[None])
    if all(len(law.draws) >= _DRAWS for law in problem.laws):
        chosen = [
            dataclasses.replace(problem, laws=drawn).solve(best)
            for drawn in drawn_laws(problem.laws, _DRAWS)
        ]
        lost = float((problem.values(np.array(chosen)) - now).mean())
    else:
        variances, axes = np.linalg.eigh(moves.T @ moves)
        shifts = np.sqrt(np.maximum(variances, 0.0))[:, None] * axes.T
        ends = np.clip(np.concatenate([best + shifts, best - shifts]), EDGE, 1.0)
        ends /= ends.sum(1, keepdims=True)
        lost = 0.5 * float((problem.values(ends) - now).sum())
    return max(lost, 0.0) * (2.0 if problem.objective == "weighted" else 1.0)


def _preference(
    tasks: tuple[str, ...], preference: Mapping[str, float] | None
) -> Array:
    if preference is None:
        return np.full(len(tasks), 1.0 / len(tasks))
    unknown = sorted(set(preference) - set(tasks))
    if unknown:
        raise UserError(
            f"prefer: unknown task {', '.join(unknown)}; these laws know "
            f"{', '.join(tasks)}"
        )
    missing = [task for task in tasks if task not in preference]
    if missing:
        raise UserError(
            f"prefer: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not "
            f"named; expected a weight for each of {', '.join(tasks)}, 0 for one that "
            "does not matter"
        )
    wanted = np.array([float(preference[task]) for task in tasks])
    if not (np.isfinite(wanted).all() and (wanted >= 0).all() and wanted.sum() > 0):
        shown = ",".join(f"{task}={w:g}" for task, w in preference.items())
        raise UserError(
            f"prefer {shown}: expected weights of 0 or more, one of them positive"
        )
    return wanted / wanted.sum()


def _compared(
    problem: Problem,
    values: tuple[float, float],
    others: Mapping[str, Array],
    halves: Array,
) -> tuple[Alternative, ...]:
    """Other mixtures beside the recommended one.

    Args:
      problem: The choice.
      values: Its objective as the laws say, and corrected.
      others: Name -> mixture, [tasks].
      halves: Half the interval of each gain.
    """
    believed, corrected = values
    found = []
    for (name, weights), half in zip(others.items(), halves.tolist(), strict=True):
        objective = float(problem.values(weights[None])[0])
        gain = objective - corrected
        query = Query(problem.n, as_mixture(problem.tasks, weights))
        found.append(
            Alternative(
                name=name,
                weights=_named(problem.tasks, weights),
                losses={law.task: float(law.predict(query)) for law in problem.laws},
                objective=problem.shown(objective),
                gain=gain,
                gain_interval=(gain - half, objective - believed + half),
            )
        )
    return tuple(found)
