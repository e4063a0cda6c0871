"""Weights for a preference over tasks, and what other weights would cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from models.errors import UserError
from models.laws.frontier import as_mixture, check_laws, simplex
from models.laws.law import Law
from models.laws.solver import Array

TEMPERATURE = 5.0
_EDGE = 1e-3


@dataclasses.dataclass(frozen=True)
class Alternative:
    """A usual way to choose weights, beside the recommended ones.

    Attributes:
      name: ``uniform``, ``proportional`` or ``temperature 5``.
      weights, losses: Per task.
      objective: Its value of the objective.
      gain: How much lower the recommendation's objective is.
      gain_interval: Interval of the gain.
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


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """Weights to train with.

    Attributes:
      n: Non-embedding parameters of the model they are for.
      objective: What was minimised.
      preference: Weight of each task in it; they sum to 1.
      weights, weight_intervals: The recommended mixture.
      losses, loss_intervals: What it should give, for a newly trained model.
      value: The objective there, corrected for having been chosen as the lowest.
      optimism: The correction: how much too low a chosen minimum looks.
      alternatives: Other ways to choose.
      level: Nominal coverage of the intervals.
      verdict: The outcome in words.
    """

    n: float
    objective: str
    preference: Mapping[str, float]
    weights: Mapping[str, float]
    weight_intervals: Mapping[str, tuple[float, float]]
    losses: Mapping[str, float]
    loss_intervals: Mapping[str, tuple[float, float]]
    value: float
    optimism: float
    alternatives: tuple[Alternative, ...]
    level: float
    verdict: str


def recommend(
    laws: Sequence[Law],
    n: float,
    preference: Mapping[str, float] | None = None,
    *,
    examples: Mapping[str, float] | None = None,
    level: float = 0.95,
) -> Recommendation:
    """The mixture that minimises the preferred average of the tasks' losses.

    Args:
      laws: Approximate joint laws, one a task, with draws.
      n: Non-embedding parameters of the model to train.
      preference: Weight of each task in the objective; equal when omitted, and 0
        for a task that is not named.
      examples: Training examples available for each task: adds proportional and
        temperature sampling to the comparison.
      level: Nominal coverage of the intervals.

    Raises:
      UserError: An unknown task in ``preference`` or ``examples``, a negative or
        all-zero preference, or laws that do not span a trade-off.
    """
    tasks = check_laws(laws)
    wanted = _preference(tasks, preference)
    problem = _Problem(tuple(laws), float(n), tasks, wanted)
    best = problem.optimum()
    drawn = problem.drawn_optima(best)
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(drawn, [tail, 100.0 - tail], axis=0)
    mixture = as_mixture(tasks, best)
    losses = {law.task: float(law.predict(n, mixture)) for law in laws}
    intervals = {law.task: law.interval(n, mixture, level) for law in laws}
    optimism = problem.optimism(drawn)
    alternatives = tuple(
        _alternative(problem, best, name, weights, level)
        for name, weights in usual_mixtures(tasks, examples).items()
    )
    return Recommendation(
        n=float(n),
        objective="weighted",
        preference=dict(zip(tasks, wanted.tolist(), strict=True)),
        weights=dict(zip(tasks, best.tolist(), strict=True)),
        weight_intervals={
            task: (float(low[k]), float(high[k])) for k, task in enumerate(tasks)
        },
        losses=losses,
        loss_intervals={t: (float(a), float(b)) for t, (a, b) in intervals.items()},
        value=float(problem.values(best[None])[0]) + optimism,
        optimism=optimism,
        alternatives=alternatives,
        level=level,
        verdict=_verdict(alternatives),
    )


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


