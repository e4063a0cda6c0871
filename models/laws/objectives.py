"""What a choice of mixture minimises, and the mixture that does."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Literal

import numpy as np

from models.laws.frontier import as_mixture, simplex
from models.laws.law import Law
from models.laws.query import Query
from models.laws.solver import Array

Objective = Literal["weighted", "minimax", "regret"]
EDGE = 1e-3  # smallest weight: at 0 a task is zero-shot and no law holds
_MET = 1e-7  # by how much a requirement may be missed and still count as met


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """The choice of a mixture at one size.

    Attributes:
      laws: Approximate laws, one a task.
      n: Non-embedding parameters.
      tasks: The laws' tasks.
      wanted: Preference of each task, [tasks], summing to 1.
      objective: ``weighted``: the preferred average of the losses; ``minimax``: the
        largest loss; ``regret``: the largest excess over what the task could have
        alone. The last two multiply each task by its preference times their number.
      limits: Largest admissible loss of each task, [tasks]; inf for none.
      caps: Largest admissible weight of each task, [tasks].
    """

    laws: tuple[Law, ...]
    n: float
    tasks: tuple[str, ...]
    wanted: Array
    objective: Objective
    limits: Array
    caps: Array

    def losses(self, weights: Array) -> Array:
        """Values to minimise, [points, tasks]; a rising metric with a minus."""
        query = Query(self.n, as_mixture(self.tasks, weights))
        return np.column_stack([law.predict(query) * sign(law) for law in self.laws])

    def values(self, weights: Array) -> Array:
        """The objective, [points]."""
        parts = self.parts(self.losses(weights))
        return parts.sum(1) if self.objective == "weighted" else parts.max(1)

    def shown(self, value: float) -> float:
        """A value of the objective as people read it: rising where the metric does."""
        return value if self.objective == "regret" else value * sign(self.laws[0])

    def parts(self, losses: Array) -> Array:
        """Each task's share in the objective, [points, tasks]."""
        if self.objective == "weighted":
            return losses * self.wanted
        scale = self.wanted * len(self.tasks)
        if self.objective == "regret":
            losses = losses - self.alone()
        return np.where(scale > 0, losses * scale, -np.inf)

    def alone(self) -> Array:
        """What each task reaches with (nearly) the whole model, [tasks]."""
        return self.losses(self._corners()).min(0)

    def _corners(self) -> Array:
        count = len(self.tasks)
        return EDGE + (1.0 - count * EDGE) * np.eye(count)

    def excess(self, weights: Array) -> Array:
        """By how much the worst requirement is missed, [points]; 0 when all hold."""
        if np.isinf(self.limits).all():
            return np.zeros(len(weights))
        return np.maximum(0.0, (self.losses(weights) - self.limits).max(1))

    def without_caps(self) -> Problem:
        """The same choice with as much repetition as it likes."""
        return dataclasses.replace(self, caps=np.ones(len(self.tasks)))

    def feasible(self, weights: Array) -> bool:
        """Whether every requirement holds."""
        return bool(self.excess(weights[None])[0] <= _MET)

    def solve(self, start: Array | None = None) -> Array:
        """The best mixture, [tasks]; the nearest to feasible when none is.

        Args:
          start: A mixture near the solution, when one is known.
        """
        if len(self.tasks) == 2:
            return self._search_line()
        return self._search_simplex(start)

    def _search_line(self) -> Array:
        """Two tasks: ever finer grids of the one weight there is."""
        low = max(EDGE, 1.0 - self.caps[1])
        high = min(1.0 - EDGE, self.caps[0])
        grid = np.linspace(low, high, 201)
        for _ in range(7):
            weights = np.column_stack([grid, 1.0 - grid])
            k = self._best(weights)
            if grid[-1] - grid[0] < 1e-9:
                break
            grid = np.linspace(grid[max(k - 1, 0)], grid[min(k + 1, 200)], 201)
        return weights[k]

    def _best(self, weights: Array) -> int:
        """Index of the best mixture: requirements first, then the objective."""
        excess = self.excess(weights)
        if excess.min() > _MET:
            return int(np.argmin(excess))
        return int(np.argmin(np.where(excess <= _MET, self.values(weights), np.inf)))

    def _search_simplex(self, start: Array | None) -> Array:
        """Three or more tasks: sequential quadratic programming."""
        if start is None:
            lattice = simplex(len(self.tasks), 300)
            within = lattice[(lattice <= self.caps + 1e-9).all(1)]
            start = within[self._best(within)] if len(within) else self._capped_start()
        if np.isfinite(self.limits).any():
            nearest = self._programmed(start, self._violation)
            if self.excess(nearest[None])[0] > _MET:
                return nearest
            start = nearest if not self.feasible(start) else start
        return self._programmed(start, None)

    def _capped_start(self) -> Array:
        """A mixture inside the caps: as even as they allow."""
        weights = np.minimum(self.caps, 1.0 / len(self.tasks))
        room = self.caps - weights
        return weights + (1.0 - weights.sum()) * room / max(room.sum(), 1e-12)

    def _violation(self, losses: Array) -> Array:
        """Excess over each requirement, [points, required tasks]."""
        required = np.isfinite(self.limits)
        return losses[:, required] - self.limits[required]

    def _programmed(self, start: Array, parts) -> Array:
        """Minimises the largest of ``parts`` (or the objective) over the simplex."""
        # Only here, and slow to import: nobody who fits laws waits for it.
        from scipy.optimize import minimize

        count = len(self.tasks)
        summed = parts is None and self.objective == "weighted"
        chosen = parts or self.parts

        def objective(z: Array) -> float:
            if summed:
                return float(self.values(z[None, :count])[0])
            return float(z[count])

        constraints = [{"type": "eq", "fun": lambda z: z[:count].sum() - 1.0}]
        if not summed:
            constraints.append(
                {"type": "ineq", "fun": lambda z: _room(self, chosen, z)}
            )
        if parts is None and np.isfinite(self.limits).any():
            constraints.append(
                {
                    "type": "ineq",
                    "fun": lambda z: -self._violation(self.losses(z[None, :count]))[0],
                }
            )
        bounds = [(EDGE, float(cap)) for cap in self.caps]
        first = np.clip(start, EDGE, self.caps)
        if not summed:
            top = chosen(self.losses(first[None]))[0]
            first = np.append(first, top[np.isfinite(top)].max())
            bounds.append((None, None))
        found = minimize(
            objective,
            first,
            method="SLSQP",
            bounds=bounds,
            constraints=constraints,
            options={"ftol": 1e-12, "maxiter": 300},
        )
        weights = np.clip(found.x[:count], EDGE, self.caps)
        return weights / weights.sum()


def _room(problem: Problem, parts, z: Array) -> Array:
    """How far each part stays below the bound that is being lowered."""
    count = len(problem.tasks)
    values = parts(problem.losses(z[None, :count]))[0]
    return np.where(np.isfinite(values), z[count] - values, 1.0)


def sign(law: Law) -> float:
    """1 for a loss, -1 for a metric that rises."""
    return 1.0 if law.ceiling is None else -1.0


def repetition_caps(
    tasks: tuple[str, ...],
    examples: Mapping[str, float],
    planned: float,
    repeats: float,
) -> Array:
    """Largest weight of each task that repeats its data at most so often.

    Args:
      tasks: The tasks.
      examples: Training examples available for each.
      planned: Examples of all tasks that the run will draw.
      repeats: How often an example may be seen.

    Returns:
      Weights in [EDGE, 1], [tasks].
    """
    available = np.array([float(examples.get(task, math.inf)) for task in tasks])
    return np.clip(repeats * available / planned, EDGE, 1.0)