@dataclasses.dataclass(frozen=True)
class _Problem:
    """The weighted objective over mixtures, at the estimates and under the draws."""

    laws: tuple[Law, ...]
    n: float
    tasks: tuple[str, ...]
    wanted: Array

    def values(self, weights: Array) -> Array:
        """The objective, [points]; a rising metric counts with a minus."""
        mixture = as_mixture(self.tasks, weights)
        columns = [law.predict(self.n, mixture) * _sign(law) for law in self.laws]
        return np.column_stack(columns) @ self.wanted

    def drawn_values(self, weights: Array) -> Array:
        """The objective under each draw, [draws, points]."""
        mixture = as_mixture(self.tasks, weights)
        draws = min(len(law.draws) for law in self.laws)
        total = np.zeros((draws, len(weights)))
        for law, share in zip(self.laws, self.wanted, strict=True):
            values = law.predict_draws(self.n, mixture)[:draws]
            total += share * _sign(law) * values
        return total

    def optimum(self) -> Array:
        """The best mixture: a lattice, then exchanges between pairs of tasks."""
        lattice = simplex(len(self.tasks), 200)
        best = lattice[int(np.argmin(self.values(lattice)))]
        step = 0.05
        while step > 1e-6:
            nearby = _exchanges(best, step)
            values = self.values(nearby)
            k = int(np.argmin(values))
            if k == 0:
                step *= 0.5
            best = nearby[k]
        return best

    def drawn_optima(self, best: Array) -> Array:
        """The best mixture under each draw, [draws, tasks]."""
        if min(len(law.draws) for law in self.laws) == 0:
            return best[None]
        weights = np.concatenate([best[None], simplex(len(self.tasks), 400)])
        return weights[np.argmin(self.drawn_values(weights), axis=1)]

    def optimism(self, drawn: Array) -> float:
        """How much lower a chosen minimum looks than it is (winner's curse).

        Under each draw the minimum is chosen and believed; the estimates, which
        are the truth of the draws, say what it is really worth.
        """
        if len(drawn) == 1:
            return 0.0
        weights, index = np.unique(drawn.round(9), axis=0, return_inverse=True)
        index = index.ravel()
        believed = self.drawn_values(weights)[np.arange(len(drawn)), index]
        return float((self.values(weights)[index] - believed).mean())


def _exchanges(weights: Array, step: float) -> Array:
    """The mixture and those a step away, from one task to another."""
    tasks = len(weights)
    found = [weights]
    for i in range(tasks):
        for j in range(tasks):
            moved = weights.copy()
            given = min(step, moved[i] - _EDGE)
            if i == j or given <= 0:
                continue
            moved[i] -= given
            moved[j] += given
            found.append(moved)
    return np.array(found)


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
    wanted = np.array([float(preference.get(task, 0.0)) for task in tasks])
    if not (np.isfinite(wanted).all() and (wanted >= 0).all() and wanted.sum() > 0):
        shown = ",".join(f"{task}={w:g}" for task, w in preference.items())
        raise UserError(
            f"prefer {shown}: expected weights of 0 or more, one of them positive"
        )
    return wanted / wanted.sum()


def _alternative(
    problem: _Problem, best: Array, name: str, weights: Array, level: float
) -> Alternative:
    pair = np.stack([best, weights])
    values = problem.values(pair)
    gain = float(values[1] - values[0])
    drawn = problem.drawn_values(pair)
    tail = 50.0 * (1.0 - level)
    interval = (gain, gain)
    if len(drawn):
        ends = np.percentile(drawn[:, 1] - drawn[:, 0], [tail, 100.0 - tail])
        interval = (float(ends[0]), float(ends[1]))
    mixture = as_mixture(problem.tasks, weights)
    return Alternative(
        name=name,
        weights=dict(zip(problem.tasks, weights.tolist(), strict=True)),
        losses={
            law.task: float(law.predict(problem.n, mixture)) for law in problem.laws
        },
        objective=float(values[1]),
        gain=gain,
        gain_interval=interval,
    )


def _verdict(alternatives: tuple[Alternative, ...]) -> str:
    parts = []
    for other in alternatives:
        low, high = other.gain_interval
        span = f"{other.gain:.4f} ({low:.4f} to {high:.4f})"
        if other.exceeds_uncertainty:
            parts.append(f"better than {other.name} weights by {span}")
        else:
            parts.append(
                f"{other.name} weights are as good within the uncertainty: {span}"
            )
    return "; ".join(parts)


def _sign(law: Law) -> float:
    return 1.0 if law.ceiling is None else -1.0
